/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * numbered.c: directories with numbered entries, which are the same inodes for all numbers: threads in
 * /proc/self/task, pids in /proc, CPUs and NUMA domains in /sys/devices/system. The lookup says which number
 * it has gone through (path_lookup.tid), and open files keep that. So a thousand CPUs take no more memory
 * than one.
 */
#include "fs/path.h"
#include "fs/proc/proc.h"
#include "lib/errno.h"
#include "lib/kstring.h"

/* Reads the name of an entry: the kind's name, and a number as Linux writes it. */
static struct directory_entry *numbered_find(const struct inode *directory, const char *name,
                                             size_t name_bytes, uint32_t *tid)
{
    const struct numbered *kind = directory->data;
    const size_t prefix = strlen(kind->name);
    uint32_t number = 0, at;

    if (name_bytes <= prefix || memcmp(name, kind->name, prefix) != 0)
        return NULL;
    for (size_t i = prefix; i < name_bytes; i++) {
        if (name[i] < '0' || name[i] > '9' || (number == 0 && i > prefix))
            return NULL;
        number = 10 * number + (uint32_t)(name[i] - '0');
        if (number >= TREE_NUMBERED)
            return NULL;
    }
    at = kind->first + number;
    if (!at || !arch_process() || (kind->first && kind->next(at) != at))
        return NULL;
    *tid = at;
    return kind->inode->name;
}

static const struct inode *numbered_next(const struct inode *directory, uint32_t *tid)
{
    const struct numbered *kind = directory->data;

    *tid = kind->next(*tid > kind->first ? *tid : kind->first);
    return *tid ? kind->inode : NULL;
}

static const struct inode_operations numbered_operations = { .find_numbered = numbered_find,
                                                             .next_numbered = numbered_next };

struct inode *numbered_add(struct tree *tree, const char *path, uint32_t mode, struct numbered *kind,
                           struct message *why)
{
    struct inode *directory = tree_add(tree, path, S_IFDIR | mode, NULL, 0, why);

    if (!directory)
        return NULL;
    kind->inode = inode_create(tree, kind->links ? S_IFLNK | 0700 : S_IFDIR | 0555);
    if (!kind->inode) {
        message_set(why, -ENOMEM, "file tree: no memory for the entries of \"%s\"", path);
        return NULL;
    }
    /* Not in the directory's tree. */
    kind->entry = (struct directory_entry){ .inode = kind->inode,
                                            .directory = directory,
                                            .name = kind->name,
                                            .name_bytes = (uint8_t)strlen(kind->name) };
    kind->inode->name = &kind->entry;
    kind->inode->links = kind->links ? 1 : 2;
    kind->inode->device = kind->links != NULL;
    kind->inode->operations = kind->links;
    kind->inode->filesystem = directory->filesystem;
    directory->operations = &numbered_operations;
    directory->data = kind;
    return directory;
}

/* Writes a path; see path.h: the number stands after the name that all numbers share. */
int64_t inode_path(const struct tree *tree, const struct inode *inode, uint32_t tid, char *text, size_t bytes)
{
    const struct inode *top = inode;
    char number[12];

    if (!tid)
        return inode->mount ? mount_path(tree, inode, text, bytes) : tree_path(tree, inode, text, bytes);
    while (top->name->directory->operations != &numbered_operations)
        top = top->name->directory;
    const int64_t start = tree_path(tree, top, text, bytes), length = tree_path(tree, inode, text, bytes);
    const size_t digits = format_text(number, sizeof(number), "%u", tree_number_of(tid));

    if (start < 0 || length < 0 || (size_t)length + digits >= bytes)
        return -ERANGE;
    memmove(text + start + digits, text + start, (size_t)(length - start) + 1);
    memcpy(text + start, number, digits);
    return length + (int64_t)digits;
}
