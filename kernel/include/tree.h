/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tree.h: the in-memory file tree of a stand-alone node, built from the initrd. Pure C, host-tested and
 * fuzzed.
 *
 * Nodes point into the initrd for names and data, which therefore stays in memory for as long as the node
 * runs. Nothing is ever removed; files are read-only.
 */
#ifndef TACET_TREE_H
#define TACET_TREE_H

#include "cpio.h"
#include "file_mode.h"
#include <stddef.h>

#define TREE_PATH_MAX     4096 /* with its NUL, as Linux's PATH_MAX */
#define TREE_NAME_MAX     255
#define TREE_SYMLINKS_MAX 40 /* followed in one look-up, as Linux */

struct shared_memory;

struct tree_node {
    struct tree_node *parent; /* the root is its own parent */
    struct tree_node *child;  /* first of a directory's entries, in the archive's order */
    struct tree_node *last;   /* last of them, so that adding one is cheap */
    struct tree_node *next;   /* sibling */
    const char *name;         /* not NUL-terminated; "" for the root */
    uint32_t name_bytes;
    uint32_t mode;  /* S_IFMT bits and permissions */
    uint64_t inode; /* unique in the tree, but shared by hard links */
    uint32_t mtime_s;
    uint32_t links;   /* of a file as the archive tells, of a directory counted */
    const void *data; /* a file's bytes, a symbolic link's target */
    struct shared_memory *memory; /* a writable file's bytes, or NULL */
    uint64_t bytes;
    unsigned
        device; /* for character devices and pseudo files: which one, chosen by the caller; 0 elsewhere */
    /* Only while an archive is read: which file of it this is a name of, 0 where it has one name; the next
     * such. */
    uint64_t link_key;
    struct tree_node *link_next;
};

struct tree {
    struct tree_node *root;
    uint64_t node_count;
    uint64_t inode_count; /* last inode number given */
    /* Zeroed memory for one node, or NULL when there is no more. Set by the caller before anything else. */
    struct tree_node *(*node_allocate)(void *context);
    void *context;
};

/* Makes an empty tree: a root directory. Returns 0 or -ENOMEM. */
int tree_initialise(struct tree *tree);

/* Adds everything in a newc archive; missing parent directories are made (mode 0755). A later entry of the
 * same path replaces an earlier one, in place; that one of both is a directory and the other not is an error.
 * A symbolic link among the parents is followed, as when Linux unpacks. Names may begin with "/" or "./";
 * ".." in a name is an error. Hard links of one archive share inode and data. -EINVAL or -ENOMEM, both with
 * `why`; what stood before the faulty entry has been added. */
int tree_add_archive(struct tree *tree, const void *archive, uint64_t bytes, struct message *why);

/* Adds one node at an absolute path, making parents; for devices, pseudo files and a single-file initrd.
 * `path` and `data` must live as long as the tree. An existing node is replaced as above. NULL with `why` on
 * failure. */
struct tree_node *tree_add(struct tree *tree, const char *path, uint32_t mode, const void *data,
                           uint64_t bytes, struct message *why);

/* Looks `path` up from `directory` (from the root where it is absolute): "." and "..", repeated slashes,
 * symbolic links (the last component's only when follow_last; a trailing slash demands a directory and
 * follows). Returns 0 with *out, or -ENOENT, -ENOTDIR, -ELOOP, -ENAMETOOLONG (component over TREE_NAME_MAX);
 * an empty path is -ENOENT. `path` is NUL-terminated, at most TREE_PATH_MAX. */
int tree_lookup(const struct tree *tree, struct tree_node *directory, const char *path, bool follow_last,
                struct tree_node **out);

/* The absolute path of a node into `buffer`; -ERANGE where it does not fit with its NUL. Returns the length
 * without NUL. */
int64_t tree_path(const struct tree *tree, const struct tree_node *node, char *buffer, size_t bytes);

#endif
