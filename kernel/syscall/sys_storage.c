/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_storage.c: system calls about how much a file holds and where it is stored: truncate, fallocate, fsync
 * and their variants. Files of the tree are in memory, which grows and shrinks with them (shared_memory.c).
 */
#include "arch.h"
#include "fs/mount_file.h"
#include "fs/path.h"
#include "lib/errno.h"
#include "mm/shared_memory.h"
#include "process/process.h"
#include "syscall/linux_calls.h"
#include "syscall/syscall.h"

/* ---- Sizes ---- */

static int inode_resize(struct inode *inode, uint64_t bytes)
{
    int error = bytes > FILE_BYTES_MAX
                    ? -EFBIG
                    : shared_memory_size(inode->memory, arch_process()->vm.pages, bytes, SIZE_RESIZE);

    if (!error)
        file_touch(inode);
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
    FILE_REFERENCE file = file_get(arch_process(), descriptor);
    struct mount_change change = { .what = MOUNT_BYTES, .bytes = bytes };

    if ((int64_t)bytes < 0)
        return -EINVAL;
    int error = resizable_check(file);
    if (error)
        return error;
    if (file->inode->mount)
        return file->inode->mount->operations->file_change(mount_file_of(file->inode), &change);
    return inode_resize(file->inode, bytes);
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
    do
        if (result == TREE_LEFT)
            result = path.call.mount->operations->change(&path.call, true, &change);
        else if (!result)
            result = resizable_find(path.found.inode, &inode);
    while (path_leads_on(&path, &result));
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
static int file_allocate_range(struct file *file, uint64_t mode, uint64_t offset, uint64_t bytes)
{
    struct shared_memory *memory = file->inode->memory;

    if (mode & FALLOC_PUNCH_HOLE) {
        shared_memory_clear(memory, offset, bytes);
        return 0;
    }
    if (offset + bytes > FILE_BYTES_MAX)
        return -EFBIG;
    return shared_memory_size(memory, arch_process()->vm.pages, offset + bytes,
                              mode & FALLOC_KEEP_SIZE ? SIZE_RESERVE : SIZE_GROW);
}

long sys_fallocate(uint64_t descriptor, uint64_t mode, uint64_t offset, uint64_t bytes)
{
    FILE_REFERENCE file = file_get(arch_process(), descriptor);

    mode = (uint32_t)mode;
    if ((int64_t)offset < 0 || (int64_t)bytes <= 0)
        return -EINVAL;
    if ((mode & ~(uint64_t)(FALLOC_KEEP_SIZE | FALLOC_PUNCH_HOLE)) || mode == FALLOC_PUNCH_HOLE)
        return -EOPNOTSUPP;
    if (resizable_check(file))
        return -EBADF;
    if (file->inode->mount)
        return -EOPNOTSUPP;
    int error = file_allocate_range(file, mode, offset, bytes);
    if (!error)
        file_touch(file->inode);
    return error;
}

/* ---- Storage: there is none but memory, and the servers of mounts ---- */

static bool is_stored(const struct file *file)
{
    return file->inode && !file->inode->device;
}

/* Has the server of a mount store the file; other files need nothing. */
static long storage_sync(uint64_t descriptor, bool data_only)
{
    FILE_REFERENCE file = file_get(arch_process(), descriptor);

    if (!file || (file->flags & O_PATH))
        return -EBADF;
    if (!is_stored(file))
        return -EINVAL;
    return file->inode->mount ? file->inode->mount->operations->sync(mount_file_of(file->inode), data_only)
                              : 0;
}

long sys_fsync(uint64_t descriptor)
{
    return storage_sync(descriptor, false);
}

long sys_fdatasync(uint64_t descriptor)
{
    return storage_sync(descriptor, true);
}

long sys_syncfs(uint64_t descriptor)
{
    FILE_REFERENCE file = file_get(arch_process(), descriptor);

    return file && !(file->flags & O_PATH) ? 0 : -EBADF;
}

long sys_readahead(uint64_t descriptor, uint64_t offset, uint64_t bytes)
{
    FILE_REFERENCE file = file_get(arch_process(), descriptor);

    (void)offset, (void)bytes;
    if (!file || (file->flags & O_PATH))
        return -EBADF;
    return is_stored(file) && mode_is(file->inode->mode, S_IFREG) ? 0 : -EINVAL;
}

long sys_fadvise64(uint64_t descriptor, uint64_t offset, uint64_t bytes, uint64_t advice)
{
    const uint32_t advice_last = 5; /* POSIX_FADV_NOREUSE */
    FILE_REFERENCE file = file_get(arch_process(), descriptor);

    (void)offset, (void)bytes;
    if (!file || (file->flags & O_PATH))
        return -EBADF;
    if (!file->operations->size)
        return -ESPIPE;
    return (uint32_t)advice > advice_last ? -EINVAL : 0;
}
