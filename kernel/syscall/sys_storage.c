/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_storage.c: system calls about how much a file holds and where it is stored: truncate, fallocate, fsync
 * and their variants. Files of the tree are in memory, which grows and shrinks with them (shared_memory.c).
 */
#include "fs/mount_file.h"
#include "fs/path.h"
#include "lib/errno.h"
#include "mm/shared_memory.h"
#include "process/process.h"
#include "syscall/linux_calls.h"
#include "syscall/syscall.h"

/* ---- Sizes ---- */

/* Returns 0 if a file may get this size: it shrinks, or stays within RLIMIT_FSIZE and what an offset can
 * say; a file of a mount counts as growing. */
static int size_check(const struct shared_memory *memory, uint64_t bytes)
{
    uint64_t growth = 1;

    if (memory && bytes <= __atomic_load_n(&memory->bytes, __ATOMIC_RELAXED))
        return 0;
    return bytes > FILE_BYTES_MAX ? -EFBIG : bytes ? file_bytes_limit(bytes - 1, &growth) : 0;
}

static int inode_resize(struct inode *inode, uint64_t bytes)
{
    int error = size_check(inode->memory, bytes);

    if (!error)
        error = shared_memory_size(inode->memory, arch_process()->vm.pages, bytes, SIZE_RESIZE);
    if (!error)
        file_touch(inode);
    if (!error && tree_is_watched(arch_process()->tree))
        inode_watchers_notify(arch_process()->tree, inode, TREE_MODIFY);
    return error;
}

/* Returns 0 if the size of a file can be set, else why not. */
static int resizable_check(const struct file *file)
{
    if (!file || (file->flags & O_PATH))
        return -EBADF;
    if ((file->flags & O_ACCMODE) == O_RDONLY || !file->inode)
        return -EINVAL;
    return file->inode->memory || file->inode->mount ? 0 : -EINVAL;
}

long sys_ftruncate(uint64_t descriptor, uint64_t bytes)
{
    FILE_REFERENCE file = file_of(descriptor);
    struct mount_change change = { .what = MOUNT_BYTES, .bytes = bytes };

    if ((int64_t)bytes < 0)
        return -EINVAL;
    int error = resizable_check(file);
    if (error)
        return error;
    if (!file->inode->mount)
        return inode_resize(file->inode, bytes);
    error = size_check(NULL, bytes);
    return error ? error : file->inode->mount->operations->file_change(mount_file_of(file->inode), &change);
}

/* Takes a reference to an inode whose size can be set. The caller holds the tree's lock. */
static int resizable_find(struct inode *inode, struct inode **out)
{
    if (!mode_is(inode->mode, S_IFREG))
        return mode_is(inode->mode, S_IFDIR) ? -EISDIR : -EINVAL;
    if (!inode->memory)
        return -EROFS;
    inode_get(inode);
    *out = inode;
    return 0;
}

long sys_truncate(uint64_t address, uint64_t bytes)
{
    struct tree *tree = arch_process()->tree;
    struct inode *inode = NULL;
    struct path path;

    if ((int64_t)bytes < 0)
        return -EINVAL;
    struct mount_change change = { .what = MOUNT_BYTES, .bytes = bytes };
    long result = path_begin(&path, (uint64_t)AT_FDCWD, address, TREE_FOLLOW);
    while (path_leads(&path, &result))
        if (result != TREE_LEFT)
            result = resizable_find(path.found.inode, &inode);
        else if (!(result = size_check(NULL, bytes)))
            result = path.call.mount->operations->change(&path.call, true, &change);
    result = path_end(&path, result);
    if (result || !inode)
        return result;
    result = inode_resize(inode, bytes);
    inode_drop(tree, inode);
    shared_memory_reclaim();
    return result;
}

/* Allocates a range. Both flags make a hole, whose memory stays the file's; KEEP_SIZE alone allocates memory
 * beyond the end. */
long storage_allocate(struct file *file, uint32_t mode, uint64_t offset, uint64_t bytes)
{
    int error = 0;

    if ((int64_t)offset < 0 || (int64_t)bytes <= 0)
        return -EINVAL;
    if ((mode & ~(uint32_t)(FALLOC_KEEP_SIZE | FALLOC_PUNCH_HOLE)) || mode == FALLOC_PUNCH_HOLE)
        return -EOPNOTSUPP;
    if (resizable_check(file))
        return -EBADF;
    if (file->inode->mount)
        return -EOPNOTSUPP;
    if (mode & FALLOC_PUNCH_HOLE)
        shared_memory_clear(file->inode->memory, offset, bytes);
    else if (!(error = size_check(file->inode->memory, offset + bytes)))
        error = shared_memory_size(file->inode->memory, arch_process()->vm.pages, offset + bytes,
                                   mode & FALLOC_KEEP_SIZE ? SIZE_RESERVE : SIZE_GROW);
    if (!error) {
        file_touch(file->inode);
        file_notify(file, TREE_MODIFY);
    }
    return error;
}

/* ---- Storage: there is none but memory, and the servers of mounts ---- */

static bool is_stored(const struct file *file)
{
    return file->inode && !file->inode->device;
}

long storage_sync(struct file *file, bool data_only)
{
    if (!is_stored(file))
        return -EINVAL;
    return file->inode->mount ? file->inode->mount->operations->sync(mount_file_of(file->inode), data_only)
                              : 0;
}

long storage_range_check(const struct file *file, uint64_t offset, uint64_t bytes, uint32_t flags)
{
    const uint32_t known = 7; /* SYNC_FILE_RANGE_WAIT_BEFORE, _WRITE, _WAIT_AFTER */

    if ((flags & ~known) || (int64_t)(offset | bytes | (offset + bytes)) < 0)
        return -EINVAL;
    return file->inode && (file->mode & S_IFMT) != S_IFCHR ? 0 : -ESPIPE;
}

long storage_read_ahead(const struct file *file)
{
    return is_stored(file) && mode_is(file->inode->mode, S_IFREG) ? 0 : -EINVAL;
}

long storage_advise(const struct file *file, int64_t bytes, uint32_t advice)
{
    const uint32_t advice_last = 5; /* POSIX_FADV_NOREUSE */

    if (!file->operations->size)
        return -ESPIPE;
    return advice > advice_last || bytes < 0 ? -EINVAL : 0;
}
