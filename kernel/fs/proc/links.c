/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc_links.c: links of /proc that are others for each process that looks, proc(5): in /proc/self/fd one for
 * each of its open descriptors; and its pid, which leads to /proc/self.
 *
 * The tree has a link for every descriptor and every pid that any process could have; which of them are
 * there, what they say and where they lead is asked anew each time (tree.h: link_follow). Opening one opens
 * its file once more, for as far as that has a place in the tree: what a pipe's end leads to is nothing that
 * could be opened, ENXIO. With the tree's lock, under which an inode that a descriptor keeps cannot go.
 */
#include "arch.h"
#include "lib/errno.h"
#include "lib/format.h"
#include "lib/kstring.h"
#include "lib/linux_abi.h"
#include "fs/proc/proc.h"
#include "process/process.h"
#include "mm/memplan.h"

/* inode.device of descriptor 0's link, of the first rank's pid's, and behind the last one's. */
#define DEVICE_FD    0x10000U
#define DEVICE_PID   (DEVICE_FD + FILE_DESCRIPTORS_MAX)
#define DEVICE_AFTER (DEVICE_PID + MEMPLAN_RANKS_MAX)

static struct inode *self;

static bool is_pid(const struct inode *link)
{
    return link->device >= DEVICE_PID && link->device < DEVICE_AFTER;
}

static bool is_own(const struct inode *link)
{
    return link->device - DEVICE_PID == arch_process()->rank;
}

static int64_t target_find(const struct file *file, void *context)
{
    struct inode **inode = context;

    if (!file)
        return -ENOENT;
    *inode = file->inode ? file->inode : device_of_stream(file);
    return *inode ? 0 : -ENXIO;
}

static int link_follow(const struct inode *link, struct inode **out)
{
    if (!arch_process())
        return -ENOENT; /* the boot CPU looks for the program */
    if (is_pid(link)) {
        *out = self;
        return is_own(link) ? 0 : -ENOENT;
    }
    return (int)file_look(arch_process(), link->device - DEVICE_FD, target_find, out);
}

struct link_text {
    const struct tree *tree;
    char *text;
    size_t bytes;
};

static int64_t target_tell(const struct file *file, void *context)
{
    const struct link_text *link = context;
    const char *name = "anon_inode:[file]";
    int64_t length = -ENOENT;

    if (!file)
        return -ENOENT;
    if (file->inode && (length = tree_path(link->tree, file->inode, link->text, link->bytes)) != -ENOENT)
        return length == -ERANGE ? -ENAMETOOLONG : length;
    if (file->inode) /* it was removed, or never had a name */
        name = file->inode->filesystem == FILESYSTEM_UNNAMED ? "/memfd: (deleted)" : "/ (deleted)";
    else if (file->operations->name)
        name = file->operations->name;
    else if (file->operations->terminal)
        name = "/dev/tty";
    else if (mode_is(file->mode, S_IFIFO))
        return (int64_t)format_text(link->text, link->bytes, "pipe:[%lu]", file->serial);
    return (int64_t)format_text(link->text, link->bytes, "%s", name);
}

int64_t proc_link_text(const struct tree *tree, const struct inode *link, char *text, size_t bytes)
{
    struct link_text context = { tree, text, bytes };

    if (is_pid(link))
        return is_own(link) ? (int64_t)format_text(text, bytes, "self") : -ENOENT;
    return file_look(arch_process(), link->device - DEVICE_FD, target_tell, &context);
}

static int links_add(struct tree *tree, struct inode *directory, unsigned first, unsigned count,
                     unsigned device, struct message *why)
{
    for (unsigned i = 0; i < count; i++) {
        struct inode *inode = inode_create(tree, S_IFLNK | 0700);
        char name[8];
        size_t length = format_text(name, sizeof(name), "%u", first + i);

        if (!inode || !tree_entry_add(tree, directory, inode, name, (uint32_t)length, true))
            return message_set(why, -ENOMEM, "file tree: no memory for the links of /proc");
        inode->device = device + i;
    }
    return 0;
}

int proc_links_add(struct tree *tree, struct message *why)
{
    struct inode *descriptors = tree_add(tree, "/proc/self/fd", S_IFDIR | 0500, NULL, 0, why);

    if (!descriptors)
        return -ENOMEM;
    tree->link_follow = link_follow;
    self = tree_parent(tree, descriptors);

    unsigned ranks = arch_cpus_present() < MEMPLAN_RANKS_MAX ? arch_cpus_present() : MEMPLAN_RANKS_MAX;
    int error = links_add(tree, descriptors, 0, FILE_DESCRIPTORS_MAX, DEVICE_FD, why);
    return error ? error : links_add(tree, tree_parent(tree, self), PID_FIRST, ranks, DEVICE_PID, why);
}
