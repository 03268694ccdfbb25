/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tree.h: the in-memory file tree of a stand-alone node, shared by all ranks: built from the initrd, writable
 * below the directories that are marked so. Portable C, host-tested and fuzzed.
 *
 * An inode is a file; a directory entry is one of its names. The names and contents that the initrd brings
 * are pointed to, not copied, so the archive stays in memory for as long as the node runs; everything else
 * is allocated from a small slab allocator (slab.c). The contents of a writable file are a struct
 * shared_memory. An inode is freed when it has neither names nor references (open files, current
 * directories).
 *
 * Locks: callers hold `lock` around every function but those that build the tree, which run while no other
 * CPU uses it. No thread waits while it holds the lock. All ranks take it for every path; so no function here
 * works longer than a path is deep, times the logarithm of the number of a directory's entries, and none
 * copies from or to a program. Nor is memory allocated under it: a caller that adds something takes it by
 * tree_lock_to_add. A struct path_lookup is valid while it is held.
 */
#ifndef TACET_TREE_H
#define TACET_TREE_H

#include "lib/avl.h"
#include "lib/cpio.h"
#include "lib/file_mode.h"
#include "lib/list.h"
#include "smp/spinlock.h"
#include <stddef.h>

#define TREE_PATH_MAX     4096 /* with its NUL, as Linux's PATH_MAX */
#define TREE_NAME_MAX     255
#define TREE_SYMLINKS_MAX 40 /* followed in one lookup, as in Linux */
#define TREE_LINKS_MAX    65000
#define TREE_LEFT         1  /* answer of a lookup: the path leads to a mount */
#define TREE_SIZE_CLASSES 10 /* of the slab allocator; larger allocations take a block */

/* Memory for one entry of an archive, inode and name, with its share of what is lost at ends of blocks. */
#define TREE_ENTRY_BYTES_MAX 264

struct file;
struct inode;
struct tree;
struct tree_event;
struct watch;

/* Operations of devices, pseudo files and links that differ from process to process, instead of those of the
 * tree's own files. The file system that adds such an inode sets them; each may be NULL. */
struct inode_operations {
    /* Gives an open file its operations (file.h), and its contents if they are made at each open. Without
     * locks. */
    int (*open)(struct file *file);
    /* Finds where a symbolic link leads for the calling process: 0; -ENOENT if that process has no such link;
     * another error if it cannot be followed. *tid is the link's path_lookup.tid, and becomes the target's.
     * The caller holds the tree's lock. Takes no other lock than a descriptor table's. */
    int (*follow)(const struct inode *link, struct inode **target, uint32_t *tid);
    /* Writes what readlink answers to TREE_PATH_MAX bytes, if `follow` does not answer -ENOENT: the length,
     * or an error. As above. */
    int64_t (*read_link)(const struct tree *tree, uint32_t tid, char *text);
    /* For a directory that has, besides its own entries, numbered ones: the calling process's threads and
     * descriptors, CPUs and the like. Returns the entry that stands for all of them, and sets *tid to which
     * of them `name` is; NULL if it is none. Does not check that there is such a thread: the search would be
     * under the tree's lock. */
    struct directory_entry *(*find_numbered)(const struct inode *directory, const char *name,
                                             size_t name_bytes, uint32_t *tid);
    /* Returns the inode of the numbered entries, and sets *tid to that of the first one from *tid on; NULL if
     * there is none. Without locks. */
    const struct inode *(*next_numbered)(const struct inode *directory, uint32_t *tid);
    /* Releases what `data` points to, before the inode is freed. The caller holds the tree's lock. */
    void (*release)(struct inode *inode);
};

/* 64 bytes: one object of the slabs. */
struct directory_entry {
    struct avl_node node; /* in the directory; the key is the entry's position, which stays */
    struct inode *inode;
    struct inode *directory;
    const char *name; /* not NUL-terminated; in an archive, or copied to the end of this structure */
    uint8_t name_bytes;
};

/* Positions are from here up to INT64_MAX. Those below are of ".", ".." and numbered entries. */
#define TREE_POSITION_MIN (1ULL << 62)

/* path_lookup.tid is a thread's below this; above, it is this plus the number of another numbered entry. */
#define TREE_NUMBERED (1U << 23)

static inline uint32_t tree_number_of(uint32_t tid)
{
    return tid % TREE_NUMBERED;
}

struct inode {
    uint32_t mode; /* S_IFMT bits and permissions */
    uint32_t links;
    uint64_t number; /* unique in the tree; what stat calls st_ino */
    uint32_t user, group;
    int64_t accessed_ns, modified_ns, changed_ns; /* since 1970 */
    uint32_t references;
    unsigned device;    /* not 0 for devices and pseudo files: which one, as their file system numbers them */
    bool writable;      /* the file's contents, or the entries of the directory, may change */
    bool data_copied;   /* `data` was allocated from the slabs */
    uint8_t filesystem; /* enum filesystem; a new inode takes it from its directory */
    const struct inode_operations *operations; /* NULL: a file or a directory of the tree itself */
    const void *data; /* a read-only file's bytes, a symbolic link's target, or what `operations` keep here */
    uint64_t bytes;
    struct shared_memory *memory; /* a writable file's bytes */
    struct mount *mount;          /* of a mount point and of what is open below it; then `data` is a struct
                                   * mount_file, NULL for the mount point */
    struct file_lock *locks;
    struct list watches;          /* struct watch; watch.c */
    struct directory_entry *name; /* one of its names; NULL for the root */
    struct avl_node *entries;     /* for a directory */
    struct avl_node link; /* only while an archive is read; the key is which of its files with several names
                           * this is, 0 for all others */
};

struct tree {
    struct spinlock lock;
    struct inode *root;
    uint64_t inode_count;
    uint64_t last_number;                    /* number of the newest inode */
    void *free_lists[TREE_SIZE_CLASSES + 1]; /* for each size class; the last is the list of whole blocks */
    unsigned free_blocks;                    /* whole blocks in that list */
    uint32_t user, group;                    /* whom files belong to that programs make */
    /* Allocates a page (ARCH_PAGE); NULL if there is none left. Called without the lock. The caller sets it
     * before anything else. */
    void *(*page_allocate)(void *context);
    void *context;
    /* Releases what an inode's owner hung on it, before the inode is freed. May be NULL. */
    void (*inode_release)(struct inode *inode);
    /* Takes an event for the owner of a watch. Set before the first watch is added. */
    void (*watch_notify)(const struct watch *watch, const struct tree_event *event);
    uint64_t watch_count;
    uint32_t last_cookie;
    struct inode *abstract_names; /* a directory of AF_UNIX, in no other one; NULL: there is none yet */
};

/* ---- Building; tree.c ---- */

/* Makes an empty tree: a root directory. Returns 0 or -ENOMEM. */
int tree_initialise(struct tree *tree);

/* Adds everything in a newc archive; missing parent directories are made (mode 0755). A later entry of the
 * same path replaces an earlier one in place; a directory and another file of the same path are an error.
 * Symbolic links among the parents are followed, as when Linux unpacks. Names may begin with "/" or "./";
 * ".." in a name is an error. Hard links of one archive become names of one inode. -EINVAL or -ENOMEM, both
 * with `why`; entries before the faulty one stay in the tree. */
int tree_add_archive(struct tree *tree, const void *archive, uint64_t bytes, struct message *why);

/* Adds one inode at an absolute path, making parents; for devices, pseudo files and a single-file initrd.
 * `path` and `data` must live as long as the tree. An existing inode is replaced as above. NULL with `why` on
 * failure. */
struct inode *tree_add(struct tree *tree, const char *path, uint32_t mode, const void *data, uint64_t bytes,
                       struct message *why);

/* Does the same with a path that begins in `directory`. */
struct inode *tree_add_below(struct tree *tree, struct inode *directory, const char *path, uint32_t mode,
                             const void *data, uint64_t bytes, struct message *why);

/* ---- Lookups; lookup.c ---- */

enum tree_last { TREE_LAST_NAME, TREE_LAST_DOT, TREE_LAST_DOTDOT, TREE_LAST_ROOT };

/* Where a path leads. */
struct path_lookup {
    struct inode *directory;       /* the directory in which the last component is looked up */
    struct directory_entry *entry; /* entry of that component; NULL if it is missing, "." or ".." */
    struct inode *inode;           /* NULL if it is missing */
    const char *name;              /* the last component, for TREE_LAST_NAME */
    uint32_t name_bytes;
    uint32_t tid;      /* the thread, or other numbered entry, that the inode shows; 0: none */
    unsigned followed; /* symbolic links followed, if the path leads to a mount */
    enum tree_last last;
    bool trailing_slash; /* a slash follows the last component: it must be a directory */
};

enum tree_follow {
    TREE_FOLLOW,    /* a symbolic link as the last component is followed */
    TREE_NO_FOLLOW, /* followed only if a slash comes after it */
    TREE_NAME,      /* never followed: the caller changes the directory entry itself */
};

/* Looks up `path` from `directory` (from the root if it is absolute): "." and "..", repeated slashes,
 * symbolic links; a trailing slash demands a directory. Returns 0, or -ENOENT, -ENOTDIR, -ELOOP,
 * -ENAMETOOLONG (component over TREE_NAME_MAX, or links whose targets have TREE_PATH_MAX bytes together); an
 * empty path is -ENOENT. On errors found->directory is NULL, except if only the last component is missing:
 * that is -ENOENT with the directory that lacks it. `path` is NUL-terminated, at most TREE_PATH_MAX. With
 * TREE_NAME, the last component may be anything: the caller checks found->trailing_slash. */
int tree_find(const struct tree *tree, struct inode *directory, const char *path, enum tree_follow follow,
              struct path_lookup *found);

/* Looks up `path` as tree_find, also from the directory of a thread or of a mount. TREE_LEFT if it leads to a
 * mount (fs/mount.h): found->inode is the mount point, or what is open there; `path` (TREE_PATH_MAX bytes)
 * becomes the rest of the path from there, without a leading slash; found->followed is the number of links
 * that were followed. With TREE_NAME a mount point itself is found. The other lookups answer -EXDEV
 * instead. */
int tree_find_from(const struct tree *tree, struct inode *directory, uint32_t tid, char *path,
                   enum tree_follow follow, struct path_lookup *found);

/* Returns the directory above a directory; for the root, the root; NULL if the directory was removed. */
struct inode *tree_parent(const struct tree *tree, const struct inode *directory);

/* Writes an absolute path of an inode into `buffer`; -ERANGE if it does not fit with its NUL, -ENOENT if the
 * inode has no name any longer. Returns the length without NUL. */
int64_t tree_path(const struct tree *tree, const struct inode *inode, char *buffer, size_t bytes);

/* Returns whether the calling process has this entry (inode_operations.follow). */
bool tree_entry_visible(const struct directory_entry *entry);

/* ---- Changes; change.c. Errors are those of Linux's system calls ---- */

/* Creates an inode for the last component, which a lookup has found missing. A symbolic link's target of
 * `bytes` is copied. -EEXIST, -EROFS, -ENOSPC, -ENOENT (the directory was removed), -EMLINK. */
int tree_create(struct tree *tree, const struct path_lookup *found, uint32_t mode, const void *target,
                uint64_t bytes, int64_t now_ns, struct inode **out);

/* Creates an inode without a name, whose contents or entries may change. Returns NULL if there is no
 * memory. */
struct inode *inode_create_writable(struct tree *tree, uint32_t mode, int64_t now_ns);

/* Gives an inode one more name. Returns -EPERM for directories, -EXDEV between file systems. */
int tree_link(struct tree *tree, struct inode *inode, const struct path_lookup *found, int64_t now_ns);

/* Removes the name of a file, as unlink does, or of a directory, as rmdir. -EISDIR, -ENOTDIR, -ENOTEMPTY,
 * -EBUSY, -EINVAL, -EROFS. */
int tree_remove(struct tree *tree, const struct path_lookup *found, bool directory, int64_t now_ns);

/* Renames a file. Both lookups with TREE_NAME; the name `to` may be missing. */
int tree_rename(struct tree *tree, const struct path_lookup *from, const struct path_lookup *to,
                bool no_replace, int64_t now_ns);

/* Exchanges the inodes of two existing names; both lookups with TREE_NAME. */
int tree_exchange(struct tree *tree, const struct path_lookup *one, const struct path_lookup *other,
                  int64_t now_ns);

/* Adds a reference. */
void inode_get(struct inode *inode);
/* Drops a reference; frees the inode when that was the last one and it has no name. */
void inode_put(struct tree *tree, struct inode *inode);

/* ---- Watches, inotify(7); watch.c ---- */

/* What is done with files; Linux's bits, as for what follows. */
enum {
    TREE_ACCESS = 1,
    TREE_MODIFY = 2,
    TREE_ATTRIBUTES = 4,
    TREE_CLOSE_WRITE = 8,
    TREE_CLOSE = 16, /* it was not open for writing */
    TREE_OPEN = 32,
    TREE_MOVED_FROM = 64,
    TREE_MOVED_TO = 128,
    TREE_CREATE = 256,
    TREE_DELETE = 512,
    TREE_DELETE_SELF = 1024,
    TREE_MOVE_SELF = 2048,
    TREE_EVENTS = 4095, /* all of these */
    TREE_OVERFLOW = 0x4000,
    TREE_IGNORED = 0x8000, /* the watch has ended */
    TREE_IS_DIRECTORY = 1 << 30,
};

/* How a watch is added. */
#define WATCH_DIRECTORY 0x01000000U /* only a directory */
#define WATCH_NO_FOLLOW 0x02000000U
#define WATCH_NEW       0x10000000U /* the inode has none yet */
#define WATCH_MORE      0x20000000U /* adds to the events of the one that it has */
#define WATCH_ONCE      0x80000000U /* it ends with its first event */

#define INODE_WATCHES_MAX 192  /* of one inode: this many are notified under the lock */
#define WATCHES_MAX       8192 /* of one set */

/* The watches of one owner. An inode has at most one of them. */
struct watch_set {
    struct avl_node *watches; /* by their numbers */
    unsigned count;
    int32_t last; /* the number of the newest */
};

struct watch {
    struct list_link link; /* in its inode's list */
    struct avl_node node;  /* in its set */
    struct inode *inode;   /* without a reference: the watch ends with it */
    struct watch_set *set;
    uint32_t mask; /* events, WATCH_ONCE */
};

/* What a watch is notified of. `name` is that of a directory's entry; the other events have none. */
struct tree_event {
    uint32_t what, cookie; /* the two events of a rename have the same cookie */
    const char *name;
    uint32_t name_bytes;
};

static inline bool tree_is_watched(const struct tree *tree)
{
    return __atomic_load_n(&tree->watch_count, __ATOMIC_RELAXED);
}

/* Adds a watch, or changes the one that the set has of this inode. Returns its number; -EEXIST, -ENOSPC. The
 * caller has the lock by tree_lock_to_add. */
int watch_add(struct tree *tree, struct watch_set *set, struct inode *inode, uint32_t mask);
/* Removes a watch, after its last event, TREE_IGNORED. -EINVAL: there is no watch of this number. */
int watch_remove(struct tree *tree, struct watch_set *set, int32_t number);
/* Removes a watch of a set that ends, without an event. Returns whether there was one. */
bool watch_drop(struct tree *tree, struct watch_set *set);

/* Notifies the watches of an inode, and of the directory that it has its name in; of a directory's entry; of
 * an inode that is about to be freed, which ends them. */
void tree_notify(struct tree *tree, struct inode *inode, uint32_t what);
void tree_notify_entry(struct tree *tree, const struct path_lookup *found, const struct inode *inode,
                       uint32_t what, uint32_t cookie);
void tree_notify_self(struct tree *tree, struct inode *inode, uint32_t what);
void watches_end(struct tree *tree, struct inode *inode);

/* ---- Memory; slab.c ---- */

/* Takes the lock, with enough free blocks for what one call adds, as far as page_allocate gives any. */
void tree_lock_to_add(struct tree *tree);

/* Allocates zeroed memory, up to a block of 4096 bytes. Returns NULL if there is no memory. */
void *tree_allocate(struct tree *tree, size_t bytes);
/* Frees memory; `bytes` as at the allocation. */
void tree_free(struct tree *tree, void *memory, size_t bytes);

/* Creates an inode, in no directory. Returns NULL if there is no memory. */
struct inode *inode_create(struct tree *tree, uint32_t mode);
void inode_free(struct tree *tree, struct inode *inode);

/* ---- Entries of a directory; directory.c ---- */

/* Returns the first entry at a position or after it, or NULL. The next entry is the first after its
 * position. */
struct directory_entry *tree_entry_at(const struct inode *directory, uint64_t position);

/* Adds a name for an inode to a directory; with `copy`, copies the name. Returns NULL if there is no memory,
 * or (directory.c) too many names with the same hash. */
struct directory_entry *tree_entry_add(struct tree *tree, struct inode *directory, struct inode *inode,
                                       const char *name, uint32_t name_bytes, bool copy);
void tree_entry_remove(struct tree *tree, struct directory_entry *entry);
/* Makes an entry name another inode than before. Neither is a directory, or the caller corrects the links of
 * directories. */
void tree_entry_redirect(struct directory_entry *entry, struct inode *inode);

#endif
