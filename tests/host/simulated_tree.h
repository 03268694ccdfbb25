/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * simulated_tree.h: a device tree in the test's memory, in place of the firmware's client interface
 * (arch/firmware.h). One program includes it once.
 */
#ifndef TACET_SIMULATED_TREE_H
#define TACET_SIMULATED_TREE_H

#include "arch/firmware.h"
#include "lib/bytes.h"
#include <stdlib.h>
#include <string.h>

#define TREE_NODES_MAX 2048
#define INSTANCE       0x10000 /* of a node, whose number is added */

struct tree_property {
    struct tree_property *next;
    const char *name;
    unsigned length;
    uint8_t bytes[];
};

/* Node 1 is the root; 0 is none. Links may lead anywhere. */
static struct tree_node {
    const char *name; /* with its address */
    firmware_node child, last_child, peer, parent;
    struct tree_property *properties;
} tree_nodes[TREE_NODES_MAX];
static firmware_node tree_count;

static inline void tree_put(firmware_node node, const char *name, const void *bytes, unsigned length)
{
    struct tree_property **at = &tree_nodes[node].properties;

    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    struct tree_property *property = malloc(sizeof(*property) + length), *next = *at ? (*at)->next : NULL;
    free(*at);
    *property = (struct tree_property){ next, name, length };
    if (length)
        memcpy(property->bytes, bytes, length);
    *at = property;
}

static inline void tree_remove(firmware_node node, const char *name)
{
    for (struct tree_property **at = &tree_nodes[node].properties; *at; at = &(*at)->next) {
        struct tree_property *property = *at;

        if (strcmp(property->name, name) == 0) {
            *at = property->next;
            free(property);
            return;
        }
    }
}

static inline void tree_text(firmware_node node, const char *name, const char *text)
{
    tree_put(node, name, text, (unsigned)strlen(text) + 1);
}

/* As many cells as there are numbers. */
#define tree_cells(node, name, ...) \
    tree_cells_put(node, name, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4, (const uint32_t[]){ __VA_ARGS__ })
static inline void tree_cells_put(firmware_node node, const char *name, unsigned count, const uint32_t *cells)
{
    uint8_t *bytes = malloc(4 * (size_t)count);

    for (unsigned i = 0; i < count; i++)
        store_be(bytes + 4 * i, 4, cells[i]);
    tree_put(node, name, bytes, 4 * count);
    free(bytes);
}

static inline firmware_node tree_node(firmware_node parent, const char *name)
{
    const firmware_node node = ++tree_count;
    char plain[64];

    tree_nodes[node].name = name;
    tree_nodes[node].parent = parent;
    if (parent) {
        struct tree_node *above = &tree_nodes[parent];

        if (above->last_child)
            tree_nodes[above->last_child].peer = node;
        else
            above->child = node;
        above->last_child = node;
    }
    strncpy(plain, name, sizeof(plain) - 1);
    plain[sizeof(plain) - 1] = '\0';
    plain[strcspn(plain, "@")] = '\0';
    tree_text(node, "name", plain);
    return node;
}

static inline void tree_begin(void)
{
    for (firmware_node node = 0; node <= tree_count; node++)
        while (tree_nodes[node].properties)
            tree_remove(node, tree_nodes[node].properties->name);
    memset(tree_nodes, 0, sizeof(tree_nodes));
    tree_count = 0;
    tree_node(0, "");
}

/* Returns a child of the root, with or without the address in its name. */
firmware_node firmware_find(const char *path)
{
    if (strcmp(path, "/") == 0)
        return tree_count ? 1 : 0;
    for (firmware_node node = 1; node <= tree_count; node++)
        if (tree_nodes[node].parent == 1 && strcmp(tree_nodes[node].name, path + 1) == 0)
            return node;
    return 0;
}

firmware_node firmware_child(firmware_node node)
{
    return tree_nodes[node].child;
}

firmware_node firmware_peer(firmware_node node)
{
    return tree_nodes[node].peer;
}

firmware_node firmware_package(uint32_t instance)
{
    return instance > INSTANCE && instance - INSTANCE <= tree_count ? instance - INSTANCE : 0;
}

int firmware_property(firmware_node node, const char *name, void *to, unsigned room)
{
    for (const struct tree_property *at = tree_nodes[node].properties; at; at = at->next)
        if (strcmp(at->name, name) == 0) {
            if (at->length)
                memcpy(to, at->bytes, at->length < room ? at->length : room);
            return (int)at->length;
        }
    return -1;
}

#endif
