/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lookup.c: looking paths up in the file tree (tree.h). Source: path_resolution(7).
 *
 * A lookup keeps what it has not read yet, of the path and of the symbolic links that it is following, on a
 * small stack of its own, so that a hostile initrd cannot make it recurse. Runs with the tree's lock, or
 * while the tree is built.
 */
#include "lib/errno.h"
#include "fs/tree/path_span.h"

/* A lookup in progress. At the bottom of the stack is what remains of the path, above it what remains of the
 * links' targets, the innermost on top. */
struct walk {
    const struct tree *tree;
    struct path_span stack[TREE_SYMLINKS_MAX + 1];
    unsigned depth, followed;
    uint64_t target_bytes; /* of the links followed so far */
    char *rest;            /* TREE_PATH_MAX bytes for the rest of a path that leads to a mount, or NULL */
};

/* Returns whether only slashes remain, and in *trailing_slash whether there are any. Of several it leaves
 * one, so that no later step goes through them again. */
static bool walk_ends(struct walk *walk, bool *trailing_slash)
{
    *trailing_slash = false;
    for (unsigned i = 0; i <= walk->depth; i++) {
        struct path_span *remaining = &walk->stack[i];
        bool slashes = remaining->at < remaining->end;

        lock_work_step();
        *trailing_slash |= slashes;
        slashes_skip(remaining);
        if (remaining->at < remaining->end)
            return false;
        remaining->at -= slashes;
    }
    return true;
}

static bool has_follow(const struct inode *inode)
{
    return inode->operations && inode->operations->follow;
}

bool tree_entry_visible(const struct directory_entry *entry)
{
    struct inode *target;
    uint32_t tid = 0;

    return !has_follow(entry->inode) ||
           entry->inode->operations->follow(entry->inode, &target, &tid) != -ENOENT;
}

static bool has_numbered(const struct inode *directory)
{
    return directory->operations && directory->operations->find_numbered;
}

static struct directory_entry *entry_of(const struct inode *directory, struct path_span name, uint32_t *tid)
{
    struct directory_entry *entry = tree_entry_find(directory, name);

    if (!entry && has_numbered(directory))
        return directory->operations->find_numbered(directory, name.at, span_bytes(name), tid);
    return entry && tree_entry_visible(entry) ? entry : NULL;
}

/* Takes one step, from found->directory to `component`. */
static int step(const struct tree *tree, struct path_span component, struct path_lookup *found)
{
    struct inode *directory = found->directory;

    found->entry = NULL;
    found->name = component.at;
    found->name_bytes = (uint32_t)span_bytes(component);
    if (span_bytes(component) > TREE_NAME_MAX)
        return -ENAMETOOLONG;
    if (component_is(component, ".", 1)) {
        found->last = TREE_LAST_DOT;
        found->inode = directory;
    } else if (component_is(component, "..", 2)) {
        found->last = TREE_LAST_DOTDOT;
        found->inode = tree_parent(tree, directory);
        if (found->inode && has_numbered(found->inode))
            found->tid = 0;
    } else {
        found->last = TREE_LAST_NAME;
        found->entry = entry_of(directory, component, &found->tid);
        found->inode = found->entry ? found->entry->inode : NULL;
    }
    return found->inode ? 0 : -ENOENT;
}

/* Pushes a symbolic link's target on the stack; sets the inode that it starts from, and its tid. */
static int link_enter(struct walk *walk, const struct inode *link, struct inode **start, uint32_t *tid)
{
    const char *target = link->data;

    if (walk->followed++ == TREE_SYMLINKS_MAX)
        return -ELOOP;
    if (has_follow(link))
        return link->operations->follow(link, start, tid);
    if (link->bytes == 0)
        return -ENOENT;
    walk->target_bytes += link->bytes;
    if (walk->target_bytes >= TREE_PATH_MAX) /* the lock is held for all of them together */
        return -ENAMETOOLONG;
    walk->stack[++walk->depth] = (struct path_span){ target, target + link->bytes };
    if (*target == '/')
        *start = walk->tree->root;
    return 0;
}

/* Leaves the tree with what has not been walked yet: each link's target before what comes after the link. The
 * path itself may be in `rest`; it is the first that moves to the end there. */
static int walk_leave(struct walk *walk, struct inode *inode, struct path_lookup *found)
{
    if (!walk->rest)
        return -EXDEV;

    char *const rest = walk->rest, *const end = rest + TREE_PATH_MAX - 1;
    char *start = end, *first;
    for (unsigned i = 0; i <= walk->depth; i++) {
        size_t bytes = span_bytes(walk->stack[i]);

        lock_work_step();
        if (bytes >= (size_t)(start - rest))
            return -ENAMETOOLONG;
        if (bytes && start < end)
            *--start = '/';
        start -= bytes;
        memmove(start, walk->stack[i].at, bytes);
    }
    *end = '\0';
    for (first = start; *first == '/'; first++)
        ;
    memmove(rest, first, (size_t)(end - first) + 1);
    *found =
        (struct path_lookup){ .inode = inode, .followed = walk->followed, .trailing_slash = first > start };
    return TREE_LEFT;
}

/* Walks from `start`; sets *found only if it reaches the last component. */
static int walk_run(struct walk *walk, struct inode *start, uint32_t tid, enum tree_follow follow,
                    struct path_lookup *found)
{
    struct path_lookup at = { .inode = start, .directory = start, .tid = tid, .last = TREE_LAST_ROOT };

    for (;;) {
        struct path_span *remaining = &walk->stack[walk->depth];

        lock_work_step();
        if (at.inode->mount)
            return walk_leave(walk, at.inode, found);
        if (remaining->at == remaining->end) {
            if (walk->depth-- > 0)
                continue;
            *found = at;
            return 0;
        }
        if (!mode_is(at.inode->mode, S_IFDIR))
            return -ENOTDIR;
        struct path_span component = component_next(remaining);
        if (component.at == component.end)
            continue; /* slashes after a directory */
        at.directory = at.inode;
        int error = step(walk->tree, component, &at);
        bool last = walk_ends(walk, &at.trailing_slash);

        if (error == -ENOENT && last && at.last == TREE_LAST_NAME)
            *found = at; /* only this component is missing */
        if (error)
            return error;
        if (last && follow == TREE_NAME) {
            *found = at;
            return 0;
        }
        if (!mode_is(at.inode->mode, S_IFLNK) || (last && !at.trailing_slash && follow == TREE_NO_FOLLOW))
            continue;
        start = at.directory;
        tid = at.tid;
        error = link_enter(walk, at.inode, &start, &tid);
        if (error)
            return error;
        at = (struct path_lookup){ .inode = start, .directory = start, .tid = tid, .last = TREE_LAST_ROOT };
    }
}

int tree_find_span(const struct tree *tree, struct inode *directory, uint32_t tid, struct path_span path,
                   char *rest, enum tree_follow follow, struct path_lookup *found)
{
    struct walk walk = { .tree = tree, .stack = { path }, .rest = rest };

    *found = (struct path_lookup){ 0 };
    if (path.at == path.end)
        return -ENOENT;
    if (span_bytes(path) >= TREE_PATH_MAX)
        return -ENAMETOOLONG;
    bool absolute = *path.at == '/';
    return walk_run(&walk, absolute ? tree->root : directory, absolute ? 0 : tid, follow, found);
}

int tree_find_from(const struct tree *tree, struct inode *directory, uint32_t tid, char *path,
                   enum tree_follow follow, struct path_lookup *found)
{
    struct path_span span = { path, path + strnlen(path, TREE_PATH_MAX) };

    return tree_find_span(tree, directory, tid, span, path, follow, found);
}

int tree_find(const struct tree *tree, struct inode *directory, const char *path, enum tree_follow follow,
              struct path_lookup *found)
{
    struct path_span span = { path, path + strnlen(path, TREE_PATH_MAX) };

    return tree_find_span(tree, directory, 0, span, NULL, follow, found);
}

struct inode *tree_parent(const struct tree *tree, const struct inode *directory)
{
    if (directory == tree->root)
        return tree->root;
    return directory->name ? directory->name->directory : NULL;
}

int64_t tree_path(const struct tree *tree, const struct inode *inode, char *buffer, size_t bytes)
{
    char *const end = buffer + bytes - 1;
    char *start = end; /* of what has been written so far, from the end */

    if (bytes < sizeof("/"))
        return -ERANGE;
    if (inode == tree->root)
        *--start = '/';
    for (const struct inode *at = inode; at != tree->root; at = at->name->directory) {
        lock_work_step();
        if (!at->name)
            return -ENOENT;
        if (at->name->name_bytes >= start - buffer) /* no matter how deep it is */
            return -ERANGE;
        start -= at->name->name_bytes;
        memcpy(start, at->name->name, at->name->name_bytes);
        *--start = '/';
    }
    *end = '\0';
    memmove(buffer, start, (size_t)(end - start) + 1);
    return end - start;
}
