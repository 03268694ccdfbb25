/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path.c: see path.h. Owns two buffers for each CPU, too large for the kernel's stacks, allocated from the
 * slice of the first process that needs them there. A system call has its CPU's buffers to itself: it does
 * not wait while it uses them.
 */
#include "fs/path.h"
#include "arch.h"
#include "fs/linux_files.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "process/process.h"
#include "mm/shared_memory.h"
#include "smp/per_cpu.h"

#define BUFFERS 2

PER_CPU static char *buffers;

char *path_buffer(unsigned which)
{
    char **pair = PER_CPU_HERE(buffers);

    if (!*pair) {
        uint64_t memory = page_pool_allocate(arch_process()->vm.pages, BUFFERS * TREE_PATH_MAX, ARCH_PAGE);

        if (memory == PAGE_POOL_NONE)
            return NULL;
        *pair = arch_physical(memory);
    }
    return *pair + which * (size_t)TREE_PATH_MAX;
}

/* Finds where a relative path starts: the current directory, or that of a descriptor. */
static int start_find(struct path *path, uint64_t descriptor)
{
    if (path->text[0] == '/' || (int32_t)descriptor == AT_FDCWD)
        return 0;
    path->file = file_get(arch_process(), (uint32_t)descriptor);
    if (!path->file)
        return -EBADF;
    path->directory = path->file->inode;
    return path->directory && mode_is(path->directory->mode, S_IFDIR) ? 0 : -ENOTDIR;
}

int path_read(struct path *path, uint64_t directory, uint64_t address, unsigned which)
{
    *path = (struct path){ .tree = arch_process()->tree, .text = path_buffer(which) };
    if (!path->text)
        return -ENOMEM;

    int64_t length = user_read_string(path->text, address, TREE_PATH_MAX);
    if (length <= 0)
        return length ? (int)length : -ENOENT;
    return start_find(path, directory);
}

int path_find(struct path *path, enum tree_follow follow)
{
    const struct process *process = arch_process();

    if (path->directory)
        return tree_find_from(path->tree, path->directory, path->file->tid, path->text, follow, &path->found);
    return tree_find_from(path->tree, process->directory, process->directory_tid, path->text, follow,
                          &path->found);
}

int path_thread_check(uint32_t tid)
{
    return !tid || thread_tid_from(arch_process(), tid) == tid ? 0 : -ENOENT;
}

void path_lock(struct path *path, bool adds)
{
    if (adds)
        tree_lock_to_add(path->tree);
    else
        spin_lock(&path->tree->lock);
    path->locked = true;
}

int path_begin(struct path *path, uint64_t directory, uint64_t address, enum tree_follow follow)
{
    int error = path_read(path, directory, address, 0);

    if (error)
        return error;
    path_lock(path, follow == TREE_NAME);
    return path_find(path, follow);
}

int path_begin_text(struct path *path, const char *text, size_t bytes, enum tree_follow follow)
{
    *path = (struct path){ .tree = arch_process()->tree, .text = path_buffer(0) };
    if (!path->text)
        return -ENOMEM;
    memcpy(path->text, text, bytes);
    path->text[bytes] = 0;
    path_lock(path, follow == TREE_NAME);
    return path_find(path, follow);
}

long path_end(struct path *path, long result)
{
    if (path->locked)
        spin_unlock(&path->tree->lock);
    if (path->file)
        file_put(path->file);
    shared_memory_reclaim();
    return result;
}
