/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_tree.c: the input is lines up to an empty line, then a cpio archive. The archive becomes a tree, whose
 * shape is checked. The lines, and the path of every inode, are looked up in it. Then all inodes are made
 * writable, and each line changes the tree: its length chooses the change, which uses the line's path and
 * that of the line before. At the end the shape is checked again.
 */
#include "lib/errno.h"
#include "fuzz.h"
#include "fs/tree/path_span.h"

#define PAGES_MAX  256
#define PAGE_BYTES 4096

static _Alignas(PAGE_BYTES) char pages[PAGES_MAX][PAGE_BYTES];
static unsigned pages_used;
static volatile uint8_t sum;

void crosscall_serve(void) /* called while a lock is awaited, which does not happen here */
{
}

static void *page_allocate(void *context)
{
    (void)context; /* the pages are global here */
    return pages_used < PAGES_MAX ? memset(pages[pages_used++], 0x5a, PAGE_BYTES) : NULL;
}

/* What the walk through a tree has seen. */
static struct seen {
    const struct tree *tree;
    const uint8_t *data; /* the archive; NULL: names may be the tree's own */
    size_t bytes;
    uint64_t names, directories;
} seen;

static void promise_inside(const void *part, uint64_t part_bytes)
{
    if (part_bytes == 0 || !seen.data)
        return;
    PROMISE((const uint8_t *)part >= seen.data && part_bytes <= seen.bytes);
    PROMISE((const uint8_t *)part + part_bytes <= seen.data + seen.bytes);
}

static void promise_path(struct inode *inode)
{
    static char path[1 << 20];
    struct path_lookup found;
    int64_t length = tree_path(seen.tree, inode, path, sizeof(path));

    if (length == -ENOENT && inode->links > 0 && !mode_is(inode->mode, S_IFDIR))
        return; /* it has other names, but the one in inode->name was removed */
    PROMISE(length > 0 && (size_t)length == strlen(path));
    if (length < TREE_PATH_MAX) {
        PROMISE(tree_find(seen.tree, seen.tree->root, path, TREE_NO_FOLLOW, &found) == 0);
        PROMISE(found.inode == inode);
    }
}

static void promise_inode(struct inode *inode, unsigned depth)
{
    uint64_t subdirectories = 0, last_position = 0;

    PROMISE(depth < PAGES_MAX * PAGE_BYTES / 64);
    PROMISE(inode->link.key == 0);
    PROMISE(mode_is(inode->mode, S_IFDIR) || !inode->entries);
    if (!inode->data_copied)
        promise_inside(inode->data, inode->bytes);
    for (uint64_t i = 0; i < inode->bytes; i++)
        sum = sum + ((const uint8_t *)inode->data)[i];
    promise_path(inode);
    for (struct directory_entry *entry; (entry = tree_entry_at(inode, last_position + 1)) != NULL;) {
        struct path_span name = { entry->name, entry->name + entry->name_bytes };

        PROMISE(entry->directory == inode && entry->inode->links > 0);
        PROMISE(entry->node.key > last_position && entry->node.key >= 2);
        PROMISE(tree_entry_find(inode, name) == entry);
        PROMISE(entry->name_bytes > 0 && entry->name_bytes <= TREE_NAME_MAX);
        PROMISE(!memchr(entry->name, '/', entry->name_bytes));
        promise_inside(entry->name, entry->name == (const char *)(entry + 1) ? 0 : entry->name_bytes);
        last_position = entry->node.key;
        subdirectories += mode_is(entry->inode->mode, S_IFDIR);
        seen.names++;
        if (mode_is(entry->inode->mode, S_IFDIR))
            PROMISE(tree_parent(seen.tree, entry->inode) == inode && entry->inode->name == entry);
        promise_inode(entry->inode, depth + 1);
    }
    if (mode_is(inode->mode, S_IFDIR))
        PROMISE(inode->links == 2 + subdirectories);
}

static void promise_tree(const struct tree *tree, const uint8_t *data, size_t bytes)
{
    seen = (struct seen){ .tree = tree, .data = data, .bytes = bytes };
    promise_inode(tree->root, 0);
    PROMISE(tree->inode_count <= seen.names + 1);
}

static void writable_set(struct inode *inode)
{
    struct directory_entry *entry;

    inode->writable = true;
    for (uint64_t at = 0; (entry = tree_entry_at(inode, at)) != NULL; at = entry->node.key + 1)
        writable_set(entry->inode);
}

static void try_path(struct tree *tree, const char *path)
{
    enum tree_follow follow = strlen(path) % 2 == 0 ? TREE_FOLLOW : TREE_NO_FOLLOW;
    struct path_lookup found;
    int error = tree_find(tree, tree->root, path, follow, &found);

    PROMISE(error == 0 || error == -ENOENT || error == -ENOTDIR || error == -ELOOP || error == -ENAMETOOLONG);
    PROMISE(error || found.inode);
}

static bool can_create(int error, const struct path_lookup *found)
{
    return !error || (error == -ENOENT && found->directory);
}

static void try_change(struct tree *tree, const char *path, const char *before)
{
    struct path_lookup found, from;
    struct inode *inode;
    size_t what = strlen(path) % 9;
    int error = tree_find(tree, tree->root, path, TREE_NAME, &found);
    int from_error = tree_find(tree, tree->root, before, TREE_NAME, &from);

    if (what < 2 && can_create(error, &found))
        tree_create(tree, &found, S_IFDIR | 0755, NULL, 0, 1, &inode);
    else if (what == 2 && can_create(error, &found))
        tree_create(tree, &found, S_IFLNK | 0777, before, strlen(before), 1, &inode);
    else if (what == 3 && can_create(error, &found))
        tree_create(tree, &found, S_IFREG | 0644, NULL, 0, 1, &inode);
    else if (what == 4 && can_create(error, &found) && !from_error)
        tree_link(tree, from.inode, &found, 1);
    else if (what == 5 && can_create(error, &found) && !from_error)
        tree_rename(tree, &from, &found, before[0] % 2, 1);
    else if ((what == 6 || what == 7) && !error)
        tree_remove(tree, &found, what == 7, 1);
    else if (what == 8 && !error && !from_error)
        tree_exchange(tree, &from, &found, 1);
}

/* Looks the lines up, and changes the tree by them if `change`. Returns the offset of the archive. */
static size_t try_paths(struct tree *tree, const uint8_t *data, size_t bytes, bool change)
{
    static char path[TREE_PATH_MAX + 16], before[TREE_PATH_MAX + 16];
    before[0] = '\0';
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
            if (change)
                try_change(tree, path, before);
            memcpy(before, path, length + 1);
        }
        at += length + 1;
    }
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct tree tree = { .page_allocate = page_allocate };
    struct message why = { "" };
    size_t start = try_paths(NULL, data, bytes, false);
    /* In memory of its own size, so that the sanitizer detects reads beyond either end. */
    size_t archive_bytes = start < bytes ? bytes - start : 0;
    uint8_t *archive = malloc(archive_bytes + (archive_bytes == 0));

    memcpy(archive, data + (bytes - archive_bytes), archive_bytes);
    pages_used = 0;
    PROMISE(tree_initialise(&tree) == 0);
    int error = tree_add_archive(&tree, archive, archive_bytes, &why);
    PROMISE(error == 0 || error == -EINVAL || error == -ENOMEM);
    PROMISE(error == 0 || why.text[0] != '\0');
    promise_tree(&tree, archive, archive_bytes);
    try_paths(&tree, data, bytes, false);
    writable_set(tree.root);
    try_paths(&tree, data, bytes, true);
    promise_tree(&tree, NULL, 0);
    free(archive);
    return 0;
}
