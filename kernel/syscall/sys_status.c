/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_status.c: system calls that report the status of files and file systems: stat, statx, statfs and their
 * variants. A status is read under the tree's lock and written to the program without it.
 */
#include "arch.h"
#include "lib/errno.h"
#include "fs/path.h"
#include "process/process.h"
#include "mm/shared_memory.h"
#include "syscall/linux_calls.h"
#include "syscall/syscall.h"

#define BLOCK_BYTES   4096
#define NS_PER_SECOND 1000000000LL

struct file_status {
    unsigned filesystem; /* enum filesystem; st_dev is one more, because no device has the number 0 */
    struct device_number represents;
    uint64_t inode, links, bytes, backed_bytes;
    int64_t accessed_ns, modified_ns, changed_ns;
    uint32_t mode, user, group;
};

static struct file_status inode_status(const struct inode *inode, uint32_t tid)
{
    const struct shared_memory *memory = inode->memory;

    return (struct file_status){
        .filesystem = inode->filesystem,
        .represents = device_number(mode_is(inode->mode, S_IFCHR) ? inode->device : 0),
        .inode = inode_number(inode, tid),
        .links = inode->links,
        .bytes = memory ? __atomic_load_n(&memory->bytes, __ATOMIC_RELAXED) : inode->bytes,
        .backed_bytes = memory ? __atomic_load_n(&memory->capacity, __ATOMIC_RELAXED) : inode->bytes,
        .accessed_ns = inode->accessed_ns,
        .modified_ns = inode->modified_ns,
        .changed_ns = inode->changed_ns,
        .mode = inode->mode,
        .user = inode->user,
        .group = inode->group,
    };
}

static struct file_status open_file_status(struct file *file)
{
    struct file_status status = {
        .filesystem = FILESYSTEM_UNNAMED, .links = 1, .mode = file->mode, .inode = file->device
    };

    if (mode_is(file->mode, S_IFCHR))
        status.represents = device_number(file->device);
    if (!file->inode)
        return status;
    spin_lock(&file->process->tree->lock);
    status = inode_status(file->inode, file->tid);
    spin_unlock(&file->process->tree->lock);
    return status;
}

/* ---- Finding the file ---- */

static int open_status(uint64_t descriptor, struct file_status *status)
{
    struct file *file = file_get(arch_process(), descriptor);

    if (!file)
        return -EBADF;
    *status = open_file_status(file);
    file_put(file);
    return 0;
}

static int directory_status(struct file_status *status)
{
    struct process *process = arch_process();

    spin_lock(&process->tree->lock);
    *status = inode_status(process->directory, process->directory_tid);
    spin_unlock(&process->tree->lock);
    return 0;
}

/* (descriptor, path, flags) as in the *at calls that know AT_EMPTY_PATH. */
static int status_at(uint64_t descriptor, uint64_t address, uint64_t flags, struct file_status *status)
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

    long error =
        path_begin(&path, descriptor, address, flags & AT_SYMLINK_NOFOLLOW ? TREE_NO_FOLLOW : TREE_FOLLOW);
    if (!error)
        *status = inode_status(path.found.inode, path.found.tid);
    error = path_end(&path, error);
    return error ? (int)error : path_thread_check(path.found.tid);
}

/* ---- stat ---- */

/* A time as Linux reports it: nanoseconds are never negative. */
static struct linux_timespec time_split(int64_t ns)
{
    int64_t seconds = ns / NS_PER_SECOND, rest = ns % NS_PER_SECOND;

    if (rest < 0)
        return (struct linux_timespec){ seconds - 1, rest + NS_PER_SECOND };
    return (struct linux_timespec){ seconds, rest };
}

static int status_write(uint64_t buffer, const struct file_status *status)
{
    struct linux_timespec access = time_split(status->accessed_ns), modify = time_split(status->modified_ns),
                          change = time_split(status->changed_ns);
    struct linux_stat stat = {
        .device = status->filesystem + 1,
        .represented_device = status->represents.major << 8 | status->represents.minor, /* both below 256 */
        .inode = status->inode,
        .links = status->links,
        .mode = status->mode,
        .user = status->user,
        .group = status->group,
        .size = (int64_t)status->bytes,
        .block_size = BLOCK_BYTES,
        .blocks = (int64_t)((status->backed_bytes + 511) / 512),
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
    struct file_status status;
    int error = status_at(descriptor, path, flags, &status);

    return error ? error : status_write(buffer, &status);
}

long sys_fstat(uint64_t descriptor, uint64_t buffer)
{
    struct file_status status;
    int error = open_status(descriptor, &status);

    return error ? error : status_write(buffer, &status);
}

static struct linux_statx_time statx_time(int64_t ns)
{
    struct linux_timespec time = time_split(ns);

    return (struct linux_statx_time){ .seconds = time.seconds, .nanoseconds = (uint32_t)time.nanoseconds };
}

long sys_statx(uint64_t descriptor, uint64_t path, uint64_t flags, uint64_t mask, uint64_t buffer)
{
    const uint64_t sync_flags = 0x6000;
    struct file_status status;

    if (((uint32_t)mask & STATX_RESERVED) || (flags & sync_flags) == sync_flags)
        return -EINVAL;
    int error = status_at(descriptor, path, flags & ~sync_flags, &status);
    if (error)
        return error;

    struct linux_statx statx = {
        .mask = STATX_BASIC, /* always all of these, which Linux permits */
        .block_size = BLOCK_BYTES,
        .links = (uint32_t)status.links,
        .user = status.user,
        .group = status.group,
        .mode = (uint16_t)status.mode,
        .inode = status.inode,
        .size = status.bytes,
        .blocks = (status.backed_bytes + 511) / 512,
        .access = statx_time(status.accessed_ns),
        .change = statx_time(status.changed_ns),
        .modify = statx_time(status.modified_ns),
        .represented_major = status.represents.major,
        .represented_minor = status.represents.minor,
        .device_minor = status.filesystem + 1,
    };
    return user_write(buffer, &statx, sizeof(statx));
}

/* ---- statfs ---- */

/* The free space of a writable file system is what the caller's slice still has. */
static int filesystem_write(uint64_t buffer, unsigned filesystem)
{
    static const uint32_t types[] = {
        [FILESYSTEM_ROOT] = STATFS_RAMFS,    [FILESYSTEM_TMP] = STATFS_TMPFS, [FILESYSTEM_SHM] = STATFS_TMPFS,
        [FILESYSTEM_UNNAMED] = STATFS_TMPFS, [FILESYSTEM_DEV] = STATFS_TMPFS, [FILESYSTEM_PROC] = STATFS_PROC,
        [FILESYSTEM_SYS] = STATFS_SYS,
    };
    bool writable =
        filesystem == FILESYSTEM_TMP || filesystem == FILESYSTEM_SHM || filesystem == FILESYSTEM_UNNAMED;
    const struct page_pool *pages = arch_process()->vm.pages;
    uint64_t free_blocks = writable ? page_pool_free_bytes(pages) / BLOCK_BYTES : 0;
    struct linux_statfs status = {
        .type = types[filesystem],
        .block_bytes = BLOCK_BYTES,
        .blocks = writable ? (int64_t)(pages->total_bytes / BLOCK_BYTES) : 0,
        .free_blocks = (int64_t)free_blocks,
        .available_blocks = (int64_t)free_blocks,
        .identity = { (int32_t)filesystem + 1, 0 },
        .name_bytes = TREE_NAME_MAX,
        .fragment_bytes = BLOCK_BYTES,
        .flags = STATFS_VALID | (writable ? 0 : STATFS_READ_ONLY),
    };

    return user_write(buffer, &status, sizeof(status));
}

long sys_statfs(uint64_t path, uint64_t buffer)
{
    struct file_status status;
    int error = status_at((uint64_t)AT_FDCWD, path, 0, &status);

    return error ? error : filesystem_write(buffer, status.filesystem);
}

long sys_fstatfs(uint64_t descriptor, uint64_t buffer)
{
    struct file_status status;
    int error = open_status(descriptor, &status);

    return error ? error : filesystem_write(buffer, status.filesystem);
}
