/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file_lock.h: advisory locks on files of the tree: POSIX record locks, owned by a process; those of an open
 * file description (OFD), owned by a struct file; and flock's, also owned by a struct file, which conflict
 * only with each other. Portable C, host-tested. Callers hold the tree's lock. Sources: fcntl(2), flock(2).
 */
#ifndef TACET_FILE_LOCK_H
#define TACET_FILE_LOCK_H

#include "fs/tree/tree.h"

#define FILE_LOCKS_MAX 1024 /* locks of one file */

struct file_lock {
    struct file_lock *next;
    const void *owner;
    uint64_t start, end; /* the first and the last byte */
    int32_t pid;         /* for F_GETLK; -1 for OFD */
    bool exclusive;
    bool whole_file; /* flock's */
    bool releases;   /* in a request: release what its owner has in the range, instead of setting a lock */
};

/* Returns the lowest lock of another owner that conflicts with `requested`, or NULL: also for a request that
 * `releases`. */
const struct file_lock *file_lock_conflict(const struct inode *inode, const struct file_lock *requested);

/* Sets the lock, replacing what its owner has in the range; no other owner's lock may conflict. Returns
 * -ENOLCK if there is no memory, or the file has FILE_LOCKS_MAX; with `releases` only if a lock has to be
 * split. */
int file_lock_set(struct tree *tree, struct inode *inode, const struct file_lock *requested);

/* Releases all locks that an owner has on an inode. */
void file_locks_release(struct tree *tree, struct inode *inode, const void *owner);

#endif
