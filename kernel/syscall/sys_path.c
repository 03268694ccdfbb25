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
#include "mm/page.h"
#include "mm/shared_memory.h"
#include "syscall/linux_calls.h"
#include "syscall/syscall.h"

/* ---- Opening ---- */

/* Returns 0 if an existing file may be opened with these flags, else why not. */
static int open_check(const struct path_lookup *found, uint64_t flags)
{
    const struct inode *inode = found->inode;
    uint32_t kind = inode->mode & S_IFMT;
    bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);

    if ((flags & O_CREAT) && (flags & O_EXCL))
        return -EEXIST;
    if ((flags & O_CREAT) && kind == S_IFDIR)
        return -EISDIR;
    if (kind == S_IFLNK && !(flags & O_PATH))
        return -ELOOP; /* only with O_NOFOLLOW */
    if (kind != S_IFDIR && (flags & O_DIRECTORY))
        return -ENOTDIR;
    if ((flags & O_PATH) || !writes)
        return 0;
    if (kind == S_IFDIR)
        return -EISDIR;
    if (kind == S_IFREG && inode->device)
        return inode->mode & 0200 ? 0 : -EACCES;
    return kind == S_IFREG && !inode->memory ? -EROFS : 0;
}

/* Opens a file on a mount; its inode becomes path->found.inode. Called without locks. */
static int mount_open(struct path *path, uint64_t flags, uint32_t mode)
{
    struct mount_file *file;
    int error = path->call.mount->operations->open(&path->call, (unsigned)flags, mode, &file);

    if (error)
        return error;
    path->found = (struct path_lookup){ .inode = mount_inode_create(path->tree, file) };
    return path->found.inode ? 0 : -ENOMEM;
}

/* Creates a file. On success it has the reference to `memory`. The caller holds the tree's lock. */
static int file_create(struct path *path, uint32_t rights, struct shared_memory *memory)
{
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

/* Finds or creates a file of the tree, and takes a reference to it. The caller holds the tree's lock. */
static long tree_open(struct path *path, uint64_t flags, uint32_t rights, struct shared_memory *memory)
{
    int error = path->found.inode ? open_check(&path->found, flags) : file_create(path, rights, memory);

    if (!error)
        inode_get(path->found.inode);
    return error;
}

/* Finds or creates the inode, and takes a reference to it. The memory of a new file is allocated before the
 * tree is locked, and given back if the file exists. */
static int inode_open(struct path *path, uint64_t directory, uint64_t address, uint64_t flags, uint64_t mode)
{
    bool creates = flags & O_CREAT, exclusive = creates && (flags & O_EXCL);
    uint32_t rights = (uint32_t)mode & 07777 & ~arch_process()->umask;
    struct shared_memory *memory = NULL;
    long error = path_read(path, directory, address, 0);

    if (error)
        return (int)path_end(path, error);
    if (creates)
        memory = shared_memory_create(arch_process()->vm.pages);
    error = path_look_up(path, (flags & O_NOFOLLOW) || exclusive ? TREE_NO_FOLLOW : TREE_FOLLOW, creates);
    while (path_leads(path, &error))
        error = error == TREE_LEFT ? mount_open(path, flags, rights) : tree_open(path, flags, rights, memory);
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
        error = shared_memory_size(file->inode->memory, process->vm.pages, 0, SIZE_RESIZE);
        file_touch(file->inode);
        file_notify(file, TREE_MODIFY);
    }
    if (!error && !(flags & O_PATH))
        file_notify(file, TREE_OPEN);
    return error ? error : file_install(process, file, 0, flags & O_CLOEXEC);
}

long path_open(uint64_t directory, uint64_t address, uint64_t flags, uint64_t mode)
{
    struct process *process = arch_process();
    struct path path;

    flags = (uint32_t)flags;
    if (flags & O_TMPFILE_BIT)
        return -EOPNOTSUPP;
    if ((flags & O_CREAT) && (flags & O_DIRECTORY))
        return -EINVAL;

    FILE_REFERENCE file = NULL;
    int error = files_allocate(process, &file, 1);
    if (!error)
        error = inode_open(&path, directory, address, flags, mode);
    if (error)
        return error;
    if (!path.found.entry) /* it was missing, or is on a mount, which has truncated it */
        flags &= ~(uint64_t)O_TRUNC;
    file->inode = path.found.inode;
    file->tid = path.found.tid;
    file->flags = ((unsigned)flags & ~(unsigned)(O_CLOEXEC | O_CREAT | O_TRUNC | O_EXCL)) |
                  (flags & O_PATH ? 0 : O_LARGEFILE);
    return file_complete(file, flags);
}

long regular_make(uint64_t directory, uint64_t address, uint64_t mode)
{
    struct path path;
    int error = inode_open(&path, directory, address, O_CREAT | O_EXCL | O_WRONLY, mode);

    if (!error)
        inode_drop(path.tree, path.found.inode);
    return error;
}

/* Creates a file without a name, with one reference: shared memory by descriptor. Returns NULL if there is no
 * memory. */
static struct inode *unnamed_create(struct process *process)
{
    struct shared_memory *memory = shared_memory_create(process->vm.pages);
    struct inode *inode;

    if (!memory)
        return NULL;
    tree_lock_to_add(process->tree);
    inode = inode_create_writable(process->tree, S_IFREG | 0777, file_wall_clock_ns());
    if (inode) {
        inode->references = 1;
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

    flags = (uint32_t)flags;
    if (!text)
        return -ENOMEM;
    if (flags & ~(uint64_t)(MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL | MFD_EXEC))
        return -EINVAL;
    int64_t length = user_read_string(text, name, MFD_NAME_MAX + 1);
    if (length < 0)
        return length == -ENAMETOOLONG ? -EINVAL : length;
    FILE_REFERENCE file = NULL;
    int error = files_allocate(process, &file, 1);
    if (error)
        return error;
    file->inode = unnamed_create(process);
    file->flags = O_RDWR | O_LARGEFILE;
    return file->inode ? file_complete(file, flags & MFD_CLOEXEC ? O_CLOEXEC : 0) : -ENOMEM;
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

/* Checks access as the superuser's, whatever the server will say. */
static int mount_access_check(struct mount_call *call, bool follow, uint64_t mode)
{
    struct mount_status status;
    int error = call->mount->operations->status(call, follow, &status);

    if (!error && (mode & ACCESS_EXECUTE) && mode_is(status.mode, S_IFREG) && !(status.mode & 0111))
        return -EACCES;
    return error;
}

long sys_faccessat2(uint64_t directory, uint64_t address, uint64_t mode, uint64_t flags)
{
    struct path path;

    mode = (uint32_t)mode;
    flags = (uint32_t)flags;
    if ((mode & ~7ULL) || (flags & ~(uint64_t)(AT_SYMLINK_NOFOLLOW | AT_EACCESS)))
        return -EINVAL;
    bool follow = !(flags & AT_SYMLINK_NOFOLLOW);
    long result = path_begin(&path, directory, address, follow ? TREE_FOLLOW : TREE_NO_FOLLOW);
    while (path_leads(&path, &result))
        result = result == TREE_LEFT ? mount_access_check(&path.call, follow, mode)
                                     : access_check(path.found.inode, mode);
    result = path_end(&path, result);
    return result ? result : path_thread_check(path.found.tid);
}

/* ---- Directories ---- */

/* Fills *entry; `next` is the position after it. */
static void entry_set(struct mount_entry *entry, const struct inode *inode, uint32_t tid, const char *name,
                      uint64_t name_bytes, uint64_t next)
{
    entry->number = inode_number(inode, tid);
    entry->next = next;
    entry->type = inode->mode >> 12 & 15; /* DT_ values are S_IFMT's bits */
    entry->name_bytes = (uint16_t)name_bytes;
    memcpy(entry->name, name, name_bytes);
}

/* Finds the entry at a position of a directory of the tree or after it, as mount_operations.list: 1, or 0 at
 * the end. Position 0 is ".", 1 is ".."; then come those of the entries, some of which may have been
 * removed. */
static int tree_list(const struct file *file, uint64_t position, struct mount_entry *entry)
{
    const struct inode *directory = file->inode;
    const struct directory_entry *found;
    struct tree *tree = file->process->tree;

    SPIN_GUARD(&tree->lock);
    if (directory != tree->root && directory->links == 0)
        return -ENOENT;
    if (position == 0)
        entry_set(entry, directory, file->tid, ".", 1, 1);
    else if (position == 1)
        entry_set(entry, tree_parent(tree, directory), 0, "..", 2, 2);
    if (position < 2)
        return 1;
    while ((found = tree_entry_at(directory, position)) && !tree_entry_visible(found))
        position = found->node.key + 1;
    if (found)
        entry_set(entry, found->inode, file->tid, found->name, found->name_bytes, found->node.key + 1);
    return found != NULL;
}

/* Does the same for numbered entries, before the directory's own. They are in the order of their tids, so
 * each is listed once, and all that stay are listed, even if threads begin and end meanwhile. Called without
 * the tree's lock. */
static int numbered_list(const struct file *file, uint64_t position, struct mount_entry *entry)
{
    uint32_t tid = (uint32_t)(position - 1);
    const struct inode *inode = file->inode->operations->next_numbered(file->inode, &tid);
    char name[24];

    if (!inode)
        return 0;
    size_t length = format_text(name, sizeof(name), "%s%u", inode->name->name, tree_number_of(tid));
    entry_set(entry, inode, tid, name, length, tid + 2ULL);
    return 1;
}

static int directory_list(const struct file *file, uint64_t position, struct mount_entry *entry)
{
    struct mount_file *on_mount = mount_file_of(file->inode);

    if (file->inode->mount)
        return on_mount->mount->operations->list(on_mount, position, entry);
    const struct inode_operations *operations = file->inode->operations;
    bool numbered = operations && operations->next_numbered && position >= 2 && position < UINT32_MAX;
    return numbered && numbered_list(file, position, entry) ? 1 : tree_list(file, position, entry);
}

/* Copies entries to the program one by one. The caller has locked the file's offset. */
static int64_t entries_read(struct file *file, uint64_t buffer, uint64_t bytes)
{
    char text[sizeof(struct linux_dirent) + TREE_NAME_MAX + 8];
    struct mount_entry entry;
    uint64_t used = 0;
    int error;

    while ((error = directory_list(file, file->offset, &entry)) > 0) {
        uint64_t record_bytes = (sizeof(struct linux_dirent) + entry.name_bytes + 1ULL + 7) & ~7ULL;
        struct linux_dirent record = {
            .inode = entry.number,
            .next = (int64_t)entry.next,
            .record_bytes = (uint16_t)record_bytes,
            .type = entry.type,
        };

        error = -EINVAL;
        if (record_bytes > smaller(sizeof(text), bytes - used))
            break;
        memset(text, 0, record_bytes);
        memcpy(text, &record, sizeof(record));
        memcpy(text + sizeof(record), entry.name, entry.name_bytes);
        error = user_write(buffer + used, text, record_bytes);
        if (error)
            break;
        used += record_bytes;
        file->offset = entry.next;
    }
    return used ? (int64_t)used : error;
}

long directory_read(struct file *file, uint64_t buffer, uint64_t bytes)
{
    bytes = smaller((uint32_t)bytes, DIRECTORY_READ_MAX);
    if (!file->inode || !mode_is(file->inode->mode, S_IFDIR))
        return -ENOTDIR;
    if (!file->operations->waits) {
        SPIN_GUARD_OWN(&file->lock);
        int64_t result = entries_read(file, buffer, bytes);
        file_notify(file, TREE_ACCESS);
        return result;
    }
    int error = file_offset_claim(file);
    if (error)
        return error;
    int64_t result = entries_read(file, buffer, bytes);
    file_offset_release(file);
    return result;
}

long sys_getcwd(uint64_t buffer, uint64_t bytes)
{
    struct process *process = arch_process();
    char *path = path_buffer(0);

    if (!path)
        return -ENOMEM;
    spin_lock(&process->tree->lock);
    int64_t length =
        inode_path(process->tree, process->directory, process->directory_tid, path, TREE_PATH_MAX);
    spin_unlock(&process->tree->lock);
    if (length < 0)
        return length == -ERANGE ? -ENAMETOOLONG : length;
    if ((uint64_t)length + 1 > bytes)
        return -ERANGE;
    return user_write(buffer, path, (uint64_t)length + 1) ? -EFAULT : length + 1;
}

/* Makes an inode the current directory. Takes over the caller's reference to it, also on errors. */
static int directory_change(struct tree *tree, struct inode *inode, uint32_t tid)
{
    struct process *process = arch_process();
    int error = mode_is(inode->mode, S_IFDIR) ? path_thread_check(tid) : -ENOTDIR;

    spin_lock(&tree->lock);
    struct inode *old = process->directory;
    if (!error) {
        process->directory = inode;
        process->directory_tid = tid;
    }
    spin_unlock(&tree->lock);
    inode_drop(tree, error ? inode : old);
    return error;
}

long sys_chdir(uint64_t address)
{
    struct path path;
    long result = path_begin(&path, (uint64_t)AT_FDCWD, address, TREE_FOLLOW);

    while (path_leads(&path, &result))
        if (result == TREE_LEFT)
            result = mount_open(&path, O_PATH | O_DIRECTORY, 0);
        else
            inode_get(path.found.inode);
    result = path_end(&path, result);
    return result ? result : directory_change(path.tree, path.found.inode, path.found.tid);
}

long sys_fchdir(uint64_t descriptor)
{
    FILE_REFERENCE file = file_of(descriptor);
    struct tree *tree = arch_process()->tree;

    if (!file)
        return -EBADF;
    if (!file->inode)
        return -ENOTDIR;
    spin_lock(&tree->lock);
    inode_get(file->inode);
    spin_unlock(&tree->lock);
    return directory_change(tree, file->inode, file->tid);
}

/* Copies a link's target to `text`, as far as `bytes` reach; returns its length. The caller holds the tree's
 * lock. */
static long link_read(const struct tree *tree, const struct path_lookup *found, char *text, uint64_t bytes)
{
    const struct inode *link = found->inode;

    if (!mode_is(link->mode, S_IFLNK))
        return -EINVAL;
    if (!text)
        return -ENOMEM;
    if (!link->operations) {
        bytes = bytes < link->bytes ? bytes : link->bytes;
        memcpy(text, link->data, bytes);
        return (long)bytes;
    }
    int64_t written = link->operations->read_link(tree, found->tid, text);
    return written < (int64_t)bytes ? written : (long)bytes;
}

/* Finds a symbolic link that is open itself (O_PATH, O_NOFOLLOW), as a lookup of the path "" from it
 * would. */
static int open_link_find(struct path *path, uint64_t descriptor)
{
    *path = (struct path){ .tree = arch_process()->tree, .file = file_of(descriptor) };
    path->text = path_buffer(0);
    if (!path->file || !path->text)
        return path->file ? -ENOMEM : -EBADF;

    struct inode *inode = path->file->inode;
    if (!inode || !mode_is(inode->mode, S_IFLNK))
        return -ENOENT;
    path->text[0] = '\0';
    path->found.inode = inode;
    path->found.tid = path->file->tid;
    path_lock(path, false);
    if (!inode->mount)
        return 0;
    inode_get(inode);
    path->start = inode;
    path_unlock(path);
    return path_depart(path);
}

long sys_readlinkat(uint64_t directory, uint64_t address, uint64_t buffer, uint64_t bytes)
{
    const char *text = NULL;
    struct path path;
    char first;

    if ((int32_t)bytes <= 0)
        return -EINVAL;
    if (user_read(&first, address, 1))
        return -EFAULT;
    bytes = smaller((uint32_t)bytes, TREE_PATH_MAX);
    long result = !first && (int32_t)directory != AT_FDCWD
                      ? open_link_find(&path, directory)
                      : path_begin(&path, directory, address, TREE_NO_FOLLOW);
    while (path_leads(&path, &result))
        if (result == TREE_LEFT) {
            result = path.call.mount->operations->read_link(&path.call, path.extra, bytes);
            text = path.extra;
        } else {
            result = link_read(path.tree, &path.found, path_buffer(1), bytes);
            text = path_buffer(1);
        }
    path_unlock(&path);
    if (result > 0 && user_write(buffer, text, (uint64_t)result))
        result = -EFAULT;
    return path_end(&path, result);
}
