/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tree_cells.c: the memory of the file tree (tree.h): cells of some sizes, cut from pages; free ones of a
 * size are a list in themselves. A page that was cut stays cut; its cells serve the tree for ever. With the
 * tree's lock, or before there is a second CPU.
 */
#include "lib/kstring.h"
#include "fs/tree/tree.h"

#define CELL_STEP  64
#define CELL_MAX   ((size_t)CELL_STEP * TREE_CELL_CLASSES)
#define PAGE_BYTES 4096

struct free_cell {
    struct free_cell *next;
};

/* What a cell for so many bytes costs, with its share of what is lost at the page's end. */
#define CELL_BYTES(bytes) (((bytes) + CELL_STEP - 1) / CELL_STEP * CELL_STEP)
#define CELL_COST(bytes) \
    ((PAGE_BYTES + PAGE_BYTES / CELL_BYTES(bytes) - 1) / (PAGE_BYTES / CELL_BYTES(bytes)))

_Static_assert(CELL_COST(sizeof(struct directory_entry)) + CELL_COST(sizeof(struct inode)) <=
                   TREE_ENTRY_BYTES_MAX,
               "TREE_ENTRY_BYTES_MAX is too small");

/* Index of the list of cells of that size; the last one is that of whole pages. */
static unsigned class_of(size_t bytes)
{
    return bytes > CELL_MAX ? TREE_CELL_CLASSES : (unsigned)((bytes + CELL_STEP - 1) / CELL_STEP - 1);
}

static void cell_push(struct tree *tree, unsigned class, void *cell)
{
    ((struct free_cell *)cell)->next = tree->cells[class];
    tree->cells[class] = cell;
}

static void *cell_pop(struct tree *tree, unsigned class)
{
    struct free_cell *cell = tree->cells[class];

    if (cell)
        tree->cells[class] = cell->next;
    return cell;
}

void *tree_cell_take(struct tree *tree, size_t bytes)
{
    unsigned class = class_of(bytes);
    size_t cell_bytes = class == TREE_CELL_CLASSES ? PAGE_BYTES : (class + 1) * (size_t)CELL_STEP;
    char *cell = cell_pop(tree, class);

    if (!cell) {
        char *page = cell_pop(tree, TREE_CELL_CLASSES);

        if (!page)
            page = tree->page_take(tree->context);
        if (!page)
            return NULL;
        cell = page;
        for (size_t at = PAGE_BYTES / cell_bytes * cell_bytes - cell_bytes; at > 0; at -= cell_bytes)
            cell_push(tree, class, page + at);
    }
    memset(cell, 0, cell_bytes);
    return cell;
}

void tree_cell_give(struct tree *tree, void *cell, size_t bytes)
{
    cell_push(tree, class_of(bytes), cell);
}

struct inode *inode_create(struct tree *tree, uint32_t mode)
{
    struct inode *inode = tree_cell_take(tree, sizeof(*inode));

    if (!inode)
        return NULL;
    tree->inode_count++;
    inode->mode = mode;
    inode->number = ++tree->last_number;
    inode->positions = 2; /* those of "." and ".." are 0 and 1 */
    return inode;
}

void inode_free(struct tree *tree, struct inode *inode)
{
    if (tree->inode_end)
        tree->inode_end(inode);
    if (inode->is_copied)
        tree_cell_give(tree, (void *)(uintptr_t)inode->data, inode->bytes);
    tree->inode_count--;
    tree_cell_give(tree, inode, sizeof(*inode));
}

struct directory_entry *tree_entry_add(struct tree *tree, struct inode *directory, struct inode *inode,
                                       const char *name, uint32_t name_bytes, bool copy)
{
    struct directory_entry *entry = tree_cell_take(tree, sizeof(*entry) + (copy ? name_bytes : 0));

    if (!entry)
        return NULL;
    entry->inode = inode;
    entry->directory = directory;
    entry->name = name;
    entry->name_bytes = name_bytes;
    entry->name_copied = copy;
    if (copy) {
        memcpy(entry + 1, name, name_bytes);
        entry->name = (const char *)(entry + 1);
    }
    entry->position = directory->positions++;
    if (directory->last)
        directory->last->next = entry;
    else
        directory->child = entry;
    directory->last = entry;
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

/* Which other names the inode has would be a search: tree_path tells none of them from now on. */
void tree_entry_remove(struct tree *tree, struct directory_entry *entry)
{
    struct inode *directory = entry->directory, *inode = entry->inode;
    struct directory_entry **link = &directory->child, *before = NULL;

    while (*link != entry) {
        before = *link;
        link = &before->next;
    }
    *link = entry->next;
    if (directory->last == entry)
        directory->last = before;
    inode->links--;
    if (inode->name == entry)
        inode->name = NULL;
    if (mode_is(inode->mode, S_IFDIR)) {
        inode->links--;
        directory->links--;
    }
    tree_cell_give(tree, entry, sizeof(*entry) + (entry->name_copied ? entry->name_bytes : 0));
}
