/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * directory.c: the entries of a directory (tree.h), in a balanced tree (lib/avl.h) by their positions. An
 * entry's position is a hash of its name; of entries whose names have the same hash, at most SLOTS, each has
 * a position of its own. So each function here takes some multiple of log2(entries) steps, whatever the
 * names. Runs with the tree's lock, or while the tree is built.
 */
#include "fs/tree/path_span.h"

#define SLOTS 8

/* Returns the first position for a name [Fowler, Noll and Vo 1991]. */
static uint64_t position_of(const char *name, size_t bytes)
{
    uint64_t hash = 0xcbf29ce484222325;

    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (uint8_t)name[i]) * 0x100000001b3;
    return TREE_POSITION_MIN | hash % TREE_POSITION_MIN / SLOTS * SLOTS;
}

struct directory_entry *tree_entry_at(const struct inode *directory, uint64_t position)
{
    return avl_above(directory->entries, position);
}

struct directory_entry *tree_entry_find(const struct inode *directory, struct path_span name)
{
    uint64_t position = position_of(name.at, span_bytes(name)), end = position + SLOTS;
    struct directory_entry *entry;

    while ((entry = tree_entry_at(directory, position)) && entry->node.key < end) {
        if (component_is(name, entry->name, entry->name_bytes))
            return entry;
        position = entry->node.key + 1;
    }
    return NULL;
}

/* ---- Adding, removing ---- */

struct directory_entry *tree_entry_add(struct tree *tree, struct inode *directory, struct inode *inode,
                                       const char *name, uint32_t name_bytes, bool copy)
{
    uint64_t position = position_of(name, name_bytes), end = position + SLOTS;
    const struct directory_entry *other;
    struct directory_entry *entry = NULL;

    while ((other = tree_entry_at(directory, position)) && other->node.key == position)
        position++;
    if (position < end)
        entry = tree_allocate(tree, sizeof(*entry) + (copy ? name_bytes : 0));
    if (!entry)
        return NULL;
    entry->node.key = position;
    entry->inode = inode;
    entry->directory = directory;
    entry->name = copy ? memcpy(entry + 1, name, name_bytes) : name;
    entry->name_bytes = (uint8_t)name_bytes;
    avl_insert(&directory->entries, &entry->node, NULL);
    inode->links++;
    if (!inode->name) {
        inode->name = entry;
        inode->filesystem = directory->filesystem;
    }
    if (mode_is(inode->mode, S_IFDIR)) {
        inode->links++; /* its "." */
        directory->links++;
    }
    return entry;
}

/* Removes an entry. If that was its inode's `name`, the inode has none from now on, even if it has other
 * names, because finding one would be a search: tree_path answers -ENOENT. */
void tree_entry_remove(struct tree *tree, struct directory_entry *entry)
{
    struct inode *inode = entry->inode;
    bool copied = entry->name == (const char *)(entry + 1);

    avl_remove(&entry->directory->entries, &entry->node, NULL);
    inode->links--;
    if (inode->name == entry)
        inode->name = NULL;
    if (mode_is(inode->mode, S_IFDIR)) {
        inode->links--;
        entry->directory->links--;
    }
    tree_free(tree, entry, sizeof(*entry) + (copied ? entry->name_bytes : 0));
}

void tree_entry_redirect(struct directory_entry *entry, struct inode *inode)
{
    entry->inode->links--;
    if (entry->inode->name == entry)
        entry->inode->name = NULL;
    entry->inode = inode;
    inode->links++;
    if (!inode->name)
        inode->name = entry;
}
