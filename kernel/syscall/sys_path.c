/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_path.c: system calls that take a path and change nothing in the tree, except that openat may create a
 * file: open, access, directories, symbolic links. The status of files is in sys_status.c, calls that change
 * names in sys_name.c.
 */
#include "arch.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "fs/path.h"
#include "process/process.h"
#include "mm/shared_memory.h"
#include "syscall/linux_calls.h"
#include "syscall/syscall.h"

/* ---- Opening ---- */

static bool needs_writing(uint64_t flags)
{
    return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);
}

/* Whether what exists already may be opened with these flags. */
static int open_check(const struct path_lookup *found, uint64_t flags)
{
    const struct inode *inode = found->inode;
    uint32_t kind = inode->mode & S_IFMT;

    if ((flags & O_CREAT) && (flags & O_EXCL))
        return -EEXIST;
    if ((flags & O_CREAT) && kind == S_IFDIR)
        return -EISDIR;
    if (kind == S_IFLNK && !(flags & O_PATH))
        return -ELOOP; /* only with O_NOFOLLOW */
    if (kind != S_IFDIR && (flags & O_DIRECTORY))
        return -ENOTDIR;
    if ((flags & O_PATH) || !needs_writing(flags))
        return 0;
    if (kind == S_IFDIR)
        return -EISDIR;
    if (kind == S_IFREG && inode->device)
        return inode->mode & 0200 ? 0 : -EACCES;
    return kind == S_IFREG && !inode->memory ? -EROFS : 0;
}

/* With the tree's lock. On success the new file has the reference to `memory`. */
static int file_create(struct path *path, uint64_t mode, struct shared_memory *memory)
{
    uint32_t rights = (uint32_t)mode & 07777 & ~arch_process()->umask;

    if (path->found.trailing_slash)
        return -EISDIR;
    if (path->found.directory->filesystem == FILESYSTEM_PROC)
        return -ENOENT; /* the kernel alone makes files there */
    if (!memory)
        return -ENOSPC;
    int error = tree_create(path->tree, &path->found, S_IFREG | rights, NULL, 0, file_wall_clock_ns(),
                            &path->found.inode);
    if (!error)
        path->found.inode->memory = memory;
    return error;
}

/* Finds or creates the inode, and takes a reference to it. The memory of a new file is allocated before the
 * tree is locked, and given back where the file exists. */
static int inode_open(struct path *path, uint64_t directory, uint64_t address, uint64_t flags, uint64_t mode)
{
    bool creates = flags & O_CREAT, exclusive = creates && (flags & O_EXCL);
    struct shared_memory *memory = NULL;
    int error = path_read(path, directory, address, 0);

    if (error)
        return (int)path_end(path, error);
    if (creates)
        memory = shared_memory_create(arch_process()->vm.pages);
    path_lock(path, creates);
    error = path_find(path, (flags & O_NOFOLLOW) || exclusive ? TREE_NO_FOLLOW : TREE_FOLLOW);
    if (error == -ENOENT && path->found.directory && creates)
        error = file_create(path, mode, memory);
    else if (!error)
        error = open_check(&path->found, flags);
    if (!error)
        inode_get(path->found.inode);
    if (memory && (error || path->found.inode->memory != memory))
        shared_memory_put(memory);
    return (int)path_end(path, error);
}

/* Completes `file`, which has its inode, and installs it at a descriptor. */
static int file_complete(struct file *file, uint64_t flags)
{
    struct process *process = file->process;
    int error = path_thread_check(file->tid);

    if (!error)
        error = file_bind(file);
    if (!error && (flags & O_TRUNC) && file->inode->memory && !(flags & O_PATH)) {
        error = shared_memory_resize(file->inode->memory, process->vm.pages, 0);
        file_touch(file->inode);
    }
    return error ? error : file_install(process, file, 0, flags & O_CLOEXEC);
}

long sys_openat(uint64_t directory, uint64_t address, uint64_t flags, uint64_t mode)
{
    struct process *process = arch_process();
    struct path path;

    flags = (uint32_t)flags;
    if (flags & O_TMPFILE_BIT)
        return -EOPNOTSUPP;
    if ((flags & O_CREAT) && (flags & O_DIRECTORY))
        return -EINVAL;

    struct file *file = file_allocate(process);
    if (!file)
        return -EMFILE; /* there are as many open files as descriptors */
    int result = inode_open(&path, directory, address, flags, mode);
    if (!result) {
        file->inode = path.found.inode;
        file->tid = path.found.tid;
        file->flags = (unsigned)flags & ~(unsigned)(O_CLOEXEC | O_CREAT | O_TRUNC | O_EXCL);
        result = file_complete(file, flags);
    }
    file_put(file);
    return result;
}

/* A file without a name, with one reference: shared memory by descriptor. */
static struct inode *unnamed_create(struct process *process)
{
    struct shared_memory *memory = shared_memory_create(process->vm.pages);
    struct inode *inode;

    if (!memory)
        return NULL;
    tree_lock_to_add(process->tree);
    inode = tree_create_unnamed(process->tree, S_IFREG | 0777, file_wall_clock_ns());
    if (inode) {
        inode->memory = memory;
        inode->filesystem = FILESYSTEM_UNNAMED;
    }
    spin_unlock(&process->tree->lock);
    if (!inode) {
        shared_memory_put(memory);
        shared_memory_reclaim();
    }
    return inode;
}

long sys_memfd_create(uint64_t name, uint64_t flags)
{
    struct process *process = arch_process();
    char *text = path_buffer(0);
    struct file *file;

    flags = (uint32_t)flags;
    if (!text)
        return -ENOMEM;
    if (flags & ~(uint64_t)(MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL | MFD_EXEC))
        return -EINVAL;
    int64_t length = user_read_string(text, name, MFD_NAME_MAX + 1);
    if (length < 0)
        return length == -ENAMETOOLONG ? -EINVAL : length;
    file = file_allocate(process);
    if (!file)
        return -EMFILE;
    file->inode = unnamed_create(process);
    file->flags = O_RDWR;
    int result = file->inode ? file_complete(file, flags & MFD_CLOEXEC ? O_CLOEXEC : 0) : -ENOMEM;
    file_put(file);
    return result;
}

/* ---- Permissions ---- */

static int access_check(const struct inode *inode, uint64_t mode)
{
    bool writes = mode & ACCESS_WRITE;

    if (writes && inode->device && !(inode->mode & 0200))
        return -EACCES;
    if (writes && !inode->device && !inode->writable)
        return -EROFS;
    if ((mode & ACCESS_EXECUTE) && mode_is(inode->mode, S_IFREG) && !(inode->mode & 0111))
        return -EACCES;
    return 0;
}

long sys_faccessat2(uint64_t directory, uint64_t address, uint64_t mode, uint64_t flags)
{
    struct path path;

    mode = (uint32_t)mode;
    flags = (uint32_t)flags;
    if ((mode & ~7ULL) || (flags & ~(uint64_t)(AT_SYMLINK_NOFOLLOW | AT_EACCESS | AT_EMPTY_PATH)))
        return -EINVAL;
    if (flags & AT_EMPTY_PATH)
        return -EINVAL;
    long result =
        path_begin(&path, directory, address, flags & AT_SYMLINK_NOFOLLOW ? TREE_NO_FOLLOW : TREE_FOLLOW);
    if (!result)
        result = access_check(path.found.inode, mode);
    result = path_end(&path, result);
    return result ? result : path_thread_check(path.found.tid);
}

/* ---- Directories ---- */

/* Makes one record: its size in bytes, or -EINVAL where it does not fit. */
static int64_t record_make(char *text, uint64_t capacity, const struct inode *inode, uint32_t tid,
                           const char *name, uint64_t name_bytes, uint64_t next)
{
    uint64_t bytes = (sizeof(struct linux_dirent) + name_bytes + 1 + 7) & ~7ULL;
    struct linux_dirent record = {
        .inode = inode_number(inode, tid),
        .next = (int64_t)next,
        .record_bytes = (uint16_t)bytes,
        .type = (uint8_t)(inode->mode >> 12 & 15), /* DT_ values are S_IFMT's bits */
    };

    if (bytes > capacity)
        return -EINVAL;
    memset(text, 0, bytes);
    memcpy(text, &record, sizeof(record));
    memcpy(text + sizeof(record), name, name_bytes);
    return (int64_t)bytes;
}

/* Makes records of what stands at *position and after it, which advances; 0 at the end. With the tree's lock.
 * 0 is the position of ".", 1 of "..", then come those of the entries, some of which may have been removed.
 */
static int64_t records_make(const struct tree *tree, const struct inode *directory, uint32_t tid,
                            uint64_t *position, char *text, uint64_t capacity)
{
    int64_t used = 0, made;

    if (directory != tree->root && directory->links == 0)
        return -ENOENT;
    for (;; used += made) {
        uint64_t at = *position;

        if (at < 2) {
            made = record_make(text + used, capacity - (uint64_t)used,
                               at ? tree_parent(tree, directory) : directory, at ? 0 : tid, "..", at + 1,
                               at + 1);
        } else {
            const struct directory_entry *entry = tree_entry_at(directory, at);

            if (!entry)
                return used;
            at = entry->position;
            made = tree_entry_visible(entry)
                       ? record_make(text + used, capacity - (uint64_t)used, entry->inode, tid, entry->name,
                                     entry->name_bytes, at + 1)
                       : 0;
        }
        if (made < 0)
            return used ? used : made;
        *position = at + 1;
    }
}

/* The same for a directory of threads, after "..": one record. In the order of their numbers, so that a
 * thread is listed once, and those that stay are all listed, whoever begins and ends. Without the tree's
 * lock. */
static int64_t thread_record_make(const struct inode *directory, uint64_t *position, char *text,
                                  uint64_t capacity)
{
    uint32_t tid = (uint32_t)(*position < UINT32_MAX ? *position - 1 : UINT32_MAX);
    const struct inode *inode = directory->operations->next_thread(&tid);
    char name[12];

    if (!inode)
        return 0;
    *position = tid + 2;
    return record_make(text, capacity, inode, tid, name, format_text(name, sizeof(name), "%u", tid),
                       *position);
}

/* Page by page, and copied without the tree's lock. With the file's. */
static int64_t directory_read(struct tree *tree, struct file *file, uint64_t buffer, uint64_t bytes)
{
    char *text = path_buffer(0);
    uint64_t used = 0;

    if (!text)
        return -ENOMEM;
    for (;;) {
        uint64_t position = file->offset, room = bytes - used;

        spin_lock(&tree->lock);
        int64_t made = records_make(tree, file->inode, file->tid, &position, text,
                                    room < TREE_PATH_MAX ? room : TREE_PATH_MAX);
        spin_unlock(&tree->lock);
        if (made == 0 && file->inode->operations && file->inode->operations->next_thread)
            made = thread_record_make(file->inode, &position, text, room);
        if (made > 0 && user_write(buffer + used, text, (uint64_t)made))
            made = -EFAULT;
        if (made <= 0)
            return used ? (int64_t)used : made;
        file->offset = position;
        used += (uint64_t)made;
    }
}

long sys_getdents64(uint64_t descriptor, uint64_t buffer, uint64_t bytes)
{
    struct file *file = file_get(arch_process(), descriptor);
    int64_t result = -ENOTDIR;

    if (!file)
        return -EBADF;
    if (file->flags & O_PATH)
        result = -EBADF;
    else if (file->inode && mode_is(file->inode->mode, S_IFDIR)) {
        spin_lock_own(&file->lock);
        result = directory_read(file->process->tree, file, buffer,
                                bytes < DIRECTORY_READ_MAX ? bytes : DIRECTORY_READ_MAX);
        spin_unlock_own(&file->lock);
    }
    file_put(file);
    return result;
}

long sys_getcwd(uint64_t buffer, uint64_t bytes)
{
    struct process *process = arch_process();
    char *path = path_buffer(0);

    if (!path)
        return -ENOMEM;
    spin_lock(&process->tree->lock);
    int64_t length = thread_path(process->directory, process->directory_tid, path, TREE_PATH_MAX);
    if (!length)
        length = tree_path(process->tree, process->directory, path, TREE_PATH_MAX);
    spin_unlock(&process->tree->lock);
    if (length < 0)
        return length == -ERANGE ? -ENAMETOOLONG : length;
    if ((uint64_t)length + 1 > bytes)
        return -ERANGE;
    return user_write(buffer, path, (uint64_t)length + 1) ? -EFAULT : length + 1;
}

/* With the caller's reference to the inode, which it takes over. */
static int directory_change(struct tree *tree, struct inode *inode, uint32_t tid)
{
    struct process *process = arch_process();
    int error = mode_is(inode->mode, S_IFDIR) ? path_thread_check(tid) : -ENOTDIR;

    SPIN_GUARD(&tree->lock);
    struct inode *old = process->directory;
    if (!error) {
        process->directory = inode;
        process->directory_tid = tid;
    }
    inode_put(tree, error ? inode : old);
    return error;
}

long sys_chdir(uint64_t address)
{
    struct path path;
    long result = path_begin(&path, (uint64_t)AT_FDCWD, address, TREE_FOLLOW);

    if (!result)
        inode_get(path.found.inode);
    result = path_end(&path, result);
    return result ? result : directory_change(path.tree, path.found.inode, path.found.tid);
}

long sys_fchdir(uint64_t descriptor)
{
    struct file *file = file_get(arch_process(), descriptor);
    struct tree *tree = arch_process()->tree;
    int error = -ENOTDIR;

    if (!file)
        return -EBADF;
    if (file->inode) {
        spin_lock(&tree->lock);
        inode_get(file->inode);
        spin_unlock(&tree->lock);
        error = directory_change(tree, file->inode, file->tid);
    }
    file_put(file);
    return error;
}

/* Where a link leads, as far as `bytes` reach, in the CPU's second buffer: its length. With the tree's lock.
 */
static long link_read(const struct tree *tree, const struct inode *link, uint64_t bytes)
{
    char *text = path_buffer(1);

    if (!mode_is(link->mode, S_IFLNK))
        return -EINVAL;
    if (!text)
        return -ENOMEM;
    if (bytes > TREE_PATH_MAX)
        bytes = TREE_PATH_MAX;
    if (!link->operations) {
        bytes = bytes < link->bytes ? bytes : link->bytes;
        memcpy(text, link->data, bytes);
        return (long)bytes;
    }
    int64_t written = link->operations->read_link(tree, link, text, TREE_PATH_MAX);
    return written < (int64_t)bytes ? written : (long)bytes;
}

/* Of a symbolic link that is open itself (O_PATH, O_NOFOLLOW). */
static long open_link_read(uint64_t descriptor, uint64_t bytes)
{
    struct file *file = file_get(arch_process(), descriptor);
    struct tree *tree = arch_process()->tree;
    long result = -ENOENT;

    if (!file)
        return -EBADF;
    if (file->inode && mode_is(file->inode->mode, S_IFLNK)) {
        spin_lock(&tree->lock);
        result = link_read(tree, file->inode, bytes);
        spin_unlock(&tree->lock);
    }
    file_put(file);
    return result;
}

static long path_link_read(uint64_t directory, uint64_t address, uint64_t bytes)
{
    struct path path;
    long result = path_begin(&path, directory, address, TREE_NO_FOLLOW);

    if (!result)
        result = link_read(path.tree, path.found.inode, bytes);
    return path_end(&path, result);
}

long sys_readlinkat(uint64_t directory, uint64_t address, uint64_t buffer, uint64_t bytes)
{
    char first;

    if ((int32_t)bytes <= 0)
        return -EINVAL;
    if (user_read(&first, address, 1))
        return -EFAULT;
    long length = !first && (int32_t)directory != AT_FDCWD ? open_link_read(directory, bytes)
                                                           : path_link_read(directory, address, bytes);
    if (length <= 0)
        return length;
    return user_write(buffer, path_buffer(1), (uint64_t)length) ? -EFAULT : length;
}
