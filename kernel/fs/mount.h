/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mount.h: file systems that somebody else keeps: the files of a server (ninep/mount.c). The tree ends at
 * a mount point; below it a path belongs to the mount, which is asked with the rest of the path and without
 * any lock, since an answer takes a round trip. Nothing of a mount is kept in the tree.
 *
 *      path call: look up in the tree ──► found there, or
 *                 left at a mount point, with the rest of the path ──► mount operation ──► done, or
 *                 MOUNT_LEFT: a symbolic link or ".." leads out; call->left is the path to go on with: an
 *                 absolute one, or one from the directory that the mount point stands in (the ".." has been
 *                 taken off; "." where nothing follows it)
 *
 * Buffers are kernel memory: copies from and to programs are the caller's, in pieces. Operations may wait for
 * the server; a dead one answers -EIO within the mount's time (mount_timeout=), never later. -EINTR where a
 * signal is pending, and nothing has been done or the operation says otherwise.
 */
#ifndef TACET_MOUNT_H
#define TACET_MOUNT_H

#include "fs/tree/tree.h"
#include <stdbool.h>
#include <stdint.h>

#define MOUNTS_MAX 16
#define MOUNT_LEFT (1 << 30) /* answer of a path operation: the path leads out. No length is as large */

struct mount;

/* An open file, or directory, of a mount: the beginning of what its keeper has for it, which remembers its
 * path, to be reopened by. */
struct mount_file {
    struct mount *mount;
    uint32_t mode; /* at least the S_IFMT bits, as of when it was opened */
};

/* Who asks, and for what. */
struct mount_call {
    struct mount *mount;
    struct mount_file *directory; /* where `path` starts; NULL: at the mount's root. With an empty path it may
                                   * be any open file: /proc/self/fd/N opens it once more */
    const char *path;             /* NUL-terminated; without a leading slash; "" is the start itself; a slash
                                   * at the end asks for a directory */
    uint32_t group;
    unsigned symlinks; /* followed so far, of TREE_SYMLINKS_MAX */
    char *left;        /* TREE_PATH_MAX bytes for the path that leads out, "" at first: of two calls
                        * (link, rename), the one that is set has led out */
};

/* As Linux's stat, also of files of the tree: `blocks` of 512 bytes, `device` the one that it represents
 * (major << 8 | minor below 256); times in ns since 1970. `filesystem` is set by the caller. */
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

/* What the keeper of a mount provides. Names are errors of Linux's calls; path operations may answer
 * MOUNT_LEFT. */
struct mount_operations {
    /* By path. `flags` are Linux's. With O_PATH nothing is opened for reading or writing: current directories
     * and descriptors that only name a file, of any kind. What is neither a file nor a directory otherwise:
     * -ENXIO. */
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
    /* By open file. Any number of bytes; large ones are pipelined. */
    int64_t (*read)(struct mount_file *file, void *bytes, uint64_t count, uint64_t offset);
    int64_t (*write)(struct mount_file *file, const void *bytes, uint64_t count, uint64_t offset);
    int (*file_status)(struct mount_file *file, struct mount_status *status);
    int (*file_change)(struct mount_file *file, const struct mount_change *change);
    int (*sync)(struct mount_file *file, bool data_only);
    int (*list)(struct mount_file *file, uint64_t position, struct mount_entry *entry); /* 1, or 0: the end */
    int (*lock)(struct mount_file *file, const struct mount_lock *lock); /* -EAGAIN: another has it */
    int (*lock_get)(struct mount_file *file, struct mount_lock *lock);
    /* Its length, from the mount's root: "/…", "/" for that; -ERANGE. Under locks: it never waits. */
    int64_t (*path)(const struct mount_file *file, char *text, uint64_t bytes);
    void (*close)(struct mount_file *file);
};

/* One mounted file system. Embedded in what its keeper has. */
struct mount {
    const struct mount_operations *operations;
    struct inode *point; /* in the tree */
    unsigned index;      /* of mount_at */
    char place[256];     /* the mount point, absolute: "/home" */
    char source[128];    /* "10.0.2.2:564:/export", for /proc/mounts */
};

/* What is open there; NULL of the mount point. */
static inline struct mount_file *mount_file_of(const struct inode *inode)
{
    return (struct mount_file *)(uintptr_t)inode->data;
}

/* An inode in no directory, with one reference, for what has been opened; where there is no memory for it,
 * `file` is closed: NULL. Without locks. */
struct inode *mount_inode_create(struct tree *tree, struct mount_file *file);

/* Drops a reference to any inode, as inode_put, but takes the tree's lock, and closes what the last reference
 * to it had open on a mount. Whatever may be an open file's inode or a current directory is dropped by it. */
void inode_drop(struct tree *tree, struct inode *inode);

/* As tree_path, of what is on a mount. */
int64_t mount_path(const struct tree *tree, const struct inode *inode, char *text, size_t bytes);

/* Makes the directory `mount->place`, with its parents, a mount point of the tree: at boot. -EINVAL,
 * -EEXIST, -ENOSPC with `why`. */
int mount_add(struct tree *tree, struct mount *mount, struct message *why);

/* Puts the mounts that there are into a tree that was built anew. As above. */
int mounts_put(struct tree *tree, struct message *why);

/* Looks an absolute path up at boot, as tree_find; what is on a mount is opened with `flags`: its inode has
 * a reference. */
int mount_lookup(struct tree *tree, const char *path, unsigned flags, struct inode **inode);

/* The mounts there are, in order, or NULL. */
struct mount *mount_at(unsigned index);

#endif
