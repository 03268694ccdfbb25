/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * links.c: entries of /proc that differ from process to process, proc(5): in /proc/self/fd a link for each of
 * its open descriptors, in /proc/self/task a directory for each of its threads; /proc/self/cwd;
 * /proc/thread-self; and its pid, which leads to /proc/self.
 *
 * The tree has one link for all descriptors, one for all pids, and one directory, with its files, for all
 * threads of all processes (numbered.c; path_lookup.tid says which). Each lookup finds where a link leads for
 * the calling process (inode_operations.follow). It does not search for a thread, because other ranks wait
 * for the tree's lock meanwhile: path_thread_check does, after it. Opening a link opens its file again, if
 * that has an inode; a pipe's end cannot be opened again, ENXIO. Runs with the tree's lock, under which a
 * descriptor's inode cannot be freed.
 */
#include "arch.h"
#include "lib/errno.h"
#include "lib/file_mode.h"
#include "lib/format.h"
#include "fs/path.h"
#include "fs/proc/proc.h"
#include "process/process.h"

static struct inode *self; /* the directory /proc/self */

/* ---- Pids ---- */

static int pid_follow(const struct inode *link, struct inode **target, uint32_t *tid)
{
    (void)link;
    *target = self;
    *tid = 0;
    return 0;
}

static int64_t pid_read_link(const struct tree *tree, uint32_t tid, char *text)
{
    (void)tree, (void)tid; /* all that can be followed lead to the same directory */
    return (int64_t)format_text(text, TREE_PATH_MAX, "self");
}

static const struct inode_operations pid_operations = { .follow = pid_follow, .read_link = pid_read_link };

/* Returns the process's own pid alone. */
static uint32_t pid_next(uint32_t tid)
{
    const uint32_t own = TREE_NUMBERED + (uint32_t)arch_process()->pid;

    return tid <= own ? own : 0;
}

static struct numbered pids = {
    .name = "", .first = TREE_NUMBERED, .next = pid_next, .links = &pid_operations
};

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

static int64_t inode_name(const struct tree *tree, const struct inode *inode, uint32_t tid, char *text)
{
    int64_t length = inode_path(tree, inode, tid, text, TREE_PATH_MAX);

    if (length == -ENOENT) /* it was removed, or never had a name */
        return (int64_t)format_text(text, TREE_PATH_MAX,
                                    inode->filesystem == FILESYSTEM_UNNAMED ? "/memfd: (deleted)"
                                                                            : "/ (deleted)");
    return length == -ERANGE ? -ENAMETOOLONG : length;
}

static int64_t descriptor_read_link(const struct tree *tree, uint32_t tid, char *text)
{
    struct file_table *table = arch_process()->files;
    const char *name = "anon_inode:[file]";

    SPIN_GUARD(&table->lock);
    const struct file *file = file_in_table(table, tid);
    if (!file)
        return -ENOENT;
    if (file->inode)
        return inode_name(tree, file->inode, file->tid, text);
    if (file->operations->name)
        name = file->operations->name;
    else if (file->is_terminal)
        name = "/dev/tty";
    else if (mode_is(file->mode, S_IFIFO) || mode_is(file->mode, S_IFSOCK))
        return (int64_t)format_text(text, TREE_PATH_MAX, "%s:[%lu]",
                                    mode_is(file->mode, S_IFIFO) ? "pipe" : "socket", file->serial);
    return (int64_t)format_text(text, TREE_PATH_MAX, "%s", name);
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

static struct numbered descriptors = {
    .name = "", .first = TREE_NUMBERED, .next = descriptor_next_tid, .links = &descriptor_operations
};

/* ---- Threads ---- */

static uint32_t thread_next(uint32_t tid)
{
    return thread_tid_from(arch_process(), tid);
}

static struct numbered threads = { .name = "", .next = thread_next };

static int thread_follow(const struct inode *link, struct inode **target, uint32_t *tid)
{
    (void)link; /* it is the only one */
    if (!arch_process())
        return -ENOENT;
    *target = threads.inode;
    *tid = arch_thread()->tid;
    return 0;
}

static int64_t thread_read_link(const struct tree *tree, uint32_t tid, char *text)
{
    (void)tree, (void)tid;
    return (int64_t)format_text(text, TREE_PATH_MAX, "%lu/task/%u", arch_process()->pid, arch_thread()->tid);
}

static const struct inode_operations thread_operations = { .follow = thread_follow,
                                                           .read_link = thread_read_link };

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

static int64_t directory_read_link(const struct tree *tree, uint32_t tid, char *text)
{
    const struct process *process = arch_process();

    (void)tid;
    return inode_name(tree, process->directory, process->directory_tid, text);
}

static const struct inode_operations directory_operations = { .follow = directory_follow,
                                                              .read_link = directory_read_link };

/* ---- Adding them ---- */

static bool link_add(struct tree *tree, const char *path, const struct inode_operations *operations,
                     struct message *why)
{
    struct inode *link = tree_add(tree, path, S_IFLNK | 0777, NULL, 0, why);

    if (!link)
        return false;
    link->device = 1;
    link->operations = operations;
    return true;
}

bool proc_links_add(struct tree *tree, struct message *why)
{
    const struct inode *tasks = numbered_add(tree, "/proc/self/task", 0555, &threads, why);

    if (!tasks)
        return false;
    self = tree_parent(tree, tasks);
    return proc_files_add(tree, threads.inode, proc_self_files, why) &&
           numbered_add(tree, "/proc/self/fd", 0500, &descriptors, why) &&
           numbered_add(tree, "/proc", 0555, &pids, why) &&
           link_add(tree, "/proc/self/cwd", &directory_operations, why) &&
           link_add(tree, "/proc/thread-self", &thread_operations, why);
}
