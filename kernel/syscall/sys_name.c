/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_name.c: system calls that change names in the tree: creating, linking, removing and renaming. The rules
 * are in fs/tree/change.c.
 */
#include "arch.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "fs/mount_file.h"
#include "fs/path.h"
#include "process/process.h"
#include "syscall/linux_calls.h"
#include "syscall/syscall.h"

/* Returns 0 after a lookup for a name to create, if at most the last component is missing; else `error`. */
static long target_check(const struct path *path, long error)
{
    return error == -ENOENT && path->found.directory ? 0 : error;
}

/* ---- Creating, linking ---- */

long sys_mkdirat(uint64_t directory, uint64_t address, uint64_t mode)
{
    uint32_t rights = (uint32_t)mode & 01777 & ~arch_process()->umask;
    struct inode *inode;
    struct path path;
    long result = path_begin(&path, directory, address, TREE_NAME);

    while (path_leads(&path, &result))
        result = result == TREE_LEFT ? path.call.mount->operations->make_directory(&path.call, rights)
                                     : tree_create(path.tree, &path.found, S_IFDIR | rights, NULL, 0,
                                                   file_wall_clock_ns(), &inode);
    return path_end(&path, result);
}

/* Makes a FIFO, or a symbolic link to `text`. The caller holds the tree's lock. */
static long special_create(struct path *path, uint32_t mode, const char *text, uint64_t bytes)
{
    struct inode *inode;

    if (path->found.trailing_slash)
        return path->found.inode ? -EEXIST : -ENOENT;
    int error = tree_create(path->tree, &path->found, mode, text, bytes, file_wall_clock_ns(), &inode);
    if (!error && mode_is(mode, S_IFIFO))
        inode->device = 1; /* not a file with bytes */
    return error;
}

/* Makes a FIFO, or a regular file, as without a type. */
long sys_mknodat(uint64_t directory, uint64_t address, uint64_t mode)
{
    const uint32_t others =
        1 << (S_IFCHR >> 12) | 1 << (S_IFDIR >> 12) | 1 << (S_IFBLK >> 12) | 1 << (S_IFSOCK >> 12);
    const uint32_t type = (uint32_t)mode & S_IFMT;
    uint32_t rights = (uint32_t)mode & 07777 & ~arch_process()->umask;
    struct path path;

    if (!type || type == S_IFREG)
        return regular_make(directory, address, mode);
    if (type != S_IFIFO)
        return others >> (type >> 12) & 1 ? -EPERM : -EINVAL;
    long result = path_begin(&path, directory, address, TREE_NAME);
    while (path_leads(&path, &result))
        result = result == TREE_LEFT ? -EPERM : special_create(&path, S_IFIFO | rights, NULL, 0);
    return path_end(&path, result);
}

/* What is done with two paths. */
enum change { LINK, RENAME, EXCHANGE };

static long tree_change(enum change change, struct path *from, struct path *to, unsigned flags)
{
    int64_t now_ns = file_wall_clock_ns();

    if (change == LINK)
        return tree_link(from->tree, from->found.inode, &to->found, now_ns);
    if (change == RENAME)
        return tree_rename(from->tree, &from->found, &to->found, flags & RENAME_NOREPLACE, now_ns);
    return to->found.inode ? tree_exchange(from->tree, &from->found, &to->found, now_ns) : -ENOENT;
}

/* Changes two paths, of which at least one leads to a mount. Called without the lock. MOUNT_LEFT: a path led
 * out of the mount, and both have to be looked up again. */
static long two_on_mount(struct path *from, long from_error, struct path *to, long to_error,
                         enum change change, unsigned flags)
{
    if (target_check(from, from_error) < 0 || target_check(to, to_error) < 0)
        return target_check(from, from_error) < 0 ? from_error : to_error;
    if (!from->start || !to->start || from->start->mount != to->start->mount)
        return -EXDEV;
    from_error = path_depart(from);
    to_error = path_depart(to);
    if (from_error != TREE_LEFT || to_error != TREE_LEFT)
        return from_error != TREE_LEFT ? from_error : to_error;
    const struct mount_operations *operations = to->call.mount->operations;
    long result = change == LINK ? operations->link(&from->call, flags & AT_SYMLINK_FOLLOW, &to->call)
                                 : operations->rename(&from->call, &to->call, flags);
    if (result == MOUNT_LEFT && !from->call.left[0] && !to->call.left[0])
        return -EIO; /* the mount does not say which path leads out */
    if (result == MOUNT_LEFT && from->call.left[0] && (from_error = path_return(from)) < 0)
        return from_error;
    if (result == MOUNT_LEFT && to->call.left[0] && (to_error = path_return(to)) < 0)
        return to_error;
    return result;
}

/* Looks two paths up and changes them. The second path may lack its last component. */
static long with_two(uint64_t directory, uint64_t address, enum tree_follow follow, uint64_t directory2,
                     uint64_t address2, enum change change, unsigned flags)
{
    struct path from, to = { 0 };
    long result = path_read(&from, directory, address, 0);

    if (!result)
        result = path_read(&to, directory2, address2, 1);
    for (bool again = !result; again; again = result == MOUNT_LEFT) {
        path_lock(&from, true);
        long from_error = path_find(&from, follow), to_error = path_find(&to, TREE_NAME);

        if (from_error == TREE_LEFT || to_error == TREE_LEFT) {
            path_unlock(&from);
            result = two_on_mount(&from, from_error, &to, to_error, change, flags);
        } else {
            result = from_error ? from_error : target_check(&to, to_error);
            if (!result)
                result = tree_change(change, &from, &to, flags);
        }
    }
    result = path_end(&from, result);
    return to.tree ? path_end(&to, result) : result;
}

/* Gives an open file a name (AT_EMPTY_PATH). */
static long link_open_file(uint64_t descriptor, uint64_t directory, uint64_t address)
{
    FILE_REFERENCE file = file_of(descriptor);
    struct path path;

    if (!file)
        return -EBADF;
    long result = path_begin(&path, directory, address, TREE_NAME);
    while (path_leads(&path, &result))
        if (!file->inode || (result == TREE_LEFT && file->inode->mount != path.call.mount)) {
            result = -EXDEV;
        } else if (result == TREE_LEFT) {
            struct mount_call from = mount_call_of(file->inode);

            result = path.call.mount->operations->link(&from, true, &path.call);
        } else {
            result = tree_link(path.tree, file->inode, &path.found, file_wall_clock_ns());
        }
    return path_end(&path, result);
}

long sys_linkat(uint64_t from_directory, uint64_t from, uint64_t directory, uint64_t address, uint64_t flags)
{
    char first = 1;

    flags = (uint32_t)flags;
    if (flags & ~(uint64_t)(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH))
        return -EINVAL;
    if ((flags & AT_EMPTY_PATH) && user_read(&first, from, 1))
        return -EFAULT;
    if (!first)
        return link_open_file(from_directory, directory, address);
    return with_two(from_directory, from, flags & AT_SYMLINK_FOLLOW ? TREE_FOLLOW : TREE_NO_FOLLOW, directory,
                    address, LINK, (uint32_t)flags);
}

/* Creates a symbolic link. Its target is in the CPU's second buffer until the path leads to a mount. */
long sys_symlinkat(uint64_t target, uint64_t directory, uint64_t address)
{
    struct path path;
    char *text = path_buffer(1);
    int64_t bytes = text ? user_read_string(text, target, TREE_PATH_MAX) : -ENOMEM;

    if (bytes <= 0)
        return bytes ? bytes : -ENOENT;
    long result = path_begin(&path, directory, address, TREE_NAME);
    while (path_leads(&path, &result))
        if (result == TREE_LEFT) {
            if (text != path.extra)
                memcpy(path.extra, text, (uint64_t)bytes + 1);
            text = path.extra;
            result = path.call.mount->operations->make_symlink(&path.call, text);
        } else {
            result = special_create(&path, S_IFLNK | 0777, text, (uint64_t)bytes);
        }
    return path_end(&path, result);
}

/* ---- Removing, renaming ---- */

long sys_unlinkat(uint64_t directory, uint64_t address, uint64_t flags)
{
    struct path path;

    flags = (uint32_t)flags;
    if (flags & ~(uint64_t)AT_REMOVEDIR)
        return -EINVAL;
    long result = path_begin(&path, directory, address, TREE_NAME);
    while (path_leads(&path, &result))
        if (result == TREE_LEFT)
            result = path.call.mount->operations->remove(&path.call, flags & AT_REMOVEDIR);
        else if (!path.found.inode)
            result = -ENOENT;
        else
            result = tree_remove(path.tree, &path.found, flags & AT_REMOVEDIR, file_wall_clock_ns());
    return path_end(&path, result);
}

long sys_renameat2(uint64_t from_directory, uint64_t from, uint64_t directory, uint64_t to, uint64_t flags)
{
    flags = (uint32_t)flags;
    if ((flags & ~(uint64_t)(RENAME_NOREPLACE | RENAME_EXCHANGE)) ||
        flags == (RENAME_NOREPLACE | RENAME_EXCHANGE))
        return -EINVAL;
    return with_two(from_directory, from, TREE_NAME, directory, to,
                    flags & RENAME_EXCHANGE ? EXCHANGE : RENAME, (unsigned)flags);
}
