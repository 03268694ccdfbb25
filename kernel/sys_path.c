/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_path.c: system calls that take a path or tell about a file: open, stat, directories, links. The tree is
 * read-only.
 */
#include "arch.h"
#include "errno.h"
#include "kstring.h"
#include "linux_abi.h"
#include "proc.h"
#include "process.h"
#include "syscall.h"

#define BLOCK_BYTES 4096

/* Where a relative path starts: the current directory, or the directory behind a descriptor. */
static int directory_of(uint64_t descriptor, struct tree_node **out)
{
    struct process *process = arch_process();

    if ((int32_t)descriptor == AT_FDCWD) {
        *out = process->directory;
        return 0;
    }

    struct file *file = file_get(process, (uint32_t)descriptor);
    if (!file)
        return -EBADF;
    if (!file->node || (file->node->mode & S_IFMT) != S_IFDIR)
        return -ENOTDIR;
    *out = file->node;
    return 0;
}

/* The node that (descriptor, path) means. */
static int path_resolve(uint64_t descriptor, uint64_t path_address, bool follow_last, struct tree_node **out)
{
    struct process *process = arch_process();
    char *path = process->path;
    struct tree_node *directory = process->directory;
    int64_t length = user_read_string(path, path_address, sizeof(process->path));
    int error = 0;

    if (length < 0)
        return (int)length;
    length = proc_path_own(path, (uint64_t)length, sizeof(process->path), process->pid);
    if (length < 0)
        return (int)length;
    if (path[0] != '/')
        error = directory_of(descriptor, &directory);
    return error ? error : tree_lookup(process->tree, directory, path, follow_last, out);
}

/* ---- Opening ---- */

long sys_openat(uint64_t directory, uint64_t path, uint64_t flags, uint64_t mode)
{
    struct process *process = arch_process();
    struct tree_node *node;
    struct file *file;
    int error;

    flags = (uint32_t)flags;
    error = path_resolve(directory, path, !(flags & O_NOFOLLOW), &node);
    (void)mode; /* of a file to be created, which a read-only tree refuses */
    if (error == -ENOENT && (flags & O_CREAT))
        return -EROFS;
    if (error)
        return error;

    uint32_t kind = node->mode & S_IFMT;
    if ((flags & O_CREAT) && (flags & O_EXCL))
        return -EEXIST;
    if ((flags & O_CREAT) && kind == S_IFDIR)
        return -EISDIR;
    if (kind == S_IFLNK && !(flags & O_PATH))
        return -ELOOP; /* only with O_NOFOLLOW */
    if (kind != S_IFDIR && (flags & O_DIRECTORY))
        return -ENOTDIR;
    if ((flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC)) {
        if (kind == S_IFDIR)
            return -EISDIR;
        if (kind == S_IFREG && !node->device)
            return -EROFS;
        if (kind == S_IFREG && !(node->mode & 0200))
            return -EACCES;
    }

    file = file_allocate(process);
    if (!file)
        return -EMFILE; /* as many open files as descriptors */
    file->node = node;
    file->flags = (unsigned)flags & ~(unsigned)(O_CLOEXEC | O_CREAT | O_TRUNC);
    error = file_bind(process, file);
    if (error)
        return error;

    int descriptor = file_install(process, file, 0, flags & O_CLOEXEC);
    if (descriptor < 0 && file->operations->release)
        file->operations->release(file);
    return descriptor;
}

long sys_open(uint64_t path, uint64_t flags, uint64_t mode)
{
    return sys_openat((uint64_t)AT_FDCWD, path, flags, mode);
}

long sys_faccessat(uint64_t directory, uint64_t path, uint64_t mode)
{
    struct tree_node *node;
    int error;

    mode = (uint32_t)mode;
    if (mode & ~7ULL)
        return -EINVAL;
    error = path_resolve(directory, path, true, &node);
    if (error)
        return error;
    if ((mode & ACCESS_WRITE) && node->device && !(node->mode & 0200))
        return -EACCES;
    if ((mode & ACCESS_WRITE) && !node->device)
        return -EROFS;
    if ((mode & 1) && (node->mode & S_IFMT) == S_IFREG && !(node->mode & 0111))
        return -EACCES;
    return 0;
}

long sys_access(uint64_t path, uint64_t mode)
{
    return sys_faccessat((uint64_t)AT_FDCWD, path, mode);
}

/* ---- Telling about files ---- */

struct file_status {
    uint64_t inode, links, bytes, mtime_s;
    uint32_t mode;
};

static struct file_status node_status(const struct tree_node *node)
{
    return (struct file_status){ .inode = node->inode,
                                 .links = node->links ? node->links : 1,
                                 .bytes = node->bytes,
                                 .mtime_s = node->mtime_s,
                                 .mode = node->mode };
}

static struct file_status open_file_status(const struct file *file)
{
    struct file_status status = { .links = 1, .mode = file->mode, .inode = file->device };

    return file->node ? node_status(file->node) : status;
}

static int status_write(uint64_t buffer, const struct file_status *status)
{
    struct linux_stat stat = {
        .device = 1,
        .inode = status->inode,
        .links = status->links,
        .mode = status->mode,
        .size = (int64_t)status->bytes,
        .block_size = BLOCK_BYTES,
        .blocks = (int64_t)((status->bytes + 511) / 512),
        .access_s = status->mtime_s,
        .modify_s = status->mtime_s,
        .change_s = status->mtime_s,
    };

    return user_write(buffer, &stat, sizeof(stat));
}

/* Looks up (descriptor, path, flags) as the *at calls with AT_EMPTY_PATH do. */
static int status_at(uint64_t descriptor, uint64_t path, uint64_t flags, struct file_status *status)
{
    struct tree_node *node;
    char first;
    int error;

    flags = (uint32_t)flags;
    if (flags & ~(uint64_t)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | AT_NO_AUTOMOUNT))
        return -EINVAL;
    if (flags & AT_EMPTY_PATH) {
        if (path && user_read(&first, path, 1))
            return -EFAULT;
        if ((!path || !first) && (int32_t)descriptor == AT_FDCWD) {
            *status = node_status(arch_process()->directory);
            return 0;
        }
        if (!path || !first) {
            struct file *file = file_get(arch_process(), (uint32_t)descriptor);

            if (!file)
                return -EBADF;
            *status = open_file_status(file);
            return 0;
        }
    }
    error = path_resolve(descriptor, path, !(flags & AT_SYMLINK_NOFOLLOW), &node);
    if (!error)
        *status = node_status(node);
    return error;
}

long sys_newfstatat(uint64_t descriptor, uint64_t path, uint64_t buffer, uint64_t flags)
{
    struct file_status status;
    int error = status_at(descriptor, path, flags, &status);

    return error ? error : status_write(buffer, &status);
}

long sys_stat(uint64_t path, uint64_t buffer)
{
    return sys_newfstatat((uint64_t)AT_FDCWD, path, buffer, 0);
}

long sys_lstat(uint64_t path, uint64_t buffer)
{
    return sys_newfstatat((uint64_t)AT_FDCWD, path, buffer, AT_SYMLINK_NOFOLLOW);
}

long sys_fstat(uint64_t descriptor, uint64_t buffer)
{
    struct file *file = file_get(arch_process(), descriptor);

    if (!file)
        return -EBADF;

    struct file_status status = open_file_status(file);
    return status_write(buffer, &status);
}

long sys_statx(uint64_t descriptor, uint64_t path, uint64_t flags, uint64_t mask, uint64_t buffer)
{
    const uint64_t sync_flags = 0x6000;
    struct file_status status;
    int error = status_at(descriptor, path, flags & ~sync_flags, &status);

    (void)mask; /* the basic fields come always, as Linux may do */
    if (error)
        return error;

    struct linux_statx_time time = { .seconds = (int64_t)status.mtime_s };
    struct linux_statx statx = {
        .mask = STATX_BASIC,
        .block_size = BLOCK_BYTES,
        .links = (uint32_t)status.links,
        .mode = (uint16_t)status.mode,
        .inode = status.inode,
        .size = status.bytes,
        .blocks = (status.bytes + 511) / 512,
        .access = time,
        .change = time,
        .modify = time,
        .device_minor = 1,
    };
    return user_write(buffer, &statx, sizeof(statx));
}

/* ---- Directories and links ---- */

static uint64_t directory_entry_kind(uint32_t mode)
{
    return mode >> 12 & 15; /* DT_ values are S_IFMT's bits */
}

/* The offset in a directory is an entry's position: 0 ".", 1 "..", 2 the first child. */
long sys_getdents64(uint64_t descriptor, uint64_t buffer, uint64_t bytes)
{
    struct file *file = file_get(arch_process(), descriptor);
    uint64_t used = 0;

    if (!file)
        return -EBADF;
    if (!file->node || (file->node->mode & S_IFMT) != S_IFDIR)
        return -ENOTDIR;

    const struct tree_node *child = file->node->child;
    for (uint64_t skip = 2; child && skip < file->offset; skip++)
        child = child->next;
    for (;;) {
        const struct tree_node *node = file->offset == 0   ? file->node
                                       : file->offset == 1 ? file->node->parent
                                                           : child;
        const char *name = file->offset == 0 ? "." : file->offset == 1 ? ".." : node ? node->name : NULL;

        if (!name)
            return (long)used;

        uint64_t name_bytes = file->offset < 2 ? strlen(name) : node->name_bytes;
        uint64_t record_bytes = (sizeof(struct linux_dirent) + name_bytes + 1 + 7) & ~7ULL;
        struct linux_dirent entry = {
            .inode = node->inode,
            .next = (int64_t)file->offset + 1,
            .record_bytes = (uint16_t)record_bytes,
            .type = (uint8_t)directory_entry_kind(node->mode),
        };

        if (record_bytes > bytes - used)
            return used ? (long)used : -EINVAL;
        if (user_clear(buffer + used, record_bytes) || user_write(buffer + used, &entry, sizeof(entry)) ||
            user_write(buffer + used + sizeof(entry), name, name_bytes))
            return used ? (long)used : -EFAULT;
        used += record_bytes;
        if (file->offset >= 2)
            child = child->next;
        file->offset++;
    }
}

long sys_getcwd(uint64_t buffer, uint64_t bytes)
{
    char path[512];
    struct process *process = arch_process();
    int64_t length = tree_path(process->tree, process->directory, path, sizeof(path));

    if (length < 0)
        return length;
    if ((uint64_t)length + 1 > bytes)
        return -ERANGE;
    return user_write(buffer, path, (uint64_t)length + 1) ? -EFAULT : length + 1;
}

long sys_chdir(uint64_t path)
{
    struct tree_node *node;
    int error = path_resolve((uint64_t)AT_FDCWD, path, true, &node);

    if (error)
        return error;
    if ((node->mode & S_IFMT) != S_IFDIR)
        return -ENOTDIR;
    arch_process()->directory = node;
    return 0;
}

long sys_readlinkat(uint64_t directory, uint64_t path, uint64_t buffer, uint64_t bytes)
{
    struct tree_node *node;
    int error;

    if ((int64_t)bytes <= 0)
        return -EINVAL;
    error = path_resolve(directory, path, false, &node);
    if (error)
        return error;
    if ((node->mode & S_IFMT) != S_IFLNK)
        return -EINVAL;
    if (bytes > node->bytes)
        bytes = node->bytes;
    return user_write(buffer, node->data, bytes) ? -EFAULT : (long)bytes;
}

long sys_readlink(uint64_t path, uint64_t buffer, uint64_t bytes)
{
    return sys_readlinkat((uint64_t)AT_FDCWD, path, buffer, bytes);
}
