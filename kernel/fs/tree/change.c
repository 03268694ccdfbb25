/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tree_change.c: making, linking, removing and renaming files of the tree (tree.h), with Linux's rules and
 * its errors: link(2), unlink(2), rmdir(2), rename(2). With the tree's lock, under which each of these is one
 * step for everybody else.
 */
#include "lib/errno.h"
#include "fs/tree/tree_path.h"

static void touch(struct tree_node *node, int64_t now_ns)
{
    node->modified_ns = node->changed_ns = now_ns;
}

static bool is_directory(const struct tree_node *node)
{
    return mode_is(node->mode, S_IFDIR);
}

/* Whether a name may come into the directory of a place. */
static int directory_check(const struct tree_place *place)
{
    if (place->node)
        return -EEXIST;
    if (place->directory->links == 0)
        return -ENOENT; /* somebody is still in it, but it was removed */
    return place->directory->writable ? 0 : -EROFS;
}

static struct tree_node *node_begin(struct tree *tree, uint32_t mode, int64_t now_ns)
{
    struct tree_node *node = tree_node_make(tree, mode);

    if (!node)
        return NULL;
    node->writable = true;
    node->accessed_ns = now_ns;
    touch(node, now_ns);
    return node;
}

static int target_copy(struct tree *tree, struct tree_node *node, const void *target, uint64_t bytes)
{
    void *copy = bytes ? tree_cell_take(tree, bytes) : NULL;

    if (!copy)
        return bytes ? -ENOSPC : 0;
    memcpy(copy, target, bytes);
    node->data = copy;
    node->bytes = bytes;
    node->is_copied = true;
    return 0;
}

int tree_create(struct tree *tree, const struct tree_place *place, uint32_t mode, const void *target,
                uint64_t bytes, int64_t now_ns, struct tree_node **out)
{
    int error = directory_check(place);

    if (error)
        return error;
    if (mode_is(mode, S_IFDIR) && place->directory->links >= TREE_LINKS_MAX)
        return -EMLINK;

    struct tree_node *node = node_begin(tree, mode, now_ns);
    if (!node)
        return -ENOSPC;
    error = target_copy(tree, node, target, bytes);
    if (!error && !tree_entry_add(tree, place->directory, node, place->name, place->name_bytes, true))
        error = -ENOSPC;
    if (error) {
        tree_node_free(tree, node);
        return error;
    }
    touch(place->directory, now_ns);
    *out = node;
    return 0;
}

struct tree_node *tree_create_unnamed(struct tree *tree, uint32_t mode, int64_t now_ns)
{
    struct tree_node *node = node_begin(tree, mode, now_ns);

    if (node)
        node->uses = 1;
    return node;
}

void tree_use(struct tree_node *node)
{
    node->uses++;
}

/* Frees a node that nothing leads to. */
static void node_settle(struct tree *tree, struct tree_node *node)
{
    if (node->links == 0 && node->uses == 0)
        tree_node_free(tree, node);
}

void tree_unuse(struct tree *tree, struct tree_node *node)
{
    node->uses--;
    node_settle(tree, node);
}

int tree_link(struct tree *tree, struct tree_node *node, const struct tree_place *place, int64_t now_ns)
{
    if (is_directory(node))
        return -EPERM;
    if (place->node)
        return -EEXIST;
    if (place->slash)
        return -ENOENT;
    if (node->filesystem != place->directory->filesystem)
        return -EXDEV;
    int error = directory_check(place);
    if (error)
        return error;
    if (node->links == 0)
        return -ENOENT; /* open, but removed */
    if (node->links >= TREE_LINKS_MAX)
        return -EMLINK;
    if (!tree_entry_add(tree, place->directory, node, place->name, place->name_bytes, true))
        return -ENOSPC;
    node->changed_ns = now_ns;
    touch(place->directory, now_ns);
    return 0;
}

/* Takes a name away, and its node where nothing else leads to it. */
static void name_remove(struct tree *tree, struct tree_entry *entry, int64_t now_ns)
{
    struct tree_node *node = entry->node;

    touch(entry->directory, now_ns);
    node->changed_ns = now_ns;
    tree_entry_remove(tree, entry);
    node_settle(tree, node);
}

int tree_unlink(struct tree *tree, const struct tree_place *place, int64_t now_ns)
{
    if (place->last != TREE_LAST_NAME)
        return -EISDIR;
    if (is_directory(place->node))
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
    if (!is_directory(place->node))
        return -ENOTDIR;
    if (!place->directory->writable)
        return place->node->writable ? -EBUSY : -EROFS; /* where the writable part begins, as a mount point */
    if (place->node->child)
        return -ENOTEMPTY;
    name_remove(tree, place->entry, now_ns);
    return 0;
}

/* ---- Renaming ---- */

static bool is_inside(const struct tree *tree, const struct tree_node *node, const struct tree_node *outer)
{
    for (; node && node != outer; node = tree_parent(tree, node))
        if (node == tree->root)
            return false;
    return node != NULL;
}

/* Whether what `to` names may be replaced by `node`. */
static int replace_check(const struct tree_node *node, const struct tree_place *to)
{
    if (is_directory(node) && !is_directory(to->node))
        return -ENOTDIR;
    if (!is_directory(node) && is_directory(to->node))
        return -EISDIR;
    return to->node->child ? -ENOTEMPTY : 0;
}

static int rename_check(const struct tree *tree, const struct tree_place *from, const struct tree_place *to,
                        bool no_replace)
{
    const struct tree_node *node = from->node;

    if (from->directory->filesystem != to->directory->filesystem)
        return -EXDEV;
    if (from->last != TREE_LAST_NAME)
        return -EBUSY;
    if (to->last != TREE_LAST_NAME)
        return no_replace ? -EEXIST : -EBUSY;
    if (!from->directory->writable)
        return -EROFS;
    if (to->node && no_replace)
        return -EEXIST;
    if (!is_directory(node) && (from->slash || to->slash))
        return -ENOTDIR;
    if (is_directory(node) && is_inside(tree, to->directory, node))
        return -EINVAL;
    if (to->node && is_directory(to->node) && is_inside(tree, from->directory, to->node))
        return -ENOTEMPTY;
    if (to->directory->links == 0)
        return -ENOENT;
    if (is_directory(node) && !to->node && to->directory->links >= TREE_LINKS_MAX)
        return -EMLINK;
    return to->node && to->node != node ? replace_check(node, to) : 0;
}

int tree_rename(struct tree *tree, const struct tree_place *from, const struct tree_place *to,
                bool no_replace, int64_t now_ns)
{
    struct tree_node *node = from->node;
    int error = rename_check(tree, from, to, no_replace);

    if (error)
        return error;
    if (to->node == node) /* two names of one file: both stay */
        return 0;
    struct tree_entry *entry = tree_entry_add(tree, to->directory, node, to->name, to->name_bytes, true);
    if (!entry)
        return -ENOSPC;
    if (to->node)
        name_remove(tree, to->entry, now_ns);
    name_remove(tree, from->entry, now_ns);
    node->name = entry;
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
    if ((!is_directory(one->node) && one->slash) || (!is_directory(other->node) && other->slash))
        return -ENOTDIR;
    if (is_inside(tree, other->directory, one->node) || is_inside(tree, one->directory, other->node))
        return -EINVAL;
    return 0;
}

/* Makes an entry name another node, of which `old` was a name. */
static void entry_turn(struct tree_entry *entry, struct tree_node *node, const struct tree_entry *old)
{
    entry->node = node;
    if (node->name == old)
        node->name = entry;
}

int tree_exchange(struct tree *tree, const struct tree_place *one, const struct tree_place *other,
                  int64_t now_ns)
{
    struct tree_node *first = one->node, *second = other->node;
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
