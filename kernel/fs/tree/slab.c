/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slab.c: the memory of the file tree (tree.h), and the inodes made of it: a slab allocator with one free
 * list for each size class. A block that was cut into objects stays cut: the tree reuses its objects, but
 * never returns it. Runs with the tree's lock, or while the tree is built. Finding a page is a search whose
 * length a program can choose; so it comes before the lock.
 */
#include "debug/stop.h"
#include "lib/kstring.h"
#include "fs/tree/tree.h"
#include "arch/platform.h"

#define CLASS_STEP      64
#define CLASS_BYTES_MAX ((size_t)CLASS_STEP * TREE_SIZE_CLASSES)
#define BLOCK_BYTES     4096 /* what objects are cut from; a page has one or several */
#define ADDED_BLOCKS    3    /* for what a call adds: an inode, its symbolic link's target, its name */

struct free_object {
    struct free_object *next;
};

/* What an allocation costs, with its share of what is lost at the block's end. */
#define OBJECT_BYTES(bytes) (((bytes) + CLASS_STEP - 1) / CLASS_STEP * CLASS_STEP)
#define OBJECT_COST(bytes) \
    ((BLOCK_BYTES + BLOCK_BYTES / OBJECT_BYTES(bytes) - 1) / (BLOCK_BYTES / OBJECT_BYTES(bytes)))

_Static_assert(sizeof(struct directory_entry) == CLASS_STEP, "an entry is one object");
_Static_assert(OBJECT_COST(sizeof(struct directory_entry)) + OBJECT_COST(sizeof(struct inode)) <=
                   TREE_ENTRY_BYTES_MAX,
               "TREE_ENTRY_BYTES_MAX is too small");

/* Returns the free list for objects of that size; the last list is that of whole blocks. */
static unsigned class_of(size_t bytes)
{
    return bytes > CLASS_BYTES_MAX ? TREE_SIZE_CLASSES
                                   : (unsigned)((bytes + CLASS_STEP - 1) / CLASS_STEP - 1);
}

#ifdef LOCKCHECK
/* In a kernel that checks itself, a free object is full of these bytes until it is allocated. */
#define FREED 0xdb
static void poison(struct free_object *object, size_t bytes)
{
    memset(object + 1, FREED, bytes - sizeof(*object));
}

static void poison_check(const struct free_object *object, size_t bytes)
{
    for (const unsigned char *at = (const void *)(object + 1); at < (const unsigned char *)object + bytes;
         at++)
        if (*at != FREED)
            node_stop(STOP_PANIC, "%#lx of the file tree was written, at +%lu, after it had been freed",
                      (uint64_t)object, (uint64_t)(at - (const unsigned char *)object));
}
#else
#define poison(object, bytes)       ((void)(bytes))
#define poison_check(object, bytes) ((void)(bytes))
#endif

static size_t class_object_bytes(unsigned class)
{
    return class == TREE_SIZE_CLASSES ? BLOCK_BYTES : (class + 1) * (size_t)CLASS_STEP;
}

static void object_push(struct tree *tree, unsigned class, void *object)
{
    poison(object, class_object_bytes(class));
    ((struct free_object *)object)->next = tree->free_lists[class];
    tree->free_lists[class] = object;
    tree->free_blocks += class == TREE_SIZE_CLASSES;
}

static void *object_pop(struct tree *tree, unsigned class)
{
    struct free_object *object = tree->free_lists[class];

    if (object) {
        poison_check(object, class_object_bytes(class));
        tree->free_lists[class] = object->next;
        tree->free_blocks -= class == TREE_SIZE_CLASSES;
    }
    return object;
}

static void page_push(struct tree *tree, char *page)
{
    for (size_t at = ARCH_PAGE; at > 0; at -= BLOCK_BYTES)
        object_push(tree, TREE_SIZE_CLASSES, page + at - BLOCK_BYTES);
}

/* Cuts a block into objects: returns the first, and puts the others into their free list. Returns NULL if
 * there is no block. */
static char *block_cut(struct tree *tree, unsigned class, size_t object_bytes)
{
    char *page = NULL, *block;

    if (!tree->free_lists[TREE_SIZE_CLASSES] && !tree->lock.held) /* while the tree is built */
        page = tree->page_allocate(tree->context);
    if (page)
        page_push(tree, page);
    block = object_pop(tree, TREE_SIZE_CLASSES);
    for (size_t at = BLOCK_BYTES / object_bytes * object_bytes; block && (at -= object_bytes) > 0;)
        object_push(tree, class, block + at);
    return block;
}

void tree_lock_to_add(struct tree *tree)
{
    spin_lock(&tree->lock);
    while (tree->free_blocks < ADDED_BLOCKS) {
        spin_unlock(&tree->lock);
        void *page = tree->page_allocate(tree->context);
        spin_lock(&tree->lock);
        if (!page) /* the blocks that there are may suffice, and the caller may not add anything */
            return;
        page_push(tree, page);
    }
}

void *tree_allocate(struct tree *tree, size_t bytes)
{
    unsigned class = class_of(bytes);
    size_t object_bytes = class_object_bytes(class);
    char *object = object_pop(tree, class);

    if (!object)
        object = block_cut(tree, class, object_bytes);
    return object ? memset(object, 0, object_bytes) : NULL;
}

void tree_free(struct tree *tree, void *memory, size_t bytes)
{
    object_push(tree, class_of(bytes), memory);
}

struct inode *inode_create(struct tree *tree, uint32_t mode)
{
    struct inode *inode = tree_allocate(tree, sizeof(*inode));

    if (!inode)
        return NULL;
    tree->inode_count++;
    inode->mode = mode;
    inode->number = ++tree->last_number;
    return inode;
}

void inode_free(struct tree *tree, struct inode *inode)
{
    watches_end(tree, inode);
    if (tree->inode_release)
        tree->inode_release(inode);
    if (inode->data_copied)
        tree_free(tree, (void *)(uintptr_t)inode->data, inode->bytes);
    tree->inode_count--;
    tree_free(tree, inode, sizeof(*inode));
}
