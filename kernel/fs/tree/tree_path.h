/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tree_path.h: stretches of a path and their components, for the files of the tree (tree.h) alone.
 */
#ifndef TACET_TREE_PATH_H
#define TACET_TREE_PATH_H

#include "lib/kstring.h"
#include "fs/tree/tree.h"

/* A stretch of a path that has not been walked yet. */
struct rest {
    const char *at, *end;
};

static inline void slashes_skip(struct rest *rest)
{
    while (rest->at < rest->end && *rest->at == '/')
        rest->at++;
}

/* Cuts the next component off; empty at the end. */
static inline struct rest component_next(struct rest *rest)
{
    struct rest component;

    slashes_skip(rest);
    component.at = rest->at;
    while (rest->at < rest->end && *rest->at != '/')
        rest->at++;
    component.end = rest->at;
    return component;
}

static inline bool component_is(struct rest component, const char *text)
{
    size_t bytes = (size_t)(component.end - component.at);

    return bytes == strlen(text) && memcmp(component.at, text, bytes) == 0;
}

/* tree_find for a path that does not end in a NUL. tree_lookup.c */
int tree_find_rest(const struct tree *tree, struct inode *directory, struct rest path,
                   enum tree_follow follow, struct tree_place *place);

/* The entry of that name, or NULL. tree_lookup.c */
struct directory_entry *tree_entry_find(const struct inode *directory, struct rest name);

#endif
