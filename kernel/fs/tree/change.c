/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tree_change.c: making, linking, removing and renaming files of the tree (tree.h), with Linux's rules and
 * its errors: link(2), unlink(2), rmdir(2), rename(2). With the tree's lock, under which each of these is one
 * step for everybody else.
 */
#include "lib/errno.h"
#include "fs/tree/tree_path.h"

static void touch(struct inode *inode, int64_t now_ns)
{
    inode->modified_ns = inode->changed_ns = now_ns;
}

static bool is_directory(const struct inode *inode)
{
    return mode_is(inode->mode, S_IFDIR);
}

/* Whether a name may come into the directory of a place. */
static int directory_check(const struct tree_place *place)
{
    if (place->inode)
        return -EEXIST;
    if (place->directory->links == 0)
        return -ENOENT; /* somebody is still in it, but it was removed */
    return place->directory->writable ? 0 : -EROFS;
}

static struct inode *inode_begin(struct tree *tree, uint32_t mode, int64_t now_ns)
{
    struct inode *inode = inode_create(tree, mode);

    if (!inode)
        return NULL;
    inode->writable = true;
    inode->accessed_ns = now_ns;
    touch(inode, now_ns);
    return inode;
}

static int target_copy(struct tree *tree, struct inode *inode, const void *target, uint64_t bytes)
{
    void *copy = bytes ? tree_cell_take(tree, bytes) : NULL;

    if (!copy)
        return bytes ? -ENOSPC : 0;
    memcpy(copy, target, bytes);
    inode->data = copy;
    inode->bytes = bytes;
    inode->is_copied = true;
    return 0;
}

int tree_create(struct tree *tree, const struct tree_place *place, uint32_t mode, const void *target,
                uint64_t bytes, int64_t now_ns, struct inode **out)
{
    int error = directory_check(place);

    if (error)
        return error;
    if (mode_is(mode, S_IFDIR) && place->directory->links >= TREE_LINKS_MAX)
        return -EMLINK;

    struct inode *inode = inode_begin(tree, mode, now_ns);
    if (!inode)
        return -ENOSPC;
    error = target_copy(tree, inode, target, bytes);
    if (!error && !tree_entry_add(tree, place->directory, inode, place->name, place->name_bytes, true))
        error = -ENOSPC;
    if (error) {
        inode_free(tree, inode);
        return error;
    }
    touch(place->directory, now_ns);
    *out = inode;
    return 0;
}

struct inode *tree_create_unnamed(struct tree *tree, uint32_t mode, int64_t now_ns)
{
    struct inode *inode = inode_begin(tree, mode, now_ns);

    if (inode)
        inode->uses = 1;
    return inode;
}

void inode_get(struct inode *inode)
{
    inode->uses++;
}

/* Frees an inode that nothing leads to. */
static void inode_settle(struct tree *tree, struct inode *inode)
{
    if (inode->links == 0 && inode->uses == 0)
        inode_free(tree, inode);
}

void inode_put(struct tree *tree, struct inode *inode)
{
    inode->uses--;
    inode_settle(tree, inode);
}

int tree_link(struct tree *tree, struct inode *inode, const struct tree_place *place, int64_t now_ns)
{
    if (is_directory(inode))
        return -EPERM;
    if (place->inode)
        return -EEXIST;
    if (place->slash)
        return -ENOENT;
    if (inode->filesystem != place->directory->filesystem)
        return -EXDEV;
    int error = directory_check(place);
    if (error)
        return error;
    if (inode->links == 0)
        return -ENOENT; /* open, but removed */
    if (inode->links >= TREE_LINKS_MAX)
        return -EMLINK;
    if (!tree_entry_add(tree, place->directory, inode, place->name, place->name_bytes, true))
        return -ENOSPC;
    inode->changed_ns = now_ns;
    touch(place->directory, now_ns);
    return 0;
}

/* Takes a name away, and its inode where nothing else leads to it. */
static void name_remove(struct tree *tree, struct directory_entry *entry, int64_t now_ns)
{
    struct inode *inode = entry->inode;

    touch(entry->directory, now_ns);
    inode->changed_ns = now_ns;
    tree_entry_remove(tree, entry);
    inode_settle(tree, inode);
}

int tree_unlink(struct tree *tree, const struct tree_place *place, int64_t now_ns)
{
    if (place->last != TREE_LAST_NAME)
        return -EISDIR;
    if (is_directory(place->inode))
        return place->directory->writable ? -EISDIR : -EROFS;
    if (place->slash)
        return -ENOTDIR;
    if (!place->directory->writable)
        return -EROFS;
    name_remove(tree, place->entry, now_ns);
    return 0;
}

int tree_rmdir(struct tree *tree, const struct tree_place *place, int64_t now_ns)
{
    if (place->last != TREE_LAST_NAME)
        return place->last == TREE_LAST_DOT ? -EINVAL : place->last == TREE_LAST_DOTDOT ? -ENOTEMPTY : -EBUSY;
    if (!is_directory(place->inode))
        return -ENOTDIR;
    if (!place->directory->writable)
        return place->inode->writable ? -EBUSY
                                      : -EROFS; /* where the writable part begins, as a mount point */
    if (place->inode->child)
        return -ENOTEMPTY;
    name_remove(tree, place->entry, now_ns);
    return 0;
}

/* ---- Renaming ---- */

static bool is_inside(const struct tree *tree, const struct inode *inode, const struct inode *outer)
{
    for (; inode && inode != outer; inode = tree_parent(tree, inode))
        if (inode == tree->root)
            return false;
    return inode != NULL;
}

/* Whether what `to` names may be replaced by `inode`. */
static int replace_check(const struct inode *inode, const struct tree_place *to)
{
    if (is_directory(inode) && !is_directory(to->inode))
        return -ENOTDIR;
    if (!is_directory(inode) && is_directory(to->inode))
        return -EISDIR;
    return to->inode->child ? -ENOTEMPTY : 0;
}

static int rename_check(const struct tree *tree, const struct tree_place *from, const struct tree_place *to,
                        bool no_replace)
{
    const struct inode *inode = from->inode;

    if (from->directory->filesystem != to->directory->filesystem)
        return -EXDEV;
    if (from->last != TREE_LAST_NAME)
        return -EBUSY;
    if (to->last != TREE_LAST_NAME)
        return no_replace ? -EEXIST : -EBUSY;
    if (!from->directory->writable)
        return -EROFS;
    if (to->inode && no_replace)
        return -EEXIST;
    if (!is_directory(inode) && (from->slash || to->slash))
        return -ENOTDIR;
    if (is_directory(inode) && is_inside(tree, to->directory, inode))
        return -EINVAL;
    if (to->inode && is_directory(to->inode) && is_inside(tree, from->directory, to->inode))
        return -ENOTEMPTY;
    if (to->directory->links == 0)
        return -ENOENT;
    if (is_directory(inode) && !to->inode && to->directory->links >= TREE_LINKS_MAX)
        return -EMLINK;
    return to->inode && to->inode != inode ? replace_check(inode, to) : 0;
}

int tree_rename(struct tree *tree, const struct tree_place *from, const struct tree_place *to,
                bool no_replace, int64_t now_ns)
{
    struct inode *inode = from->inode;
    int error = rename_check(tree, from, to, no_replace);

    if (error)
        return error;
    if (to->inode == inode) /* two names of one file: both stay */
        return 0;
    struct directory_entry *entry =
        tree_entry_add(tree, to->directory, inode, to->name, to->name_bytes, true);
    if (!entry)
        return -ENOSPC;
    if (to->inode)
        name_remove(tree, to->entry, now_ns);
    name_remove(tree, from->entry, now_ns);
    inode->name = entry;
    touch(to->directory, now_ns);
    return 0;
}

static int exchange_check(const struct tree *tree, const struct tree_place *one,
                          const struct tree_place *other)
{
    if (one->directory->filesystem != other->directory->filesystem)
        return -EXDEV;
    if (one->last != TREE_LAST_NAME || other->last != TREE_LAST_NAME)
        return -EBUSY;
    if (!one->directory->writable)
        return -EROFS;
    if ((!is_directory(one->inode) && one->slash) || (!is_directory(other->inode) && other->slash))
        return -ENOTDIR;
    if (is_inside(tree, other->directory, one->inode) || is_inside(tree, one->directory, other->inode))
        return -EINVAL;
    return 0;
}

/* Makes an entry name another inode, of which `old` was a name. */
static void entry_turn(struct directory_entry *entry, struct inode *inode, const struct directory_entry *old)
{
    entry->inode = inode;
    if (inode->name == old)
        inode->name = entry;
}

int tree_exchange(struct tree *tree, const struct tree_place *one, const struct tree_place *other,
                  int64_t now_ns)
{
    struct inode *first = one->inode, *second = other->inode;
    int error = exchange_check(tree, one, other);

    if (error || first == second)
        return error;
    entry_turn(one->entry, second, other->entry);
    entry_turn(other->entry, first, one->entry);
    /* A directory has a link by each ".." in it. */
    one->directory->links += is_directory(second) - is_directory(first);
    other->directory->links += is_directory(first) - is_directory(second);
    first->changed_ns = second->changed_ns = now_ns;
    touch(one->directory, now_ns);
    touch(other->directory, now_ns);
    return 0;
}
