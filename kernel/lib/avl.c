/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * avl.c: see avl.h. A change goes down from the root once, noting the links on its way, and back up along
 * them, balancing each subtree and making its summary again, until one has not changed.
 */
#include "lib/avl.h"
#include "lib/list.h"
#include <stddef.h>

#define HEIGHT_MAX 64 /* 1.44 times 40, for 2^40 members, one a page */

struct way {
    struct avl_node **links[HEIGHT_MAX];
    unsigned count;
};

static unsigned height(const struct avl_node *node)
{
    return node ? node->height : 0;
}

static bool node_update(struct avl_node *node, unsigned left, unsigned right, avl_summarise *summarise)
{
    unsigned old = node->height;

    SELF_CHECK(!node->child[0] || node->child[0]->key <= node->key);
    SELF_CHECK(!node->child[1] || node->child[1]->key >= node->key);
    node->height = 1 + (left > right ? left : right);
    return (summarise && summarise(node)) || node->height != old;
}

/* Puts the child on `side` in the place of its parent, which becomes its child on the other side. */
static void rotate(struct avl_node **link, unsigned side, avl_summarise *summarise)
{
    struct avl_node *parent = *link, *child = parent->child[side];

    parent->child[side] = child->child[!side];
    child->child[!side] = parent;
    *link = child;
    node_update(parent, height(parent->child[0]), height(parent->child[1]), summarise);
    node_update(child, height(child->child[0]), height(child->child[1]), summarise);
}

/* Balances two subtrees whose heights differ by two at most, and by one afterwards. Returns whether anything
 * changes. */
static bool balance(struct avl_node **link, avl_summarise *summarise)
{
    struct avl_node *node = *link;
    unsigned left = height(node->child[0]), right = height(node->child[1]), high = right > left;

    if (left <= right + 1 && right <= left + 1)
        return node_update(node, left, right, summarise);

    struct avl_node *child = node->child[high];
    if (height(child->child[!high]) > height(child->child[high]))
        rotate(&node->child[high], !high, summarise);
    rotate(link, high, summarise);
    return true;
}

/* Goes back up the way. It may end early only at the first `own` links: at or above the others there is a
 * member whose summary is that of another place. */
static void way_back(struct way *way, unsigned own, avl_summarise *summarise)
{
    while (way->count > 0)
        if (!balance(way->links[--way->count], summarise) && way->count < own)
            return;
}

/* Goes down to the link to `node`, or to where it belongs. All links before it are on the way. */
static struct avl_node **way_down(struct way *way, struct avl_node **root, const struct avl_node *node)
{
    struct avl_node **link = root;

    for (way->count = 0; *link && *link != node; link = &(*link)->child[node->key > (*link)->key])
        way->links[way->count++] = link;
    return link;
}

void avl_insert(struct avl_node **root, struct avl_node *node, avl_summarise *summarise)
{
    struct way way;
    struct avl_node **link = way_down(&way, root, node);

    node->child[0] = node->child[1] = NULL;
    *link = node;
    node_update(node, 0, 0, summarise);
    way_back(&way, way.count, summarise);
}

void avl_remove(struct avl_node **root, struct avl_node *node, avl_summarise *summarise)
{
    struct way way;
    struct avl_node **link = way_down(&way, root, node), **next, *successor;

    SELF_CHECK(*link == node);
    if (!node->child[0] || !node->child[1]) {
        *link = node->child[node->child[1] != NULL];
        way_back(&way, way.count, summarise);
        return;
    }

    /* The successor takes its place. The way leads on through the place, and so through the successor. */
    way.links[way.count++] = link;
    unsigned at = way.count;
    for (next = &node->child[1]; (*next)->child[0]; next = &(*next)->child[0])
        way.links[way.count++] = next;
    successor = *next;
    *next = successor->child[1];
    successor->child[0] = node->child[0];
    successor->child[1] = node->child[1];
    *link = successor;
    if (way.count > at)
        way.links[at] = &successor->child[1];
    way_back(&way, at - 1, summarise);
}

void avl_replace(struct avl_node **root, struct avl_node *node, struct avl_node *with,
                 avl_summarise *summarise)
{
    struct way way;
    struct avl_node **link = way_down(&way, root, node);

    *link = with;
    way.links[way.count++] = link;
    way_back(&way, way.count, summarise);
}

void avl_neighbours(struct avl_node *root, uint64_t key, void *below, void *above)
{
    struct avl_node *found[2] = { NULL, NULL };

    for (struct avl_node *node = root; node;) {
        bool is_below = node->key < key;

        found[!is_below] = node;
        node = node->child[is_below];
    }
    *(struct avl_node **)below = found[0];
    *(struct avl_node **)above = found[1];
}

void *avl_neighbour(struct avl_node *root, uint64_t key, bool above)
{
    void *found[2];

    avl_neighbours(root, key, &found[0], &found[1]);
    return found[above];
}
