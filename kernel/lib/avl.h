/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * avl.h: a balanced search tree [Adelson-Velsky and Landis 1962] whose links stand in its members, in the
 * order of their keys, no two of which are the same. Every function takes time logarithmic in the number of
 * members, and none allocates or recurses. A root that is NULL is an empty tree. The owner of the tree locks
 * it.
 *
 *      struct extent { struct avl_node node; … };          the node comes first
 *      for (struct extent *extent = avl_above(root, 0); extent; extent = avl_above(root, extent->node.key +
 * 1))
 *
 * A member may hold a summary of its subtree: `summarise`, given to each function that changes a tree,
 * computes it from the member itself and the summaries of its children, either of which may be NULL, and
 * returns whether it has changed. NULL: there are no summaries.
 */
#ifndef TACET_AVL_H
#define TACET_AVL_H

#include <stdbool.h>
#include <stdint.h>

struct avl_node {
    uint64_t key;
    struct avl_node *child[2]; /* with smaller keys, with greater keys */
    unsigned height;
};

typedef bool avl_summarise(struct avl_node *node);

void avl_insert(struct avl_node **root, struct avl_node *node, avl_summarise *summarise);
void avl_remove(struct avl_node **root, struct avl_node *node, avl_summarise *summarise);

/* Puts `with`, a copy of `node` whose key may have changed as long as the order stays, in place of `node`.
 * With `node` itself: brings the summaries up to date after it has changed. */
void avl_replace(struct avl_node **root, struct avl_node *node, struct avl_node *with,
                 avl_summarise *summarise);

/* Finds the member with the greatest key below `key`, and the one with the smallest at or above it; or NULL.
 * `below` and `above` are pointers to a pointer to the struct that begins with the node. */
void avl_neighbours(struct avl_node *root, uint64_t key, void *below, void *above);
/* Returns one of these. */
void *avl_neighbour(struct avl_node *root, uint64_t key, bool above);
#define avl_above(root, key) avl_neighbour(root, key, true)
#define avl_below(root, key) avl_neighbour(root, key, false)

#endif
