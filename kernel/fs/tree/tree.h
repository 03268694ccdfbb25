/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tree.h: the in-memory file tree of a stand-alone node, shared by all ranks: built from the initrd, writable
 * below directories that are marked so. Pure C, host-tested and fuzzed.
 *
 * An inode is a file; an entry is one of its names in a directory. Of the initrd, names and data are pointed
 * to and not copied, so the archive stays in memory for as long as the node runs; all else stands in cells of
 * the tree's own (tree_cells.c), which are used again. What a writable file contains is a struct
 * shared_memory. An inode lives for as long as it has a name or a use (an open file, a current directory).
 *
 * Locks: `lock` is held by callers around every function but those that build the tree, which run before
 * there is a second CPU; it is never held across a wait. What a struct tree_place tells is valid for as long.
 */
#ifndef TACET_TREE_H
#define TACET_TREE_H

#include "lib/cpio.h"
#include "lib/file_mode.h"
#include "smp/spinlock.h"
#include <stddef.h>

#define TREE_PATH_MAX     4096 /* with its NUL, as Linux's PATH_MAX */
#define TREE_NAME_MAX     255
#define TREE_SYMLINKS_MAX 40 /* followed in one look-up, as Linux */
#define TREE_LINKS_MAX    65000
#define TREE_CELL_CLASSES 10

/* What an entry of an archive costs, inode and name, with what is lost at the ends of pages. */
#define TREE_ENTRY_BYTES_MAX 264

struct shared_memory;
struct file_lock;

struct directory_entry {
    struct inode *inode;
    struct inode *directory;
    struct directory_entry *next; /* in the order in which they came, which is that of their positions */
    const char *name;             /* not NUL-terminated */
    uint32_t name_bytes;
    bool name_copied;  /* stands behind this structure, not in an archive */
    uint64_t position; /* in the directory; never given again, so that reading it is stable */
};

struct inode {
    uint32_t mode; /* S_IFMT bits and permissions */
    uint32_t links;
    uint64_t number; /* unique in the tree; what stat calls st_ino */
    uint32_t user, group;
    int64_t accessed_ns, modified_ns, changed_ns; /* since 1970 */
    uint32_t uses;
    unsigned
        device;    /* for character devices and pseudo files: which one, chosen by the caller; 0 elsewhere */
    bool writable; /* it, or what is in it, may be changed */
    uint8_t filesystem; /* which it belongs to, chosen by the caller; what comes into a directory is of its */
    bool is_copied;     /* a symbolic link whose target stands in a cell */
    const void *data;   /* a read-only file's bytes, a symbolic link's target */
    uint64_t bytes;
    struct shared_memory *memory; /* a writable file's bytes */
    struct file_lock *locks;
    struct directory_entry *name;         /* one of its names; NULL for the root and what has none */
    struct directory_entry *child, *last; /* of a directory */
    uint64_t positions;                   /* given in it so far */
    /* Only while an archive is read: which file of it this is, 0 where it has one name; the next such. */
    uint64_t link_key;
    struct inode *link_next;
};

struct tree {
    struct spinlock lock;
    struct inode *root;
    uint64_t inode_count;
    uint64_t last_number;               /* of the inodes made so far */
    void *cells[TREE_CELL_CLASSES + 1]; /* free ones of each size; whole pages at last */
    /* A page of memory, or NULL when there is no more. Set by the caller before anything else. */
    void *(*page_take)(void *context);
    void *context;
    /* Where a symbolic link with a `device` leads, which depends on who asks: 0, -ENOENT where it is not
     * there for that one, or why it cannot be followed. With the lock; it takes no other but a file table's.
     * NULL where there are no such links. */
    int (*link_follow)(const struct inode *link, struct inode **out);
    /* Lets go of a file's contents and of all that hangs on it, when it ends. May be NULL. */
    void (*inode_end)(struct inode *inode);
};

/* ---- Building; tree.c ---- */

/* Makes an empty tree: a root directory. Returns 0 or -ENOMEM. */
int tree_initialise(struct tree *tree);

/* Adds everything in a newc archive; missing parent directories are made (mode 0755). A later entry of the
 * same path replaces an earlier one, in place; that one of both is a directory and the other not is an error.
 * A symbolic link among the parents is followed, as when Linux unpacks. Names may begin with "/" or "./";
 * ".." in a name is an error. Hard links of one archive are names of one inode. -EINVAL or -ENOMEM, both with
 * `why`; what stood before the faulty entry has been added. */
int tree_add_archive(struct tree *tree, const void *archive, uint64_t bytes, struct message *why);

/* Adds one inode at an absolute path, making parents; for devices, pseudo files and a single-file initrd.
 * `path` and `data` must live as long as the tree. An existing inode is replaced as above. NULL with `why` on
 * failure. */
struct inode *tree_add(struct tree *tree, const char *path, uint32_t mode, const void *data, uint64_t bytes,
                       struct message *why);

/* ---- Looking up; tree_lookup.c ---- */

enum tree_last { TREE_LAST_NAME, TREE_LAST_DOT, TREE_LAST_DOTDOT, TREE_LAST_ROOT };

/* Where a path leads. */
struct tree_place {
    struct inode *directory;       /* that the last component is looked up in */
    struct directory_entry *entry; /* that it names there; NULL where there is none, or where it is no name */
    struct inode *inode;
    const char *name; /* the last component; with NAME */
    uint32_t name_bytes;
    enum tree_last last;
    bool slash; /* follows the last component: only a directory is meant */
};

enum tree_follow {
    TREE_FOLLOW,    /* a symbolic link as the last component */
    TREE_NO_FOLLOW, /* unless a slash follows */
    TREE_NAME,      /* never: the name itself is going to be changed */
};

/* Looks `path` up from `directory` (from the root where it is absolute): "." and "..", repeated slashes,
 * symbolic links; a trailing slash demands a directory. Returns 0, or -ENOENT, -ENOTDIR, -ELOOP,
 * -ENAMETOOLONG (component over TREE_NAME_MAX); an empty path is -ENOENT. Where only the last component is
 * missing, that is -ENOENT with place->directory, else place->directory is NULL on errors. `path` is
 * NUL-terminated, at most TREE_PATH_MAX. With TREE_NAME, the last component is not looked into: a slash
 * behind it is told in `place`.
 */
int tree_find(const struct tree *tree, struct inode *directory, const char *path, enum tree_follow follow,
              struct tree_place *place);

/* tree_find for those who want the inode only. */
int tree_lookup(const struct tree *tree, struct inode *directory, const char *path, bool follow_last,
                struct inode **out);

/* The directory above a directory; the root's is the root; NULL for one that was removed. */
struct inode *tree_parent(const struct tree *tree, const struct inode *directory);

/* An absolute path of an inode into `buffer`; -ERANGE where it does not fit with its NUL, -ENOENT where it
 * has none any more. Returns the length without NUL. */
int64_t tree_path(const struct tree *tree, const struct inode *inode, char *buffer, size_t bytes);

/* The first entry at or behind a position, or NULL. */
struct directory_entry *tree_entry_at(const struct inode *directory, uint64_t position);

/* Whether an entry is there for who asks (link_follow). */
bool tree_entry_shows(const struct tree *tree, const struct directory_entry *entry);

/* ---- Changing; tree_change.c. Errors are what Linux's calls answer ---- */

/* A new inode at a place whose last component is missing, with the directory's rights to be changed. A
 * symbolic link's target of `bytes` is copied. -EROFS, -ENOSPC, -ENOENT (the directory was removed), -EMLINK.
 */
int tree_create(struct tree *tree, const struct tree_place *place, uint32_t mode, const void *target,
                uint64_t bytes, int64_t now_ns, struct inode **out);

/* An inode without a name, with one use. NULL where there is no memory. */
struct inode *tree_create_unnamed(struct tree *tree, uint32_t mode, int64_t now_ns);

/* One more name. -EPERM for directories, -EXDEV between file systems. */
int tree_link(struct tree *tree, struct inode *inode, const struct tree_place *place, int64_t now_ns);

/* unlink and rmdir. -EISDIR, -ENOTDIR, -ENOTEMPTY, -EBUSY, -EINVAL, -EROFS. */
int tree_unlink(struct tree *tree, const struct tree_place *place, int64_t now_ns);
int tree_rmdir(struct tree *tree, const struct tree_place *place, int64_t now_ns);

/* Both from tree_find with TREE_NAME; `to` may be missing. */
int tree_rename(struct tree *tree, const struct tree_place *from, const struct tree_place *to,
                bool no_replace, int64_t now_ns);

/* Two names change what they name; both from tree_find with TREE_NAME, and there. */
int tree_exchange(struct tree *tree, const struct tree_place *one, const struct tree_place *other,
                  int64_t now_ns);

void inode_get(struct inode *inode);
/* Ends a use; the inode, too, where it has neither name nor use. */
void inode_put(struct tree *tree, struct inode *inode);

/* ---- Memory; tree_cells.c ---- */

/* Zeroed memory, up to a page. NULL where there is none. */
void *tree_cell_take(struct tree *tree, size_t bytes);
void tree_cell_give(struct tree *tree, void *cell, size_t bytes);

/* An inode, in no directory; an entry at the end of a directory, with its name copied on demand. For the
 * other files of the tree. */
struct inode *inode_create(struct tree *tree, uint32_t mode);
void inode_free(struct tree *tree, struct inode *inode);
struct directory_entry *tree_entry_add(struct tree *tree, struct inode *directory, struct inode *inode,
                                       const char *name, uint32_t name_bytes, bool copy);
void tree_entry_remove(struct tree *tree, struct directory_entry *entry);

#endif
