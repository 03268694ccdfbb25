/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * watch.c: watches of inodes (tree.h), which are notified of what is done with them, as inotify(7) has it. An
 * inode has a list of its watches, of at most INODE_WATCHES_MAX, since all are notified under the tree's
 * lock. A watch belongs to its owner's set, too, and is allocated from the tree's slabs. Runs with the tree's
 * lock.
 *
 *      added ──► notified of each event in its mask ──► notified of TREE_IGNORED, and freed: removed by its
 *                           number, or after its one event (WATCH_ONCE), or because its inode is freed
 */
#include "fs/tree/tree.h"
#include "lib/errno.h"

static struct watch *watch_at(const struct watch_set *set, uint64_t number)
{
    struct avl_node *node = avl_above(set->watches, number);

    return node ? LIST_OWNER(node, watch, node) : NULL;
}

static void end(struct tree *tree, struct watch *watch)
{
    list_remove(&watch->inode->watches, &watch->link);
    avl_remove(&watch->set->watches, &watch->node, NULL);
    watch->set->count--;
    __atomic_store_n(&tree->watch_count, tree->watch_count - 1, __ATOMIC_RELAXED);
    tree_free(tree, watch, sizeof(*watch));
}

static void end_notified(struct tree *tree, struct watch *watch)
{
    const struct tree_event ignored = { .what = TREE_IGNORED };

    tree->watch_notify(watch, &ignored);
    end(tree, watch);
}

/* ---- Adding, removing ---- */

int watch_add(struct tree *tree, struct watch_set *set, struct inode *inode, uint32_t mask)
{
    const uint32_t kept = mask & (TREE_EVENTS | WATCH_ONCE);
    unsigned count = 0;

    LIST_EACH(watch, watch, &inode->watches) {
        count++;
        if (watch->set != set)
            continue;
        if (mask & WATCH_NEW)
            return -EEXIST;
        watch->mask = kept | (mask & WATCH_MORE ? watch->mask : 0);
        return (int)watch->node.key;
    }
    if (count >= INODE_WATCHES_MAX || set->count >= WATCHES_MAX || set->last == INT32_MAX)
        return -ENOSPC;
    struct watch *watch = tree_allocate(tree, sizeof(*watch));
    if (!watch)
        return -ENOSPC;
    *watch = (struct watch){ .node.key = (uint64_t)++set->last, .inode = inode, .set = set, .mask = kept };
    list_append(&inode->watches, &watch->link);
    avl_insert(&set->watches, &watch->node, NULL);
    set->count++;
    __atomic_store_n(&tree->watch_count, tree->watch_count + 1, __ATOMIC_RELAXED);
    return set->last;
}

int watch_remove(struct tree *tree, struct watch_set *set, int32_t number)
{
    struct watch *watch = number > 0 ? watch_at(set, (uint64_t)number) : NULL;

    if (!watch || watch->node.key != (uint64_t)number)
        return -EINVAL;
    end_notified(tree, watch);
    return 0;
}

bool watch_drop(struct tree *tree, struct watch_set *set)
{
    struct watch *watch = watch_at(set, 0);

    if (watch)
        end(tree, watch);
    return watch;
}

/* ---- Telling ---- */

static void watches_notify(struct tree *tree, const struct inode *inode, const struct tree_event *event)
{
    LIST_EACH_SAFE(watch, watch, &inode->watches) {
        if (!(watch->mask & event->what & TREE_EVENTS))
            continue;
        tree->watch_notify(watch, event);
        if (watch->mask & WATCH_ONCE)
            end_notified(tree, watch);
    }
}

static uint32_t of_kind(const struct inode *inode, uint32_t what)
{
    return what | (mode_is(inode->mode, S_IFDIR) ? TREE_IS_DIRECTORY : 0);
}

void tree_notify_self(struct tree *tree, struct inode *inode, uint32_t what)
{
    const bool bare = what & (TREE_DELETE_SELF | TREE_MOVE_SELF);
    const struct tree_event event = { .what = bare ? what : of_kind(inode, what) };

    watches_notify(tree, inode, &event);
}

void tree_notify(struct tree *tree, struct inode *inode, uint32_t what)
{
    const struct directory_entry *entry = inode->name;

    if (!tree->watch_count)
        return;
    if (entry) {
        const struct tree_event event = { of_kind(inode, what), 0, entry->name, entry->name_bytes };

        watches_notify(tree, entry->directory, &event);
    }
    tree_notify_self(tree, inode, what);
}

void tree_notify_entry(struct tree *tree, const struct path_lookup *found, const struct inode *inode,
                       uint32_t what, uint32_t cookie)
{
    const struct tree_event event = { of_kind(inode, what), cookie, found->name, found->name_bytes };

    watches_notify(tree, found->directory, &event);
}

void watches_end(struct tree *tree, struct inode *inode)
{
    tree_notify_self(tree, inode, TREE_DELETE_SELF);
    LIST_EACH_SAFE(watch, watch, &inode->watches)
        end_notified(tree, watch);
}
