/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file_lock.c: see file_lock.h. Each inode has a list of locks, unordered, guarded by the tree's lock. All
 * ranks take that lock, so a list has at most FILE_LOCKS_MAX locks. They are allocated from the tree's slabs.
 * Ranges of one owner never overlap within a domain (flock's locks, or record locks).
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

const struct file_lock *file_lock_conflict(const struct inode *inode, const struct file_lock *requested)
{
    const struct file_lock *lowest = NULL;

    if (requested->releases)
        return NULL;
    for (const struct file_lock *lock = inode->locks; lock; lock = lock->next) {
        lock_work_step();
        if (lock->owner != requested->owner && same_domain(lock, requested) && overlap(lock, requested) &&
            (lock->exclusive || requested->exclusive) && (!lowest || lock->start < lowest->start))
            lowest = lock;
    }
    return lowest;
}

/* Removes the range from the owner's locks. A lock that extends beyond it on both sides is split with *spare,
 * which is NULL then; it is the only one that overlaps the range. -ENOLCK if there is no spare for that. */
static int range_remove(struct tree *tree, struct inode *inode, const struct file_lock *range,
                        struct file_lock **spare)
{
    for (struct file_lock **link = &inode->locks; *link;) {
        struct file_lock *lock = *link;

        lock_work_step();
        if (lock->owner != range->owner || !same_domain(lock, range) || !overlap(lock, range)) {
            link = &lock->next;
        } else if (lock->start < range->start && lock->end > range->end) {
            if (!*spare)
                return -ENOLCK;
            **spare = *lock;
            (*spare)->start = range->end + 1;
            lock->end = range->start - 1;
            lock->next = *spare;
            *spare = NULL;
            return 0;
        } else if (lock->start < range->start) {
            lock->end = range->start - 1;
            link = &lock->next;
        } else if (lock->end > range->end) {
            lock->start = range->end + 1;
            link = &lock->next;
        } else {
            *link = lock->next;
            tree_free(tree, lock, sizeof(*lock));
        }
    }
    return 0;
}

/* Merges the adjacent locks of the same owner and kind into `lock`, which is in no list yet. */
static void neighbours_merge(struct tree *tree, struct inode *inode, struct file_lock *lock)
{
    for (struct file_lock **link = &inode->locks; *link;) {
        struct file_lock *other = *link;
        bool below = other->end + 1 == lock->start, above = lock->end + 1 == other->start;

        lock_work_step();
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
        tree_free(tree, other, sizeof(*other));
    }
}

int file_lock_set(struct tree *tree, struct inode *inode, const struct file_lock *requested)
{
    const bool sets = !requested->releases;
    struct file_lock *lock = sets ? tree_allocate(tree, sizeof(*lock)) : NULL, *spare = NULL;
    unsigned room = FILE_LOCKS_MAX;

    for (const struct file_lock *other = inode->locks; other; other = other->next, room--)
        lock_work_step();
    if (room > (sets ? 1U : 0U))
        spare = tree_allocate(tree, sizeof(*spare));
    int error = (lock && room) || !sets ? range_remove(tree, inode, requested, &spare) : -ENOLCK;
    if (spare)
        tree_free(tree, spare, sizeof(*spare));
    if (lock && error)
        tree_free(tree, lock, sizeof(*lock));
    if (!lock || error)
        return error;
    *lock = *requested;
    neighbours_merge(tree, inode, lock);
    lock->next = inode->locks;
    inode->locks = lock;
    return 0;
}

void file_locks_release(struct tree *tree, struct inode *inode, const void *owner)
{
    struct file_lock all = { .owner = owner, .end = UINT64_MAX }, *none = NULL;

    range_remove(tree, inode, &all, &none); /* nothing extends beyond it */
    all.whole_file = true;
    range_remove(tree, inode, &all, &none);
}
