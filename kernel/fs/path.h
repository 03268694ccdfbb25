/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path.h: paths that programs pass to system calls, and their lookup in the tree.
 *
 *     struct path path;
 *     long result = path_begin(&path, directory, address, TREE_FOLLOW);   takes the tree's lock, looks up
 *     if (!result)
 *         … path.found …
 *     return path_end(&path, result);                                     releases everything
 *
 * The text is copied from the program before the lock is taken, into a buffer of the CPU's. A call with two
 * paths reads both (path_read), takes the lock (path_lock), and looks both up (path_find). Nothing is copied
 * from or to the program under the lock. path.c
 */
#ifndef TACET_PATH_H
#define TACET_PATH_H

#include "fs/file.h"
#include "fs/tree/tree.h"

struct path {
    struct tree *tree;
    struct inode *directory; /* the descriptor's; NULL: the current one */
    struct file *file;       /* of that descriptor, with a reference */
    char *text;              /* one of the CPU's two buffers, of TREE_PATH_MAX bytes */
    struct path_lookup found;
    bool locked;
};

/* Copies a path into one of the CPU's buffers, `which` 0 or 1. -EFAULT, -ENAMETOOLONG, -EBADF, -ENOTDIR,
 * -ENOMEM. */
int path_read(struct path *path, uint64_t directory, uint64_t address, unsigned which);

/* Takes the tree's lock; to add something by tree_lock_to_add. */
void path_lock(struct path *path, bool adds);

/* Looks it up, with the tree's lock; returns as tree_find. */
int path_find(struct path *path, enum tree_follow follow);

/* path_read, path_lock (to add something with TREE_NAME), path_find. The caller must call path_end, also on
 * errors. */
int path_begin(struct path *path, uint64_t directory, uint64_t address, enum tree_follow follow);

/* path_begin from the current directory, for a path of `bytes` in the kernel's memory. */
int path_begin_text(struct path *path, const char *text, size_t bytes, enum tree_follow follow);

/* Releases the lock and the descriptor's file; returns `result`. */
long path_end(struct path *path, long result);

/* Whether a path leads to a thread that there is: -ENOENT. Where it matters, with path_lookup.tid, without
 * locks.
 */
int path_thread_check(uint32_t tid);

/* What stat calls st_ino: different for each thread. */
static inline uint64_t inode_number(const struct inode *inode, uint32_t tid)
{
    return inode->number | (uint64_t)tid << 32;
}

/* Writes the path of what shows something of a thread, as tree_path; 0: it is no thread's. fs/proc/task.c */
int64_t thread_path(const struct inode *inode, uint32_t tid, char *text, size_t bytes);

/* The CPU's buffers, for other texts; NULL where there is no memory for them. */
char *path_buffer(unsigned which);

#endif
