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

struct file_status {
    unsigned filesystem; /* enum filesystem; st_dev is one more, because no device has the number 0 */
    struct device_number represents;
    uint64_t inode, links, bytes, blocks, block_bytes; /* blocks of 512 bytes */
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

/* What a mount has answered. */
static int status_take(const struct mount *mount, int error, const struct mount_status *status,
                       struct file_status *out)
{
    if (!error)
        *out = (struct file_status){
            .filesystem = FILESYSTEM_MOUNTS + mount->index,
            .represents = { (uint32_t)(status->device >> 8), (uint32_t)status->device & 255 },
            .inode = status->number,
            .links = status->links,
            .bytes = status->bytes,
            .blocks = status->blocks,
            .block_bytes = status->block_bytes,
            .accessed_ns = status->accessed_ns,
            .modified_ns = status->modified_ns,
            .changed_ns = status->changed_ns,
            .mode = status->mode,
            .user = status->user,
            .group = status->group,
        };
    return error;
}

/* Of what is open on a mount. */
static int mount_file_status(const struct inode *inode, struct file_status *status)
{
    struct mount_status answer;
    int error = inode->mount->operations->file_status(mount_file_of(inode), &answer);

    return status_take(inode->mount, error, &answer, status);
}

static struct file_status open_file_status(struct file *file)
{
    struct file_status status = { .filesystem = FILESYSTEM_UNNAMED,
                                  .links = 1,
                                  .mode = file->mode,
                                  .inode = file->device,
                                  .block_bytes = BLOCK_BYTES };

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

    int error = 0;

    if (!file)
        return -EBADF;
    if (file->inode && file->inode->mount)
        error = mount_file_status(file->inode, status);
    else
        *status = open_file_status(file);
    file_put(file);
    return error;
}

static int directory_status(struct file_status *status)
{
    struct process *process = arch_process();
    int error = 0;

    spin_lock(&process->tree->lock);
    struct inode *directory = process->directory;
    *status = inode_status(directory, process->directory_tid);
    inode_get(directory);
    spin_unlock(&process->tree->lock);
    if (directory->mount)
        error = mount_file_status(directory, status);
    inode_drop(process->tree, directory);
    return error;
}

static int mount_status_find(struct mount_call *call, bool follow, struct file_status *status)
{
    struct mount_status answer;
    int error = call->mount->operations->status(call, follow, &answer);

    return status_take(call->mount, error, &answer, status);
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

    bool follow = !(flags & AT_SYMLINK_NOFOLLOW);
    long error = path_begin(&path, descriptor, address, follow ? TREE_FOLLOW : TREE_NO_FOLLOW);
    do
        if (error == TREE_LEFT)
            error = mount_status_find(&path.call, follow, status);
        else if (!error)
            *status = inode_status(path.found.inode, path.found.tid);
    while (path_leads_on(&path, &error));
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
        .block_size = (uint32_t)status.block_bytes,
        .links = (uint32_t)status.links,
        .user = status.user,
        .group = status.group,
        .mode = (uint16_t)status.mode,
        .inode = status.inode,
        .size = status.bytes,
        .blocks = status.blocks,
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
static struct linux_statfs filesystem_status(unsigned filesystem)
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

    return (struct linux_statfs){
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
}

static int mount_filesystem(struct mount_call *call, struct linux_statfs *status)
{
    struct mount_statistics answer;
    int error = call->mount->operations->statistics(call, &answer);

    *status = (struct linux_statfs){
        .type = (int64_t)answer.type,
        .block_bytes = (int64_t)answer.block_bytes,
        .blocks = (int64_t)answer.blocks,
        .free_blocks = (int64_t)answer.blocks_free,
        .available_blocks = (int64_t)answer.blocks_available,
        .files = (int64_t)answer.files,
        .free_files = (int64_t)answer.files_free,
        .identity = { (int32_t)(FILESYSTEM_MOUNTS + call->mount->index) + 1, 0 },
        .name_bytes = (int64_t)answer.name_bytes,
        .fragment_bytes = (int64_t)answer.block_bytes,
        .flags = STATFS_VALID,
    };
    return error;
}

long sys_statfs(uint64_t address, uint64_t buffer)
{
    struct linux_statfs status;
    struct path path;
    long result = path_begin(&path, (uint64_t)AT_FDCWD, address, TREE_FOLLOW);

    do
        if (result == TREE_LEFT)
            result = mount_filesystem(&path.call, &status);
        else if (!result)
            status = filesystem_status(path.found.inode->filesystem);
    while (path_leads_on(&path, &result));
    result = path_end(&path, result);
    if (!result)
        result = path_thread_check(path.found.tid);
    return result ? result : user_write(buffer, &status, sizeof(status));
}

long sys_fstatfs(uint64_t descriptor, uint64_t buffer)
{
    struct file *file = file_get(arch_process(), descriptor);
    struct linux_statfs status;
    int error = 0;

    if (!file)
        return -EBADF;
    if (file->inode && file->inode->mount) {
        struct mount_call call = mount_call_of(file->inode);

        error = mount_filesystem(&call, &status);
    } else {
        status = filesystem_status(open_file_status(file).filesystem);
    }
    file_put(file);
    return error ? error : user_write(buffer, &status, sizeof(status));
}

/* On a 64-bit architecture the structure is statfs's own, and `bytes` its size. */
long sys_statfs64(uint64_t address, uint64_t bytes, uint64_t buffer)
{
    return bytes == sizeof(struct linux_statfs) ? sys_statfs(address, buffer) : -EINVAL;
}

long sys_fstatfs64(uint64_t descriptor, uint64_t bytes, uint64_t buffer)
{
    return bytes == sizeof(struct linux_statfs) ? sys_fstatfs(descriptor, buffer) : -EINVAL;
}
