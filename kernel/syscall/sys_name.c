/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_name.c: system calls that change names in the tree: creating, linking, removing and renaming. The rules
 * are tree_change.c's.
 */
#include "arch.h"
#include "lib/errno.h"
#include "fs/path.h"
#include "process/process.h"
#include "syscall/linux_calls.h"
#include "syscall/syscall.h"

/* For calls that create a name: after path_find's answer, 0 where at most the last component is missing. */
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
    long result = target_check(&path, path_begin(&path, directory, address, TREE_NAME));

    if (!result)
        result = path.found.inode ? -EEXIST
                                  : tree_create(path.tree, &path.found, S_IFDIR | rights, NULL, 0,
                                                file_wall_clock_ns(), &inode);
    return path_end(&path, result);
}

/* Calls `change` with two paths found, under the tree's lock; the second may lack its last component. */
static long with_two(uint64_t directory, uint64_t address, enum tree_follow follow, uint64_t directory2,
                     uint64_t address2, long (*change)(struct path *from, struct path *to, bool flag),
                     bool flag)
{
    struct path from, to = { 0 };
    long result = path_read(&from, directory, address, 0);

    if (!result)
        result = path_read(&to, directory2, address2, 1);
    if (!result) {
        path_lock(&from, true);
        result = path_find(&from, follow);
        if (!result)
            result = target_check(&to, path_find(&to, TREE_NAME));
        if (!result)
            result = change(&from, &to, flag);
    }
    result = path_end(&from, result);
    return to.tree ? path_end(&to, result) : result;
}

static long link_make(struct path *from, struct path *to, bool flag)
{
    (void)flag;
    return tree_link(from->tree, from->found.inode, &to->found, file_wall_clock_ns());
}

/* Gives an open file a name (AT_EMPTY_PATH). */
static long link_open_file(uint64_t descriptor, uint64_t directory, uint64_t address)
{
    struct file *file = file_get(arch_process(), descriptor);
    struct path path;

    if (!file)
        return -EBADF;
    long result = target_check(&path, path_begin(&path, directory, address, TREE_NAME));
    if (!result)
        result = file->inode ? tree_link(path.tree, file->inode, &path.found, file_wall_clock_ns()) : -EXDEV;
    result = path_end(&path, result);
    file_put(file);
    return result;
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
                    address, link_make, false);
}

long sys_symlinkat(uint64_t target, uint64_t directory, uint64_t address)
{
    struct inode *inode;
    struct path path;
    char *text = path_buffer(1);
    int64_t bytes = text ? user_read_string(text, target, TREE_PATH_MAX) : -ENOMEM;

    if (bytes <= 0)
        return bytes ? bytes : -ENOENT;
    long result = target_check(&path, path_begin(&path, directory, address, TREE_NAME));
    if (!result && path.found.trailing_slash)
        result = path.found.inode ? -EEXIST : -ENOENT;
    if (!result)
        result = tree_create(path.tree, &path.found, S_IFLNK | 0777, text, (uint64_t)bytes,
                             file_wall_clock_ns(), &inode);
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
    if (!result)
        result = flags & AT_REMOVEDIR ? tree_rmdir(path.tree, &path.found, file_wall_clock_ns())
                                      : tree_unlink(path.tree, &path.found, file_wall_clock_ns());
    return path_end(&path, result);
}

static long rename_to(struct path *from, struct path *to, bool no_replace)
{
    return tree_rename(from->tree, &from->found, &to->found, no_replace, file_wall_clock_ns());
}

static long names_exchange(struct path *one, struct path *other, bool flag)
{
    (void)flag;
    return other->found.inode ? tree_exchange(one->tree, &one->found, &other->found, file_wall_clock_ns())
                              : -ENOENT;
}

long sys_renameat2(uint64_t from_directory, uint64_t from, uint64_t directory, uint64_t to, uint64_t flags)
{
    if (((uint32_t)flags & ~(uint32_t)(RENAME_NOREPLACE | RENAME_EXCHANGE)) ||
        (uint32_t)flags == (RENAME_NOREPLACE | RENAME_EXCHANGE))
        return -EINVAL;
    if (flags & RENAME_EXCHANGE)
        return with_two(from_directory, from, TREE_NAME, directory, to, names_exchange, false);
    return with_two(from_directory, from, TREE_NAME, directory, to, rename_to, flags & RENAME_NOREPLACE);
}
