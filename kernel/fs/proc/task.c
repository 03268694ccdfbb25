/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * task.c: the threads of a process in /proc: /proc/self/task, which has a directory for each thread, named by
 * its tid, and the link /proc/thread-self. proc(5).
 *
 * The directory of a thread and its files are the same inodes for all threads of all processes (numbered.c).
 * A lookup does not search for the thread, because other ranks wait for the tree's lock meanwhile:
 * path_thread_check does, after it.
 */
#include "lib/errno.h"
#include "lib/format.h"
#include "fs/path.h"
#include "fs/proc/proc.h"
#include "process/process.h"

#define SELF "/proc/self/"

static uint32_t thread_next(uint32_t tid)
{
    return thread_tid_from(arch_process(), tid);
}

static struct numbered threads = { .name = "", .next = thread_next };

/* ---- /proc/thread-self ---- */

static int own_follow(const struct inode *link, struct inode **target, uint32_t *tid)
{
    (void)link; /* it is the only one */
    if (!arch_process())
        return -ENOENT;
    *target = threads.inode;
    *tid = arch_thread()->tid;
    return 0;
}

static int64_t own_read_link(const struct tree *tree, const struct inode *link, uint32_t tid, char *text,
                             size_t bytes)
{
    (void)tree, (void)link, (void)tid;
    return (int64_t)format_text(text, bytes, "%lu/task/%u", arch_process()->pid, arch_thread()->tid);
}

static const struct inode_operations own_operations = { .follow = own_follow, .read_link = own_read_link };

int proc_tasks_add(struct tree *tree, struct message *why)
{
    struct inode *tasks = tree_add(tree, SELF "task", S_IFDIR | 0555, NULL, 0, why), *inode;

    if (!tasks)
        return -ENOMEM;
    inode = proc_inode_add(tree, tree_parent(tree, tree_parent(tree, tasks)), "thread-self", false,
                           S_IFLNK | 0777, why);
    if (!inode || !numbered_add(tree, tasks, &threads, why))
        return -ENOMEM;
    inode->device = 1;
    inode->operations = &own_operations;
    for (const struct proc_file *file = proc_self_files; file->path; file++)
        if (!proc_made_add(tree, threads.inode, file->path + sizeof(SELF) - 1, file, why))
            return -ENOMEM;
    return 0;
}
