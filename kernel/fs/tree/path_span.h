/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path_span.h: parts of a path, not NUL-terminated, for the source files of the tree (tree.h), and
 * names that are no paths. Any context.
 */
#ifndef TACET_PATH_SPAN_H
#define TACET_PATH_SPAN_H

#include "lib/kstring.h"
#include "fs/tree/tree.h"

/* One component, or all of a path that has not been walked yet. */
struct path_span {
    const char *at, *end;
};

static inline size_t span_bytes(struct path_span span)
{
    return (size_t)(span.end - span.at);
}

static inline void slashes_skip(struct path_span *remaining)
{
    while (remaining->at < remaining->end && *remaining->at == '/')
        remaining->at++;
}

/* Cuts the next component off; empty at the end. */
static inline struct path_span component_next(struct path_span *remaining)
{
    struct path_span component;

    slashes_skip(remaining);
    component.at = remaining->at;
    while (remaining->at < remaining->end && *remaining->at != '/')
        remaining->at++;
    component.end = remaining->at;
    return component;
}

static inline bool component_is(struct path_span component, const char *text, size_t bytes)
{
    return span_bytes(component) == bytes && memcmp(component.at, text, bytes) == 0;
}

/* Looks up a path as tree_find_from, but the path need not end in a NUL. Writes to `rest` the rest of a path
 * that leads to a mount; -EXDEV if `rest` is NULL. lookup.c */
int tree_find_span(const struct tree *tree, struct inode *directory, uint32_t tid, struct path_span path,
                   char *rest, enum tree_follow follow, struct path_lookup *found);

/* Finds the entry of that name, or NULL. directory.c */
struct directory_entry *tree_entry_find(const struct inode *directory, struct path_span name);

#endif
