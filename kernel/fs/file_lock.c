/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file_lock.c: see file_lock.h.
 */
#include "fs/file_lock.h"
#include "lib/errno.h"

static bool same_domain(const struct file_lock *a, const struct file_lock *b)
{
    return a->whole_file == b->whole_file;
}

static bool overlap(const struct file_lock *a, const struct file_lock *b)
{
    return a->start <= b->end && b->start <= a->end;
}

const struct file_lock *file_lock_conflict(const struct inode *inode, const struct file_lock *wanted)
{
    const struct file_lock *lowest = NULL;

    for (const struct file_lock *lock = inode->locks; lock; lock = lock->next)
        if (lock->owner != wanted->owner && same_domain(lock, wanted) && overlap(lock, wanted) &&
            (lock->exclusive || wanted->exclusive) && (!lowest || lock->start < lowest->start))
            lowest = lock;
    return lowest;
}

/* Takes the range away from the owner's locks. One that lies around it needs a second descriptor: *spare,
 * which is NULL afterwards; at most one can. */
static void range_remove(struct tree *tree, struct inode *inode, const struct file_lock *range,
                         struct file_lock **spare)
{
    for (struct file_lock **link = &inode->locks; *link;) {
        struct file_lock *lock = *link;

        if (lock->owner != range->owner || !same_domain(lock, range) || !overlap(lock, range)) {
            link = &lock->next;
        } else if (lock->start < range->start && lock->end > range->end) {
            struct file_lock *upper = *spare;

            *upper = *lock;
            upper->start = range->end + 1;
            lock->end = range->start - 1;
            lock->next = upper;
            *spare = NULL;
            return;
        } else if (lock->start < range->start) {
            lock->end = range->start - 1;
            link = &lock->next;
        } else if (lock->end > range->end) {
            lock->start = range->end + 1;
            link = &lock->next;
        } else {
            *link = lock->next;
            tree_cell_give(tree, lock, sizeof(*lock));
        }
    }
}

/* Makes `lock`, which is in no list, as long as its neighbours of the same kind and with them, which go. */
static void neighbours_join(struct tree *tree, struct inode *inode, struct file_lock *lock)
{
    for (struct file_lock **link = &inode->locks; *link;) {
        struct file_lock *other = *link;
        bool below = other->end + 1 == lock->start, above = lock->end + 1 == other->start;

        if (other->owner != lock->owner || !same_domain(other, lock) || other->exclusive != lock->exclusive ||
            !(below || above)) {
            link = &other->next;
            continue;
        }
        if (below)
            lock->start = other->start;
        else
            lock->end = other->end;
        *link = other->next;
        tree_cell_give(tree, other, sizeof(*other));
    }
}

static struct file_lock *spare_take(struct tree *tree)
{
    return tree_cell_take(tree, sizeof(struct file_lock));
}

static void spare_give(struct tree *tree, struct file_lock *spare)
{
    if (spare)
        tree_cell_give(tree, spare, sizeof(*spare));
}

int file_lock_clear(struct tree *tree, struct inode *inode, const struct file_lock *range)
{
    struct file_lock *spare = spare_take(tree);

    if (!spare)
        return -ENOLCK;
    range_remove(tree, inode, range, &spare);
    spare_give(tree, spare);
    return 0;
}

int file_lock_set(struct tree *tree, struct inode *inode, const struct file_lock *wanted)
{
    struct file_lock *lock = spare_take(tree), *spare = spare_take(tree);

    if (!lock || !spare) {
        spare_give(tree, lock);
        spare_give(tree, spare);
        return -ENOLCK;
    }
    range_remove(tree, inode, wanted, &spare);
    spare_give(tree, spare);
    *lock = *wanted;
    neighbours_join(tree, inode, lock);
    lock->next = inode->locks;
    inode->locks = lock;
    return 0;
}

void file_locks_drop(struct tree *tree, struct inode *inode, const void *owner)
{
    for (struct file_lock **link = &inode->locks; *link;) {
        struct file_lock *lock = *link;

        if (lock->owner != owner) {
            link = &lock->next;
            continue;
        }
        *link = lock->next;
        tree_cell_give(tree, lock, sizeof(*lock));
    }
}
