/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mount_file.h: open files of mounts (mount.h): what files of the tree do otherwise. mount_file.c,
 * mount_lock.c
 */
#ifndef TACET_MOUNT_FILE_H
#define TACET_MOUNT_FILE_H

#include "fs/file.h"
#include "fs/file_lock.h"
#include "fs/mount.h"

extern const struct file_operations mount_file_operations, mount_directory_operations;

/* A call on what is open: its path is "". */
struct mount_call mount_call_of(const struct inode *inode);

/* Locks of open files on the server. A request that conflicts is made again and again with `wait`. -EAGAIN,
 * -EINTR, -ENOLCK, -EIO. `reduce` gives up what is no longer needed since the node's own locks of the file
 * have become fewer. */
int mount_lock_set(struct file *file, const struct file_lock *requested, bool wait);
int mount_lock_reduce(struct file *file, int held);
int mount_lock_held(struct file *file);

/* Another node's lock that conflicts: as fcntl's F_GETLK; F_UNLCK: there is none. */
int mount_lock_query(struct file *file, const struct file_lock *requested, struct mount_lock *answer);

#endif
