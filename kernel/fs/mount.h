/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mount.h: file systems whose files a server keeps; ninep/mount.c is the implementation. The tree ends at a
 * mount point; below it a path belongs to the mount. Its operations get the rest of the path, and are called
 * without any lock, since an answer takes a round trip. The tree caches nothing of a mount.
 *
 *      path call: look up in the tree ──► found there, or
 *                 left at a mount point, with the rest of the path ──► mount operation ──► done, or
 *                 MOUNT_LEFT: a symbolic link or ".." leads out; call->left is the path to continue with:
 *                 absolute, or relative to the directory that contains the mount point (the ".." has been
 *                 removed; "." if nothing follows it)
 *
 * Buffers are kernel memory; the caller copies from and to programs, in pieces. Operations may wait for the
 * server. If it does not answer, they return -EIO within the mount's time (mount_timeout=), never later. They
 * return -EINTR if a signal is pending; then nothing has been done, unless the operation says otherwise.
 */
#ifndef TACET_MOUNT_H
#define TACET_MOUNT_H

#include "fs/tree/tree.h"
#include <stdbool.h>
#include <stdint.h>

#define MOUNTS_MAX 16
#define MOUNT_LEFT (1 << 30) /* answer of a path operation: the path leads out. Above all lengths */

struct mount;

/* An open file or directory of a mount: the beginning of the implementation's own structure, which also has
 * the path by which the file is reopened. */
struct mount_file {
    struct mount *mount;
    uint32_t mode; /* at least the S_IFMT bits, as of when it was opened */
};

/* The arguments of a path operation. */
struct mount_call {
    struct mount *mount;
    struct mount_file *directory; /* where `path` starts; NULL: at the mount's root. With an empty path it may
                                   * be any open file: /proc/self/fd/N opens it again */
    const char *path;             /* NUL-terminated, without a leading slash; "" is the start itself; a slash
                                   * at the end asks for a directory */
    uint32_t group;
    unsigned symlinks; /* followed so far; at most TREE_SYMLINKS_MAX */
    char *left;        /* TREE_PATH_MAX bytes for the path that leads out; "" at first. With two calls (link,
                        * rename), it is set in the call whose path leads out. NULL: no path may (-ENOENT) */
};

/* As Linux's stat, also of files of the tree. `blocks` are of 512 bytes; `device` is the device that the file
 * represents (major << 8 | minor below 256); times are in ns since 1970. The caller sets `filesystem`. */
struct mount_status {
    unsigned filesystem; /* enum filesystem */
    uint64_t number, links, bytes, blocks, device, block_bytes;
    uint32_t mode, user, group;
    int64_t accessed_ns, modified_ns, changed_ns;
};

struct mount_change {
    unsigned what; /* of enum mount_what */
    uint32_t mode, user, group;
    uint64_t bytes;
    int64_t accessed_ns, modified_ns;
};
enum mount_what {
    MOUNT_MODE = 1,
    MOUNT_USER = 2,
    MOUNT_GROUP = 4,
    MOUNT_BYTES = 8,
    MOUNT_ACCESSED = 16, /* to accessed_ns; with MOUNT_ACCESSED_NOW to the server's time */
    MOUNT_ACCESSED_NOW = 32,
    MOUNT_MODIFIED = 64,
    MOUNT_MODIFIED_NOW = 128,
};

struct mount_entry {
    uint64_t number, next; /* `next`: the position after it, for the next call */
    uint8_t type;          /* Linux's DT_ */
    uint16_t name_bytes;
    char name[TREE_NAME_MAX + 1];
};

struct mount_lock {
    int type;              /* Linux's F_RDLCK, F_WRLCK, F_UNLCK */
    uint64_t start, bytes; /* 0 bytes: to the end */
    uint32_t process;
};

/* As Linux's statfs, also of file systems of the tree. `filesystem` as above. */
struct mount_statistics {
    unsigned filesystem;
    uint64_t type, block_bytes, blocks, blocks_free, blocks_available, files, files_free, name_bytes;
};

/* What the implementation of a mount provides. Errors are those of the Linux calls; path operations may
 * answer MOUNT_LEFT. */
struct mount_operations {
    /* By path. `flags` are those of Linux's open. With O_PATH, a file of any kind is opened, neither for
     * reading nor for writing: for current directories, and descriptors that only name a file. Without
     * O_PATH, anything but a regular file or a directory answers -ENXIO. */
    int (*open)(struct mount_call *call, unsigned flags, uint32_t mode, struct mount_file **file);
    int (*status)(struct mount_call *call, bool follow, struct mount_status *status);
    int (*change)(struct mount_call *call, bool follow, const struct mount_change *change);
    int (*make_directory)(struct mount_call *call, uint32_t mode);
    int (*make_symlink)(struct mount_call *call, const char *target);
    int64_t (*read_link)(struct mount_call *call, char *text, uint64_t bytes);
    int (*link)(struct mount_call *from, bool follow, struct mount_call *to);
    int (*rename)(struct mount_call *from, struct mount_call *to, unsigned flags);
    int (*remove)(struct mount_call *call, bool directory);
    int (*statistics)(struct mount_call *call, struct mount_statistics *statistics);
    /* By open file. Reads and writes take any number of bytes; large ones are pipelined. */
    int64_t (*read)(struct mount_file *file, void *bytes, uint64_t count, uint64_t offset);
    int64_t (*write)(struct mount_file *file, const void *bytes, uint64_t count, uint64_t offset);
    int (*file_status)(struct mount_file *file, struct mount_status *status);
    int (*file_change)(struct mount_file *file, const struct mount_change *change);
    int (*sync)(struct mount_file *file, bool data_only);
    int (*list)(struct mount_file *file, uint64_t position, struct mount_entry *entry); /* 1, or 0: the end */
    int (*lock)(struct mount_file *file, const struct mount_lock *lock); /* -EAGAIN: it conflicts */
    int (*lock_get)(struct mount_file *file, struct mount_lock *lock);
    /* Writes the path from the mount's root ("/…"; "/" for the root) and returns its length; -ERANGE. It is
     * called under locks, and never waits. */
    int64_t (*path)(const struct mount_file *file, char *text, uint64_t bytes);
    void (*close)(struct mount_file *file);
    /* From now on the server takes requests for those of this user. Between jobs: nothing is open. */
    void (*user_set)(struct mount *mount, uint32_t user);
};

/* One mounted file system. Embedded in the implementation's own structure. */
struct mount {
    const struct mount_operations *operations;
    struct inode *point; /* in the tree */
    unsigned index;      /* for mount_at */
    char place[256];     /* the mount point, absolute: "/home" */
    char source[128];    /* "10.0.2.2:564:/export", for /proc/mounts */
};

/* Returns what an inode has open on its mount; NULL for the mount point. */
static inline struct mount_file *mount_file_of(const struct inode *inode)
{
    return (struct mount_file *)(uintptr_t)inode->data;
}

/* Creates an inode, in no directory and with one reference, for what has been opened. If there is no memory
 * for it, closes `file` and returns NULL. Called without locks. */
struct inode *mount_inode_create(struct tree *tree, struct mount_file *file);

/* Drops a reference to any inode, as inode_put, but takes the tree's lock, and after the last reference
 * closes what the inode has open on a mount. Required for inodes of open files and current directories. */
void inode_drop(struct tree *tree, struct inode *inode);

/* Writes the path of a mount point or of what is open on a mount, as tree_path. */
int64_t mount_path(const struct tree *tree, const struct inode *inode, char *text, size_t bytes);

/* Makes the directory `mount->place`, with its parents, a mount point of the tree: at boot. -EINVAL,
 * -EEXIST, -ENOSPC with `why`. */
int mount_add(struct tree *tree, struct mount *mount, struct message *why);

/* Sets whose requests all mounts carry, between jobs. */
void mounts_user_set(uint32_t user);

/* Puts the existing mounts into a tree that was built again. Errors as mount_add. */
int mounts_put(struct tree *tree, struct message *why);

/* Looks up an absolute path before a program starts, as tree_find. What is on a mount is opened with `flags`;
 * its inode has a reference. A mount point that is only named (O_PATH) asks no server. -EIO: the server of
 * (*inode)->mount does not answer. */
int mount_lookup(struct tree *tree, const char *path, unsigned flags, struct inode **inode);

/* Returns a mount by its index, which counts from 0; NULL after the last. */
struct mount *mount_at(unsigned index);

#endif
