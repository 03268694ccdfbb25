/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file_lock.h: advisory locks on files of the tree: POSIX record locks, whose owner is a process, those of an
 * open file description (OFD), whose owner is a struct file, and flock's, of a struct file and a domain of
 * their own. A list at the inode. Pure C, host-tested; with the tree's lock. Sources: fcntl(2), flock(2).
 */
#ifndef TACET_FILE_LOCK_H
#define TACET_FILE_LOCK_H

#include "fs/tree/tree.h"

struct file_lock {
    struct file_lock *next;
    const void *owner;
    uint64_t start, end; /* the first and the last byte */
    int32_t pid;         /* that F_GETLK tells; -1 for OFD */
    bool exclusive;
    bool whole_file; /* flock's domain */
};

/* The lowest lock of somebody else's that `wanted` cannot be beside, or NULL. */
const struct file_lock *file_lock_conflict(const struct inode *inode, const struct file_lock *wanted);

/* Sets the lock, instead of what its owner has in the range; nobody's may conflict. -ENOLCK. */
int file_lock_set(struct tree *tree, struct inode *inode, const struct file_lock *wanted);

/* Takes what `range`'s owner has in the range away. -ENOLCK: a lock had to be cut in two. */
int file_lock_clear(struct tree *tree, struct inode *inode, const struct file_lock *range);

/* Takes all that an owner has at a inode away. */
void file_locks_drop(struct tree *tree, struct inode *inode, const void *owner);

#endif
