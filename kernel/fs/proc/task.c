/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * task.c: the threads of a process in /proc: /proc/self/task, which has a directory for each thread, named by
 * its tid, and the link /proc/thread-self. proc(5).
 *
 * The directory of a thread and its files are the same inodes for all threads of all processes. The lookup
 * says which thread's they are (path_lookup.tid), and open files keep that. A lookup does not search for the
 * thread, because other ranks wait for the tree's lock meanwhile: path_thread_check does, after it.
 */
#include "lib/errno.h"
#include "lib/format.h"
#include "fs/path.h"
#include "fs/proc/proc.h"
#include "process/process.h"

#define SELF "/proc/self/"

static struct inode *task;           /* the directory of a thread */
static struct directory_entry entry; /* its entry, which is in no directory's treaps */

static struct directory_entry *thread_find_entry(uint32_t number, uint32_t *tid)
{
    *tid = number;
    return number && number <= TID_LAST && arch_process() ? &entry : NULL;
}

static const struct inode *thread_next(uint32_t *number, uint32_t *tid)
{
    *number = *tid = thread_tid_from(arch_process(), *number);
    return *tid ? task : NULL;
}

static const struct inode_operations tasks_operations = { .find_number = thread_find_entry,
                                                          .next_number = thread_next };

/* Writes a path; see path.h. A tid is that of a thread of the calling process: hence SELF. */
int64_t inode_path(const struct tree *tree, const struct inode *inode, uint32_t tid, char *text, size_t bytes)
{
    size_t length;

    if (tid & TID_OF_DESCRIPTOR)
        length = format_text(text, bytes, SELF "fd/%u", tid & ~TID_OF_DESCRIPTOR);
    else if (!tid)
        return inode->mount ? mount_path(tree, inode, text, bytes) : tree_path(tree, inode, text, bytes);
    else if (inode == task)
        length = format_text(text, bytes, SELF "task/%u", tid);
    else
        length = format_text(text, bytes, SELF "task/%u/%.*s", tid, (int)inode->name->name_bytes,
                             inode->name->name);
    return length < bytes ? (int64_t)length : -ERANGE;
}

/* ---- /proc/thread-self ---- */

static int own_follow(const struct inode *link, struct inode **target, uint32_t *tid)
{
    (void)link; /* it is the only one */
    if (!arch_process())
        return -ENOENT;
    *target = task;
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
    task = inode_create(tree, S_IFDIR | 0555);
    if (!inode || !task)
        return message_set(why, -ENOMEM, "file tree: no memory for the threads in /proc");
    inode->device = 1;
    inode->operations = &own_operations;
    entry = (struct directory_entry){ .inode = task, .directory = tasks, .name = "TID", .name_bytes = 3 };
    task->name = &entry;
    task->links = 2;
    task->filesystem = tasks->filesystem;
    tasks->operations = &tasks_operations;
    for (const struct proc_file *file = proc_self_files; file->path; file++)
        if (!proc_made_add(tree, task, file->path + sizeof(SELF) - 1, file, why))
            return -ENOMEM;
    return 0;
}
