/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_tree.c: the input is paths, one per line up to an empty line, then a cpio archive. The archive becomes
 * a tree, whose shape is checked, and the paths and all nodes' own paths are looked up in it.
 */
#include "errno.h"
#include "fuzz.h"
#include "tree.h"

#define NODES_MAX 512

static struct tree_node nodes[NODES_MAX];
static unsigned nodes_used;
static volatile uint8_t sum;

static struct tree_node *allocate(void *context)
{
    (void)context; /* the nodes are global here */
    if (nodes_used == NODES_MAX)
        return NULL;
    memset(&nodes[nodes_used], 0, sizeof(nodes[0]));
    return &nodes[nodes_used++];
}

static void promise_inside(const void *part, uint64_t part_bytes, const uint8_t *data, size_t bytes)
{
    if (part_bytes == 0)
        return;
    PROMISE((const uint8_t *)part >= data && part_bytes <= bytes);
    PROMISE((const uint8_t *)part + part_bytes <= data + bytes);
}

static void promise_node(const struct tree *tree, struct tree_node *node, const uint8_t *data, size_t bytes)
{
    static char path[NODES_MAX * (TREE_NAME_MAX + 1) + 2];
    struct tree_node *found = NULL;
    unsigned depth = 0;

    promise_inside(node->name, node->name_bytes, data, bytes);
    promise_inside(node->data, node->bytes, data, bytes);
    PROMISE(node->link_key == 0 && node->link_next == NULL);
    PROMISE(node == tree->root || (node->name_bytes > 0 && node->name_bytes <= TREE_NAME_MAX));
    PROMISE(!memchr(node->name, '/', node->name_bytes));
    PROMISE((node->mode & S_IFMT) == S_IFDIR || node->child == NULL);
    for (const struct tree_node *at = node; at != tree->root; at = at->parent)
        PROMISE(++depth <= nodes_used);
    for (const struct tree_node *child = node->child; child; child = child->next) {
        PROMISE(child->parent == node);
        PROMISE(child->next || child == node->last);
    }
    for (uint64_t i = 0; i < node->bytes; i++)
        sum = sum + ((const uint8_t *)node->data)[i];

    int64_t length = tree_path(tree, node, path, sizeof(path));
    PROMISE(length > 0 && (size_t)length == strlen(path));
    if (length < TREE_PATH_MAX) {
        PROMISE(tree_lookup(tree, tree->root, path, false, &found) == 0);
        PROMISE(found == node);
    }
}

static void try_path(const struct tree *tree, const char *path)
{
    struct tree_node *start = &nodes[nodes_used / 2], *found = NULL;
    int error = tree_lookup(tree, start, path, strlen(path) % 2 == 0, &found);

    PROMISE(error == 0 || error == -ENOENT || error == -ENOTDIR || error == -ELOOP || error == -ENAMETOOLONG);
    PROMISE(error || (found >= nodes && found < nodes + nodes_used));
}

/* Looks the lines up; answers where the archive begins. */
static size_t try_paths(const struct tree *tree, const uint8_t *data, size_t bytes)
{
    static char path[TREE_PATH_MAX + 16];
    size_t at = 0;

    while (at < bytes) {
        const uint8_t *end = memchr(data + at, '\n', bytes - at);
        size_t length = end ? (size_t)(end - data) - at : bytes - at;

        if (length == 0)
            return at + 1;
        if (length < sizeof(path) && tree) {
            memcpy(path, data + at, length);
            path[length] = '\0';
            try_path(tree, path);
        }
        at += length + 1;
    }
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct tree tree = { .node_allocate = allocate };
    struct message why = { "" };
    size_t start = try_paths(NULL, data, bytes);
    /* Its own memory, so that the sanitizer sees a read beyond either end. */
    size_t archive_bytes = start < bytes ? bytes - start : 0;
    uint8_t *archive = malloc(archive_bytes + (archive_bytes == 0));

    memcpy(archive, data + (bytes - archive_bytes), archive_bytes);
    nodes_used = 0;
    PROMISE(tree_initialise(&tree) == 0);
    int error = tree_add_archive(&tree, archive, archive_bytes, &why);
    PROMISE(error == 0 || error == -EINVAL || error == -ENOMEM);
    PROMISE(error == 0 || why.text[0] != '\0');
    PROMISE(tree.node_count == nodes_used);
    for (unsigned i = 0; i < nodes_used; i++)
        promise_node(&tree, &nodes[i], archive, archive_bytes);
    try_paths(&tree, data, bytes);
    free(archive);
    return 0;
}
