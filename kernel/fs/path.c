/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path.c: see path.h. Owns two buffers for each CPU, too large for the kernel's stacks, allocated from the
 * slice of the first process that needs them there. A system call has its CPU's buffers to itself: it does
 * not wait while it uses them. A call that waits for a mount has memory of its own meanwhile.
 */
#include "fs/path.h"
#include "arch.h"
#include "fs/linux_files.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "process/process.h"
#include "mm/page.h"
#include "mm/shared_memory.h"
#include "smp/per_cpu.h"

#define BUFFERS 2

PER_CPU static char *buffers;

char *path_buffer(unsigned which)
{
    char **pair = PER_CPU_HERE(buffers);

    if (!*pair) {
        uint64_t bytes = page_up(BUFFERS * TREE_PATH_MAX);
        uint64_t memory = page_pool_allocate(arch_process()->vm.pages, bytes, ARCH_PAGE);

        if (memory == PAGE_POOL_NONE)
            return NULL;
        *pair = arch_physical(memory);
    }
    return *pair + which * (size_t)TREE_PATH_MAX;
}

void path_buffers_drop(void)
{
    *PER_CPU_HERE(buffers) = NULL;
}

int path_read(struct path *path, uint64_t directory, uint64_t address, unsigned which)
{
    *path = (struct path){ .tree = arch_process()->tree, .text = path_buffer(which) };
    if (!path->text)
        return -ENOMEM;

    int64_t length = user_read_string(path->text, address, TREE_PATH_MAX);
    if (length <= 0)
        return length ? (int)length : -ENOENT;
    /* A relative path starts at the current directory, or at that of a descriptor. */
    if (path->text[0] == '/' || (int32_t)directory == AT_FDCWD)
        return 0;
    path->file = file_get(arch_process(), (uint32_t)directory);
    if (!path->file)
        return -EBADF;
    path->directory = path->file->inode;
    return path->directory && mode_is(path->directory->mode, S_IFDIR) ? 0 : -ENOTDIR;
}

int path_find(struct path *path, enum tree_follow follow)
{
    const struct process *process = arch_process();
    struct inode *directory = path->directory ? path->directory : process->directory;
    uint32_t tid = path->file ? path->file->tid : 0;

    if (!path->directory)
        tid = process->directory_tid;
    if (path->start)
        return TREE_LEFT; /* an earlier call has found it */
    int error = tree_find_from(path->tree, directory, tid, path->text, follow, &path->found);
    if (error == TREE_LEFT) {
        path->start = path->found.inode;
        inode_get(path->start);
    }
    return error;
}

int path_thread_check(uint32_t tid)
{
    return !tid || tid >= TREE_NUMBERED || thread_tid_from(arch_process(), tid) == tid ? 0 : -ENOENT;
}

void path_lock(struct path *path, bool adds)
{
    if (adds)
        tree_lock_to_add(path->tree);
    else
        spin_lock(&path->tree->lock);
    path->locked = true;
}

void path_unlock(struct path *path)
{
    if (path->locked)
        spin_unlock(&path->tree->lock);
    path->locked = false;
}

/* ---- Mounts ---- */

/* For path->text, path->call.left and path->extra. */
#define WORK_BYTES page_up(3 * (uint64_t)TREE_PATH_MAX)

int path_depart(struct path *path)
{
    struct mount_call *call = &path->call;

    if (!path->work) {
        uint64_t memory = page_pool_allocate(arch_process()->vm.pages, WORK_BYTES, ARCH_PAGE);

        if (memory == PAGE_POOL_NONE)
            return -ENOMEM;
        path->work = memory;
        memcpy(arch_physical(memory), path->text, strlen(path->text) + 1);
        path->text = arch_physical(memory);
        call->left = path->text + TREE_PATH_MAX;
        path->extra = call->left + TREE_PATH_MAX;
    }
    call->mount = path->start->mount;
    call->directory = mount_file_of(path->start);
    call->path = path->text;
    call->group = process_credentials.gid;
    call->left[0] = '\0';
    if ((path->text[0] || path->found.trailing_slash) && !mode_is(path->start->mode, S_IFDIR))
        return -ENOTDIR;
    call->symlinks += path->found.followed;
    return call->symlinks > TREE_SYMLINKS_MAX ? -ELOOP : TREE_LEFT;
}

int path_return(struct path *path)
{
    struct mount_call *call = &path->call;
    char *text = path->text;

    if (call->symlinks++ > TREE_SYMLINKS_MAX)
        return -ELOOP; /* ".." in the targets of links counts, too */
    path->text = call->left;
    call->left = text;
    path->directory = tree_parent(path->tree, call->mount->point);
    inode_drop(path->tree, path->start);
    path->start = NULL;
    if (path->file)
        file_put(path->file);
    path->file = NULL;
    return 0;
}

int path_look_up(struct path *path, enum tree_follow follow, bool adds)
{
    path->follow = follow;
    path->adds = adds;
    path_lock(path, adds);
    int error = path_find(path, follow);

    if (error != TREE_LEFT)
        return error;
    path_unlock(path);
    return path_depart(path);
}

bool path_leads(struct path *path, long *result)
{
    if (path->start && *result == MOUNT_LEFT) {
        *result = path_return(path);
        if (!*result)
            *result = path_look_up(path, path->follow, path->adds);
    } else if (path->followed) {
        return false;
    }
    path->followed = true;
    if (*result == -ENOENT && path->found.directory && path->adds)
        *result = 0;
    return *result == 0 || *result == TREE_LEFT;
}

int path_begin(struct path *path, uint64_t directory, uint64_t address, enum tree_follow follow)
{
    int error = path_read(path, directory, address, 0);

    return error ? error : path_look_up(path, follow, follow == TREE_NAME);
}

int path_begin_text(struct path *path, const char *text, size_t bytes, enum tree_follow follow)
{
    *path = (struct path){ .tree = arch_process()->tree, .text = path_buffer(0) };
    if (!path->text)
        return -ENOMEM;
    memcpy(path->text, text, bytes);
    path->text[bytes] = 0;
    path_lock(path, follow == TREE_NAME);
    int error = path_find(path, follow);
    return error == TREE_LEFT ? -EOPNOTSUPP : error;
}

long path_end(struct path *path, long result)
{
    path_unlock(path);
    if (path->start)
        inode_drop(path->tree, path->start);
    if (path->work)
        page_pool_free(arch_process()->vm.pages, path->work, WORK_BYTES);
    if (path->file)
        file_put(path->file);
    shared_memory_reclaim();
    return result;
}
