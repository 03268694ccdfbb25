/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path.h: paths that programs pass to system calls, and where they lead: to a file of the tree, or to a mount
 * (mount.h), and from there perhaps back to the tree.
 *
 *     struct path path;
 *     long result = path_begin(&path, directory, address, TREE_FOLLOW);   takes the tree's lock, looks up
 *     while (path_leads(&path, &result))
 *         if (result == TREE_LEFT)
 *             result = … path.call …      without any lock: ask the mount
 *         else
 *             result = … path.found …     with the tree's lock
 *     return path_end(&path, result);                                     releases everything
 *
 * The text is copied from the program before the lock is taken, into a buffer of the CPU; for a mount, into
 * memory of the rank's slice, because the call waits then. A call with two paths reads both (path_read),
 * takes the lock (path_lock), and looks both up (path_find). Nothing is copied from or to the program under
 * the lock. path.c
 */
#ifndef TACET_PATH_H
#define TACET_PATH_H

#include "fs/file.h"
#include "fs/mount.h"
#include "fs/tree/tree.h"

struct path {
    struct tree *tree;
    struct inode *directory; /* the descriptor's; NULL: the current one */
    struct file *file;       /* that descriptor's file, with a reference */
    char *text;              /* one of the CPU's two buffers, of TREE_PATH_MAX bytes; or of `work` */
    struct path_lookup found;
    enum tree_follow follow;
    bool adds, locked, followed; /* the last: path_leads has returned true */
    /* If the path leads to a mount: */
    struct inode *start;    /* the mount point, or what is open in the mount, with a reference; NULL: none */
    struct mount_call call; /* the rest of the path from there */
    uint64_t work;          /* memory for the call; 0: none yet */
    char *extra;            /* TREE_PATH_MAX bytes of it, for another text */
};

/* Copies a path into one of the CPU's buffers, `which` 0 or 1. -EFAULT, -ENAMETOOLONG, -EBADF, -ENOTDIR,
 * -ENOMEM. */
int path_read(struct path *path, uint64_t directory, uint64_t address, unsigned which);

/* Takes the tree's lock; with `adds` by tree_lock_to_add. */
void path_lock(struct path *path, bool adds);
void path_unlock(struct path *path);

/* Looks the path up; the caller holds the tree's lock. Returns as tree_find_from. After TREE_LEFT, the caller
 * releases the lock and calls path_depart, which prepares path.call: TREE_LEFT, -ENOTDIR, -ENOMEM, -ELOOP. */
int path_find(struct path *path, enum tree_follow follow);
int path_depart(struct path *path);

/* Takes the lock (path_lock) and looks the path up (path_find). If it leads to a mount, releases the lock and
 * calls path_depart. With `adds`, path_leads takes a missing last component for found. */
int path_look_up(struct path *path, enum tree_follow follow, bool adds);

/* Reads a path (path_read) and looks it up (path_look_up; to add something if `follow` is TREE_NAME). The
 * caller must call path_end, also on errors. */
int path_begin(struct path *path, uint64_t directory, uint64_t address, enum tree_follow follow);

/* Looks up a path of `bytes` in the kernel's memory from the current directory, as path_begin. Returns
 * -EOPNOTSUPP if it leads to a mount. */
int path_begin_text(struct path *path, const char *text, size_t bytes, enum tree_follow follow);

/* Returns whether a path leads anywhere: for the first time after path_begin, and again each time that a
 * mount has answered that the path leads out of it. Then the rest has been looked up, too; *result is
 * TREE_LEFT or 0. path_return does the half of that: the rest is still to be looked up. -ELOOP. */
bool path_leads(struct path *path, long *result);
int path_return(struct path *path);

/* Releases the lock, the descriptor's file and what the mount needed; returns `result`. */
long path_end(struct path *path, long result);

/* Returns 0 if a thread with this path_lookup.tid exists, or it is no thread's; else -ENOENT. Called without
 * locks. */
int path_thread_check(uint32_t tid);

/* Returns what stat calls st_ino: different for each numbered entry. */
static inline uint64_t inode_number(const struct inode *inode, uint32_t tid)
{
    return inode->number | (uint64_t)tid << 32;
}

/* Writes the path of an open file or a current directory, also of a thread or on a mount, as tree_path. The
 * caller holds the tree's lock. fs/proc/numbered.c */
int64_t inode_path(const struct tree *tree, const struct inode *inode, uint32_t tid, char *text,
                   size_t bytes);

/* Returns one of the CPU's two buffers, for another text; NULL if there is no memory for them. */
char *path_buffer(unsigned which);

/* Drops this CPU's buffers, because their memory is about to be used again: the next call takes other
 * memory. */
void path_buffers_drop(void);

#endif
