/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * links.c: links of /proc that differ from process to process, proc(5): in /proc/self/fd one for each of its
 * open descriptors; /proc/self/cwd; and its pid, which leads to /proc/self.
 *
 * The tree has a link for every pid that any process could have, and one for all descriptors (path_lookup.tid
 * says which). Each lookup checks which of them the calling process has, and where they lead
 * (inode_operations.follow). Opening a link opens its file again, if that has an inode; a pipe's end cannot
 * be opened again, ENXIO. Runs with the tree's lock, under which a descriptor's inode cannot be freed.
 */
#include "arch.h"
#include "lib/errno.h"
#include "lib/file_mode.h"
#include "lib/format.h"
#include "fs/path.h"
#include "fs/proc/proc.h"
#include "process/process.h"
#include "mm/memplan.h"

static struct inode *self; /* the directory /proc/self */

/* ---- Pids ---- */

static int pid_follow(const struct inode *link, struct inode **target, uint32_t *tid)
{
    (void)tid;
    *target = self;
    return arch_process() && link->device - 1 == arch_process()->rank ? 0 : -ENOENT;
}

static int64_t pid_read_link(const struct tree *tree, const struct inode *link, uint32_t tid, char *text,
                             size_t bytes)
{
    (void)tree, (void)link, (void)tid; /* all that can be followed lead to the same directory */
    return (int64_t)format_text(text, bytes, "self");
}

static const struct inode_operations pid_operations = { .follow = pid_follow, .read_link = pid_read_link };

/* ---- Descriptors ---- */

/* Finds where a descriptor's link leads. This and descriptor_read_link hold the table's lock, under which the
 * file stays open, instead of a reference: dropping it could end the file. */
static int descriptor_follow(const struct inode *link, struct inode **target, uint32_t *tid)
{
    struct file_table *table = arch_process()->files;

    (void)link; /* it is the only one */
    SPIN_GUARD(&table->lock);
    const struct file *file = file_in_table(table, *tid);
    if (!file)
        return -ENOENT;
    *target = file->inode ? file->inode : device_of_stream(file);
    *tid = file->tid;
    return *target ? 0 : -ENXIO;
}

static int64_t inode_name(const struct tree *tree, const struct inode *inode, uint32_t tid, char *text,
                          size_t bytes)
{
    int64_t length = inode_path(tree, inode, tid, text, bytes);

    if (length == -ENOENT) /* it was removed, or never had a name */
        return (int64_t)format_text(
            text, bytes, inode->filesystem == FILESYSTEM_UNNAMED ? "/memfd: (deleted)" : "/ (deleted)");
    return length == -ERANGE ? -ENAMETOOLONG : length;
}

static int64_t descriptor_read_link(const struct tree *tree, const struct inode *link, uint32_t tid,
                                    char *text, size_t bytes)
{
    struct file_table *table = arch_process()->files;
    const char *name = "anon_inode:[file]";

    (void)link;
    SPIN_GUARD(&table->lock);
    const struct file *file = file_in_table(table, tid);
    if (!file)
        return -ENOENT;
    if (file->inode)
        return inode_name(tree, file->inode, file->tid, text, bytes);
    if (file->operations->name)
        name = file->operations->name;
    else if (file->is_terminal)
        name = "/dev/tty";
    else if (mode_is(file->mode, S_IFIFO) || mode_is(file->mode, S_IFSOCK))
        return (int64_t)format_text(text, bytes, "%s:[%lu]", mode_is(file->mode, S_IFIFO) ? "pipe" : "socket",
                                    file->serial);
    return (int64_t)format_text(text, bytes, "%s", name);
}

static const struct inode_operations descriptor_operations = { .follow = descriptor_follow,
                                                               .read_link = descriptor_read_link };

static uint32_t descriptor_next_tid(uint32_t tid)
{
    unsigned number = tree_number_of(tid);

    if (number < FILE_DESCRIPTORS_MAX)
        number = descriptor_next(arch_process(), number);
    return number < FILE_DESCRIPTORS_MAX ? TREE_NUMBERED + number : 0;
}

static struct numbered descriptors = { .name = "", .first = TREE_NUMBERED, .next = descriptor_next_tid };

/* ---- The working directory ---- */

static int directory_follow(const struct inode *link, struct inode **target, uint32_t *tid)
{
    (void)link; /* it is the only one */
    if (!arch_process())
        return -ENOENT;
    *target = arch_process()->directory;
    *tid = arch_process()->directory_tid;
    return 0;
}

static int64_t directory_read_link(const struct tree *tree, const struct inode *link, uint32_t tid,
                                   char *text, size_t bytes)
{
    const struct process *process = arch_process();

    (void)link, (void)tid;
    return inode_name(tree, process->directory, process->directory_tid, text, bytes);
}

static const struct inode_operations directory_operations = { .follow = directory_follow,
                                                              .read_link = directory_read_link };

/* ---- Adding the links ---- */

static int pids_add(struct tree *tree, unsigned count, struct message *why)
{
    for (unsigned i = 0; i < count; i++) {
        char name[8];

        format_text(name, sizeof(name), "%u", PID_FIRST + i);
        struct inode *inode = proc_inode_add(tree, tree_parent(tree, self), name, true, S_IFLNK | 0700, why);
        if (!inode)
            return -ENOMEM;
        inode->device = i + 1; /* never 0, which means a plain file */
        inode->operations = &pid_operations;
    }
    return 0;
}

int proc_links_add(struct tree *tree, struct message *why)
{
    struct inode *folder = tree_add(tree, "/proc/self/fd", S_IFDIR | 0500, NULL, 0, why);

    if (!folder || !numbered_add(tree, folder, &descriptors, why))
        return -ENOMEM;
    descriptors.inode->mode = S_IFLNK | 0700;
    descriptors.inode->links = 1;
    descriptors.inode->device = 1;
    descriptors.inode->operations = &descriptor_operations;

    self = tree_parent(tree, folder);
    struct inode *directory = proc_inode_add(tree, self, "cwd", false, S_IFLNK | 0777, why);
    if (!directory)
        return -ENOMEM;
    directory->device = 1;
    directory->operations = &directory_operations;

    unsigned ranks = arch_cpus_present() < MEMPLAN_RANKS_MAX ? arch_cpus_present() : MEMPLAN_RANKS_MAX;
    return pids_add(tree, ranks, why);
}
