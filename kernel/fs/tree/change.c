/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * change.c: creating, linking, removing and renaming files of the tree (tree.h), with Linux's rules and
 * errors: link(2), unlink(2), rmdir(2), rename(2). Runs with the tree's lock, which makes each of these
 * atomic for all ranks.
 */
#include "lib/errno.h"
#include "fs/tree/path_span.h"

static void touch(struct inode *inode, int64_t now_ns)
{
    inode->modified_ns = inode->changed_ns = now_ns;
}

static bool is_directory(const struct inode *inode)
{
    return mode_is(inode->mode, S_IFDIR);
}

/* Returns 0 if a lookup's missing name may be added to its directory, else why not. */
static int directory_check(const struct path_lookup *found)
{
    if (found->inode)
        return -EEXIST;
    if (found->directory->links == 0)
        return -ENOENT; /* removed, but still open or a current directory */
    return found->directory->writable ? 0 : -EROFS;
}

struct inode *inode_create_writable(struct tree *tree, uint32_t mode, int64_t now_ns)
{
    struct inode *inode = inode_create(tree, mode);

    if (!inode)
        return NULL;
    inode->writable = true;
    inode->user = tree->user;
    inode->group = tree->group;
    inode->accessed_ns = now_ns;
    touch(inode, now_ns);
    return inode;
}

int tree_create(struct tree *tree, const struct path_lookup *found, uint32_t mode, const void *target,
                uint64_t bytes, int64_t now_ns, struct inode **out)
{
    int error = directory_check(found);

    if (error)
        return error;
    if (mode_is(mode, S_IFDIR) && found->directory->links >= TREE_LINKS_MAX)
        return -EMLINK;

    struct inode *inode = inode_create_writable(tree, mode, now_ns);
    if (!inode)
        return -ENOSPC;
    void *copy = bytes ? tree_allocate(tree, bytes) : NULL;
    if (copy) {
        inode->data = memcpy(copy, target, bytes);
        inode->bytes = bytes;
        inode->data_copied = true;
    }
    if ((bytes && !copy) ||
        !tree_entry_add(tree, found->directory, inode, found->name, found->name_bytes, true)) {
        inode_free(tree, inode);
        return -ENOSPC;
    }
    touch(found->directory, now_ns);
    tree_notify_entry(tree, found, inode, TREE_CREATE, 0);
    *out = inode;
    return 0;
}

void inode_get(struct inode *inode)
{
    inode->references++;
}

static void inode_free_unused(struct tree *tree, struct inode *inode)
{
    if (inode->links == 0 && inode->references == 0)
        inode_free(tree, inode);
}

void inode_put(struct tree *tree, struct inode *inode)
{
    inode->references--;
    inode_free_unused(tree, inode);
}

int tree_link(struct tree *tree, struct inode *inode, const struct path_lookup *found, int64_t now_ns)
{
    if (is_directory(inode))
        return -EPERM;
    if (found->inode)
        return -EEXIST;
    if (found->trailing_slash)
        return -ENOENT;
    if (inode->filesystem != found->directory->filesystem)
        return -EXDEV;
    int error = directory_check(found);
    if (error)
        return error;
    if (inode->links == 0)
        return -ENOENT; /* open, but removed */
    if (inode->links >= TREE_LINKS_MAX)
        return -EMLINK;
    if (!tree_entry_add(tree, found->directory, inode, found->name, found->name_bytes, true))
        return -ENOSPC;
    inode->changed_ns = now_ns;
    touch(found->directory, now_ns);
    tree_notify_self(tree, inode, TREE_ATTRIBUTES);
    tree_notify_entry(tree, found, inode, TREE_CREATE, 0);
    return 0;
}

/* Removes a name, and its inode if nothing else keeps it. */
static void name_remove(struct tree *tree, struct directory_entry *entry, int64_t now_ns)
{
    struct inode *inode = entry->inode;

    touch(entry->directory, now_ns);
    inode->changed_ns = now_ns;
    tree_entry_remove(tree, entry);
    inode_free_unused(tree, inode);
}

int tree_remove(struct tree *tree, const struct path_lookup *found, bool directory, int64_t now_ns)
{
    static const int errors[] = {
        [TREE_LAST_DOT] = -EINVAL, [TREE_LAST_DOTDOT] = -ENOTEMPTY, [TREE_LAST_ROOT] = -EBUSY
    };
    struct inode *inode = found->inode;

    if (found->last != TREE_LAST_NAME)
        return directory ? errors[found->last] : -EISDIR;
    if (is_directory(inode) && !directory)
        return found->directory->writable ? -EISDIR : -EROFS;
    if (!is_directory(inode) && (directory || found->trailing_slash))
        return -ENOTDIR;
    if (inode->mount)
        return -EBUSY;
    if (!found->directory->writable)
        return directory && inode->writable ? -EBUSY
                                            : -EROFS; /* the root of a writable part: a mount point */
    if (inode->entries)
        return -ENOTEMPTY;
    /* Notifies watches in Linux's order. */
    if (!directory)
        tree_notify_self(tree, inode, TREE_ATTRIBUTES);
    if ((directory || inode->links == 1) && inode->references == 0)
        watches_end(tree, inode);
    tree_notify_entry(tree, found, inode, TREE_DELETE, 0);
    name_remove(tree, found->entry, now_ns);
    return 0;
}

/* ---- Renaming ---- */

/* Returns `inside` if a directory is `outer` or below it, else 0. Returns -ENAMETOOLONG if it is so deep that
 * no path names it: the way up from there could take any time. */
static int place_check(const struct tree *tree, const struct inode *inode, const struct inode *outer,
                       int inside)
{
    for (unsigned depth = 0; depth < TREE_PATH_MAX / 2; depth++) {
        lock_work_step();
        if (inode == outer)
            return inside;
        if (!inode || inode == tree->root)
            return 0;
        inode = tree_parent(tree, inode);
    }
    return -ENAMETOOLONG;
}

enum renaming { RENAME_REPLACE, RENAME_NO_REPLACE, RENAME_EXCHANGE };

static bool has_wrong_slash(const struct path_lookup *found, const struct inode *inode)
{
    return found->trailing_slash && !is_directory(inode);
}

static int rename_check(const struct tree *tree, const struct path_lookup *from, const struct path_lookup *to,
                        enum renaming how)
{
    const struct inode *inode = from->inode;
    const bool exchanges = how == RENAME_EXCHANGE;

    if (from->directory->filesystem != to->directory->filesystem)
        return -EXDEV;
    if (from->last != TREE_LAST_NAME || inode->mount || (to->inode && to->inode->mount))
        return -EBUSY;
    if (to->last != TREE_LAST_NAME)
        return how == RENAME_NO_REPLACE ? -EEXIST : -EBUSY;
    if (!from->directory->writable)
        return -EROFS;
    if (to->inode && how == RENAME_NO_REPLACE)
        return -EEXIST;
    if (has_wrong_slash(from, inode) || has_wrong_slash(to, exchanges ? to->inode : inode))
        return -ENOTDIR;
    int error = is_directory(inode) ? place_check(tree, to->directory, inode, -EINVAL) : 0;
    if (!error && to->inode && is_directory(to->inode))
        error = place_check(tree, from->directory, to->inode, exchanges ? -EINVAL : -ENOTEMPTY);
    if (error || exchanges)
        return error;
    if (to->directory->links == 0)
        return -ENOENT;
    if (is_directory(inode) && !to->inode && to->directory->links >= TREE_LINKS_MAX)
        return -EMLINK;
    if (!to->inode || to->inode == inode)
        return 0;
    if (is_directory(inode) != is_directory(to->inode))
        return is_directory(inode) ? -ENOTDIR : -EISDIR;
    return to->inode->entries ? -ENOTEMPTY : 0;
}

/* Notifies watches that the inode of one lookup moves to the name of the other. */
static void move_notify(struct tree *tree, const struct path_lookup *from, const struct path_lookup *to,
                        struct inode *replaced)
{
    const uint32_t cookie = ++tree->last_cookie;

    tree_notify_entry(tree, from, from->inode, TREE_MOVED_FROM, cookie);
    tree_notify_entry(tree, to, from->inode, TREE_MOVED_TO, cookie);
    if (replaced)
        tree_notify_self(tree, replaced, TREE_ATTRIBUTES);
    tree_notify_self(tree, from->inode, TREE_MOVE_SELF);
}

int tree_rename(struct tree *tree, const struct path_lookup *from, const struct path_lookup *to,
                bool no_replace, int64_t now_ns)
{
    struct inode *inode = from->inode;
    int error = rename_check(tree, from, to, no_replace ? RENAME_NO_REPLACE : RENAME_REPLACE);

    if (error)
        return error;
    if (to->inode == inode) /* two names of one file: both remain */
        return 0;
    struct directory_entry *entry =
        tree_entry_add(tree, to->directory, inode, to->name, to->name_bytes, true);
    if (!entry)
        return -ENOSPC;
    move_notify(tree, from, to, to->inode);
    if (to->inode)
        name_remove(tree, to->entry, now_ns);
    name_remove(tree, from->entry, now_ns);
    inode->name = entry;
    touch(to->directory, now_ns);
    return 0;
}

int tree_exchange(struct tree *tree, const struct path_lookup *one, const struct path_lookup *other,
                  int64_t now_ns)
{
    struct inode *first = one->inode, *second = other->inode;
    int error = rename_check(tree, one, other, RENAME_EXCHANGE);

    if (error || first == second)
        return error;
    tree_entry_redirect(one->entry, second);
    tree_entry_redirect(other->entry, first);
    if (!second->name)
        second->name = one->entry;
    /* Each directory in a directory links to it by its "..". */
    one->directory->links += is_directory(second) - is_directory(first);
    other->directory->links += is_directory(first) - is_directory(second);
    first->changed_ns = second->changed_ns = now_ns;
    touch(one->directory, now_ns);
    touch(other->directory, now_ns);
    move_notify(tree, one, other, NULL);
    move_notify(tree, other, one, NULL);
    return 0;
}
