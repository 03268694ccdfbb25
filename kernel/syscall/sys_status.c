/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_status.c: system calls that report the status of files and file systems: stat, statx, statfs and their
 * variants. A status is read under the tree's lock and written to the program without it.
 */
#include "arch.h"
#include "lib/errno.h"
#include "fs/mount_file.h"
#include "fs/path.h"
#include "process/process.h"
#include "mm/shared_memory.h"
#include "syscall/linux_calls.h"
#include "syscall/syscall.h"

#define BLOCK_BYTES   4096
#define NS_PER_SECOND 1000000000LL

/* Reads the status of an inode of the tree. The caller holds the tree's lock. */
static void inode_status(const struct inode *inode, uint32_t tid, struct mount_status *status)
{
    const struct shared_memory *memory = inode->memory;

    *status = (struct mount_status){
        .filesystem = inode->filesystem,
        .device = device_number(mode_is(inode->mode, S_IFCHR) ? inode->device : 0),
        .number = inode_number(inode, tid),
        .links = inode->links,
        .bytes = memory ? __atomic_load_n(&memory->bytes, __ATOMIC_RELAXED) : inode->bytes,
        .blocks =
            ((memory ? __atomic_load_n(&memory->capacity, __ATOMIC_RELAXED) : inode->bytes) + 511) / 512,
        .block_bytes = BLOCK_BYTES,
        .accessed_ns = inode->accessed_ns,
        .modified_ns = inode->modified_ns,
        .changed_ns = inode->changed_ns,
        .mode = inode->mode,
        .user = inode->user,
        .group = inode->group,
    };
}

/* Reads the status of what is open, perhaps on a mount. */
static int open_inode_status(const struct inode *inode, uint32_t tid, struct mount_status *status)
{
    if (!inode->mount) {
        SPIN_GUARD(&arch_process()->tree->lock);
        inode_status(inode, tid, status);
        return 0;
    }
    int error = inode->mount->operations->file_status(mount_file_of(inode), status);

    status->filesystem = inode->filesystem;
    return error;
}

/* ---- Finding the file ---- */

static int open_status(uint64_t descriptor, struct mount_status *status)
{
    FILE_REFERENCE file = file_of(descriptor);

    if (!file)
        return -EBADF;
    if (file->inode)
        return open_inode_status(file->inode, file->tid, status);
    *status = (struct mount_status){ .filesystem = FILESYSTEM_UNNAMED,
                                     .device = device_number(mode_is(file->mode, S_IFCHR) ? file->device : 0),
                                     .number = file->device,
                                     .links = 1,
                                     .mode = file->mode,
                                     .block_bytes = BLOCK_BYTES };
    return 0;
}

static int directory_status(struct mount_status *status)
{
    struct process *process = arch_process();

    spin_lock(&process->tree->lock);
    struct inode *directory = process->directory;
    uint32_t tid = process->directory_tid;
    inode_get(directory);
    spin_unlock(&process->tree->lock);
    int error = open_inode_status(directory, tid, status);
    inode_drop(process->tree, directory);
    return error;
}

/* Reads the status of (descriptor, path, flags), as the *at calls that know AT_EMPTY_PATH do. */
static int status_at(uint64_t descriptor, uint64_t address, uint64_t flags, struct mount_status *status)
{
    struct path path;
    char first = 0;

    flags = (uint32_t)flags;
    if (flags & ~(uint64_t)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | AT_NO_AUTOMOUNT))
        return -EINVAL;
    if ((flags & AT_EMPTY_PATH) && address && user_read(&first, address, 1))
        return -EFAULT;
    if ((flags & AT_EMPTY_PATH) && !first)
        return (int32_t)descriptor == AT_FDCWD ? directory_status(status) : open_status(descriptor, status);

    bool follow = !(flags & AT_SYMLINK_NOFOLLOW);
    long error = path_begin(&path, descriptor, address, follow ? TREE_FOLLOW : TREE_NO_FOLLOW);
    while (path_leads(&path, &error))
        if (error == TREE_LEFT) {
            error = path.call.mount->operations->status(&path.call, follow, status);
            status->filesystem = FILESYSTEM_MOUNTS + path.call.mount->index;
        } else {
            inode_status(path.found.inode, path.found.tid, status);
        }
    error = path_end(&path, error);
    return error ? (int)error : path_thread_check(path.found.tid);
}

/* ---- stat ---- */

/* Splits a time as Linux reports it: nanoseconds are never negative. */
static struct linux_timespec time_split(int64_t ns)
{
    int64_t seconds = ns / NS_PER_SECOND, rest = ns % NS_PER_SECOND;

    if (rest < 0)
        return (struct linux_timespec){ seconds - 1, rest + NS_PER_SECOND };
    return (struct linux_timespec){ seconds, rest };
}

static int status_write(uint64_t buffer, const struct mount_status *status)
{
    struct linux_timespec access = time_split(status->accessed_ns), modify = time_split(status->modified_ns),
                          change = time_split(status->changed_ns);
    struct linux_stat stat = {
        .device = status->filesystem + 1, /* no device has the number 0 */
        .represented_device = (uint32_t)status->device,
        .inode = status->number,
        .links = status->links,
        .mode = status->mode,
        .user = status->user,
        .group = status->group,
        .size = (int64_t)status->bytes,
        .block_size = (int64_t)status->block_bytes,
        .blocks = (int64_t)status->blocks,
        .access_s = (uint64_t)access.seconds,
        .access_ns = (uint64_t)access.nanoseconds,
        .modify_s = (uint64_t)modify.seconds,
        .modify_ns = (uint64_t)modify.nanoseconds,
        .change_s = (uint64_t)change.seconds,
        .change_ns = (uint64_t)change.nanoseconds,
    };

    return user_write(buffer, &stat, sizeof(stat));
}

long sys_newfstatat(uint64_t descriptor, uint64_t path, uint64_t buffer, uint64_t flags)
{
    struct mount_status status;
    int error = status_at(descriptor, path, flags, &status);

    return error ? error : status_write(buffer, &status);
}

long sys_fstat(uint64_t descriptor, uint64_t buffer)
{
    struct mount_status status;
    int error = open_status(descriptor, &status);

    return error ? error : status_write(buffer, &status);
}

long sys_statx(uint64_t descriptor, uint64_t path, uint64_t flags, uint64_t mask, uint64_t buffer)
{
    const uint64_t sync_flags = 0x6000;
    struct mount_status status;

    if (((uint32_t)mask & STATX_RESERVED) || (flags & sync_flags) == sync_flags)
        return -EINVAL;
    int error = status_at(descriptor, path, flags & ~sync_flags, &status);
    if (error)
        return error;

    struct linux_statx statx = {
        .mask = STATX_BASIC, /* always all of these, which Linux permits */
        .block_size = (uint32_t)status.block_bytes,
        .links = (uint32_t)status.links,
        .user = status.user,
        .group = status.group,
        .mode = (uint16_t)status.mode,
        .inode = status.number,
        .size = status.bytes,
        .blocks = status.blocks,
        .access = time_split(status.accessed_ns),
        .change = time_split(status.changed_ns),
        .modify = time_split(status.modified_ns),
        .represented_major = (uint32_t)(status.device >> 8),
        .represented_minor = status.device & 255,
        .device_minor = status.filesystem + 1,
    };
    return user_write(buffer, &statx, sizeof(statx));
}

/* ---- statfs ---- */

static bool is_read_only(unsigned filesystem)
{
    return filesystem < FILESYSTEM_MOUNTS && filesystem != FILESYSTEM_TMP && filesystem != FILESYSTEM_SHM &&
           filesystem != FILESYSTEM_UNNAMED;
}

/* Reads the statistics of a file system of the tree. A writable file system's free space is that of the
 * caller's slice. */
static void tree_statistics(unsigned filesystem, struct mount_statistics *statistics)
{
    static const uint32_t types[] = {
        [FILESYSTEM_ROOT] = STATFS_RAMFS,    [FILESYSTEM_TMP] = STATFS_TMPFS, [FILESYSTEM_SHM] = STATFS_TMPFS,
        [FILESYSTEM_UNNAMED] = STATFS_TMPFS, [FILESYSTEM_DEV] = STATFS_TMPFS, [FILESYSTEM_PROC] = STATFS_PROC,
        [FILESYSTEM_SYS] = STATFS_SYS,
    };
    const struct page_pool *pages = arch_process()->vm.pages;

    *statistics = (struct mount_statistics){ .filesystem = filesystem,
                                             .type = types[filesystem],
                                             .block_bytes = BLOCK_BYTES,
                                             .name_bytes = TREE_NAME_MAX };
    if (is_read_only(filesystem))
        return;
    statistics->blocks = pages->total_bytes / BLOCK_BYTES;
    statistics->blocks_free = statistics->blocks_available = page_pool_free_bytes(pages) / BLOCK_BYTES;
}

static int mount_statistics(struct mount_call *call, struct mount_statistics *statistics)
{
    int error = call->mount->operations->statistics(call, statistics);

    statistics->filesystem = FILESYSTEM_MOUNTS + call->mount->index;
    return error;
}

static int statistics_write(uint64_t buffer, const struct mount_statistics *statistics)
{
    struct linux_statfs status = {
        .type = (int64_t)statistics->type,
        .block_bytes = (int64_t)statistics->block_bytes,
        .blocks = (int64_t)statistics->blocks,
        .free_blocks = (int64_t)statistics->blocks_free,
        .available_blocks = (int64_t)statistics->blocks_available,
        .files = (int64_t)statistics->files,
        .free_files = (int64_t)statistics->files_free,
        .identity = { (int32_t)statistics->filesystem + 1, 0 },
        .name_bytes = (int64_t)statistics->name_bytes,
        .fragment_bytes = (int64_t)statistics->block_bytes,
        .flags = STATFS_VALID | (is_read_only(statistics->filesystem) ? STATFS_READ_ONLY : 0),
    };

    return user_write(buffer, &status, sizeof(status));
}

long sys_statfs(uint64_t address, uint64_t buffer)
{
    struct mount_statistics statistics;
    struct path path;
    long result = path_begin(&path, (uint64_t)AT_FDCWD, address, TREE_FOLLOW);

    while (path_leads(&path, &result))
        if (result == TREE_LEFT)
            result = mount_statistics(&path.call, &statistics);
        else
            tree_statistics(path.found.inode->filesystem, &statistics);
    result = path_end(&path, result);
    if (!result)
        result = path_thread_check(path.found.tid);
    return result ? result : statistics_write(buffer, &statistics);
}

long sys_fstatfs(uint64_t descriptor, uint64_t buffer)
{
    FILE_REFERENCE file = file_of(descriptor);
    struct mount_statistics statistics;
    int error = 0;

    if (!file)
        return -EBADF;
    if (file->inode && file->inode->mount) {
        struct mount_call call = mount_call_of(file->inode);

        error = mount_statistics(&call, &statistics);
    } else {
        tree_statistics(file->inode ? file->inode->filesystem : FILESYSTEM_UNNAMED, &statistics);
    }
    return error ? error : statistics_write(buffer, &statistics);
}
