/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mount_file.h: open files of mounts (mount.h), as far as they differ from files of the tree. mount_file.c,
 * mount_lock.c
 */
#ifndef TACET_MOUNT_FILE_H
#define TACET_MOUNT_FILE_H

#include "fs/file.h"
#include "fs/file_lock.h"
#include "fs/mount.h"

extern const struct file_operations mount_file_operations, mount_directory_operations;

/* Makes a call on an open file: its path is "". */
struct mount_call mount_call_of(const struct inode *inode);

/* Sets or releases a lock of an open file, also on the server; with `wait`, repeats a request that conflicts.
 * -EAGAIN, -EINTR, -ENOLCK, -EIO. After the node's own locks of the file have become fewer, mount_lock_reduce
 * gives up what the server still `held` for them; mount_lock_held returns the strongest of them. */
int mount_lock_set(struct file *file, const struct file_lock *requested, bool wait);
int mount_lock_reduce(struct file *file, int held);
int mount_lock_held(struct file *file);

/* Finds another node's lock that conflicts, as fcntl's F_GETLK; F_UNLCK if there is none. */
int mount_lock_query(struct file *file, const struct file_lock *requested, struct mount_lock *answer);

#endif
