/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc_links.c: links of /proc that are others for each process that looks, proc(5): in /proc/self/fd one for
 * each of its open descriptors; and its pid, which leads to /proc/self.
 *
 * The tree has a link for every descriptor and every pid that any process could have; which of them are
 * there, what they say and where they lead is asked anew each time (tree.h: link_follow). Opening one opens
 * its file once more, for as far as that has a place in the tree: what a pipe's end leads to is nothing that
 * could be opened, ENXIO. With the tree's lock, under which a node that a descriptor keeps cannot go.
 */
#include "arch.h"
#include "lib/errno.h"
#include "lib/format.h"
#include "lib/kstring.h"
#include "lib/linux_abi.h"
#include "fs/proc/proc.h"
#include "process/process.h"

/* tree_node.device of descriptor 0's link, of the first rank's pid's, and behind the last one's. */
#define DEVICE_FD    0x10000U
#define DEVICE_PID   (DEVICE_FD + FILE_DESCRIPTORS_MAX)
#define DEVICE_AFTER (DEVICE_PID + MEMPLAN_RANKS_MAX)

static struct tree_node *self;

static bool is_pid(const struct tree_node *link)
{
    return link->device >= DEVICE_PID && link->device < DEVICE_AFTER;
}

static bool is_own(const struct tree_node *link)
{
    return link->device - DEVICE_PID == arch_process()->rank;
}

static int64_t target_find(const struct file *file, void *context)
{
    struct tree_node **node = context;

    if (!file)
        return -ENOENT;
    *node = file->node ? file->node : device_of_stream(file);
    return *node ? 0 : -ENXIO;
}

static int link_follow(const struct tree_node *link, struct tree_node **out)
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
    if (file->node && (length = tree_path(link->tree, file->node, link->text, link->bytes)) != -ENOENT)
        return length == -ERANGE ? -ENAMETOOLONG : length;
    if (file->node) /* it was removed, or never had a name */
        name = file->node->filesystem == FILESYSTEM_UNNAMED ? "/memfd: (deleted)" : "/ (deleted)";
    else if (file->operations->name)
        name = file->operations->name;
    else if (file->operations->terminal)
        name = "/dev/tty";
    else if (mode_is(file->mode, S_IFIFO))
        return (int64_t)format_text(link->text, link->bytes, "pipe:[%lu]", file->serial);
    return (int64_t)format_text(link->text, link->bytes, "%s", name);
}

int64_t proc_link_text(const struct tree *tree, const struct tree_node *link, char *text, size_t bytes)
{
    struct link_text context = { tree, text, bytes };

    if (is_pid(link))
        return is_own(link) ? (int64_t)format_text(text, bytes, "self") : -ENOENT;
    return file_look(arch_process(), link->device - DEVICE_FD, target_tell, &context);
}

static int links_add(struct tree *tree, struct tree_node *directory, unsigned first, unsigned count,
                     unsigned device, struct message *why)
{
    for (unsigned i = 0; i < count; i++) {
        struct tree_node *node = tree_node_make(tree, S_IFLNK | 0700);
        char name[8];
        size_t length = format_text(name, sizeof(name), "%u", first + i);

        if (!node || !tree_entry_add(tree, directory, node, name, (uint32_t)length, true))
            return message_set(why, -ENOMEM, "file tree: no memory for the links of /proc");
        node->device = device + i;
    }
    return 0;
}

int proc_links_add(struct tree *tree, struct message *why)
{
    struct tree_node *descriptors = tree_add(tree, "/proc/self/fd", S_IFDIR | 0500, NULL, 0, why);

    if (!descriptors)
        return -ENOMEM;
    tree->link_follow = link_follow;
    self = tree_parent(tree, descriptors);

    unsigned ranks = arch_cpus_present() < MEMPLAN_RANKS_MAX ? arch_cpus_present() : MEMPLAN_RANKS_MAX;
    int error = links_add(tree, descriptors, 0, FILE_DESCRIPTORS_MAX, DEVICE_FD, why);
    return error ? error : links_add(tree, tree_parent(tree, self), PID_FIRST, ranks, DEVICE_PID, why);
}
