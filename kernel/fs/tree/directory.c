/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * directory.c: the entries of a directory (tree.h). They stand in two treaps, binary search trees in which
 * each node has a higher priority than those below it: one is ordered by names, for lookups, one by
 * positions, for readers. Priorities are pseudo-random, and programs do not know the secret that they are
 * computed with; so no choice of names makes a treap deeper than some multiple of log2(entries), and each
 * function here takes that many steps [Seidel and Aragon 1996]. Runs with the tree's lock, or while the tree
 * is built.
 */
#include "fs/tree/path_span.h"

static int name_compare(const struct directory_entry *entry, const char *name, size_t bytes)
{
    if (entry->name_bytes != bytes)
        return entry->name_bytes < bytes ? -1 : 1;
    return memcmp(entry->name, name, bytes);
}

struct directory_entry *tree_entry_find(const struct inode *directory, struct path_span name)
{
    struct directory_entry *entry = directory->entries[BY_NAME];
    int order;

    for (; entry && (order = name_compare(entry, name.at, span_bytes(name))) != 0;
         entry = entry->below[BY_NAME][order < 0])
        ;
    return entry;
}

struct directory_entry *tree_entry_at(const struct inode *directory, uint64_t position)
{
    struct directory_entry *entry = directory->entries[BY_POSITION], *found = NULL;

    while (entry) {
        bool before = entry->position < position;

        found = before ? found : entry;
        entry = entry->below[BY_POSITION][before];
    }
    return found;
}

/* ---- Treaps ---- */

static uint64_t priority(const struct tree *tree, const struct directory_entry *entry)
{
    const uint64_t odd = 0x9e3779b97f4a7c15; /* 2^64 divided by the golden ratio */
    uint64_t mixed = (entry->position + tree->secret) * odd;

    mixed = (mixed ^ mixed >> 32 ^ tree->secret) * odd;
    return mixed ^ mixed >> 32;
}

/* Returns whether entry `a` comes before `b`. While a name is replaced it has two entries: the older one
 * comes first. */
static bool comes_before(const struct directory_entry *a, const struct directory_entry *b,
                         enum directory_order order)
{
    int names = order == BY_NAME ? name_compare(a, b->name, b->name_bytes) : 0;

    return names ? names < 0 : a->position < b->position;
}

/* Inserts an entry above all that have a lower priority, which are split into those before it and those after
 * it. */
static void treap_insert(const struct tree *tree, struct directory_entry *entry, enum directory_order order)
{
    struct directory_entry **link = &entry->directory->entries[order];
    struct directory_entry **ends[2] = { &entry->below[order][0], &entry->below[order][1] };
    uint64_t own = priority(tree, entry);

    for (; *link && priority(tree, *link) >= own;
         link = &(*link)->below[order][comes_before(*link, entry, order)])
        ;
    for (struct directory_entry *rest = *link; rest;) {
        bool after = !comes_before(rest, entry, order);

        *ends[after] = rest;
        ends[after] = &rest->below[order][!after];
        rest = *ends[after];
    }
    *ends[0] = *ends[1] = NULL;
    *link = entry;
}

/* Removes an entry: merges what is below it, and puts the result into its place. */
static void treap_remove(const struct tree *tree, struct directory_entry *entry, enum directory_order order)
{
    struct directory_entry **link = &entry->directory->entries[order];
    struct directory_entry *parts[2] = { entry->below[order][0], entry->below[order][1] };

    for (; *link != entry; link = &(*link)->below[order][comes_before(*link, entry, order)])
        ;
    while (parts[0] && parts[1]) {
        bool upper = priority(tree, parts[1]) > priority(tree, parts[0]);

        *link = parts[upper];
        link = &parts[upper]->below[order][!upper];
        parts[upper] = *link;
    }
    *link = parts[0] ? parts[0] : parts[1];
}

/* ---- Adding, removing ---- */

struct directory_entry *tree_entry_add(struct tree *tree, struct inode *directory, struct inode *inode,
                                       const char *name, uint32_t name_bytes, bool copy)
{
    struct directory_entry *entry = tree_allocate(tree, sizeof(*entry) + (copy ? name_bytes : 0));

    if (!entry)
        return NULL;
    entry->inode = inode;
    entry->directory = directory;
    entry->name = copy ? memcpy(entry + 1, name, name_bytes) : name;
    entry->name_bytes = (uint8_t)name_bytes;
    entry->position = directory->next_position++ & TREE_POSITION_MAX;
    treap_insert(tree, entry, BY_NAME);
    treap_insert(tree, entry, BY_POSITION);
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

    treap_remove(tree, entry, BY_NAME);
    treap_remove(tree, entry, BY_POSITION);
    inode->links--;
    if (inode->name == entry)
        inode->name = NULL;
    if (mode_is(inode->mode, S_IFDIR)) {
        inode->links--;
        entry->directory->links--;
    }
    tree_free(tree, entry, sizeof(*entry) + (copied ? entry->name_bytes : 0));
}
