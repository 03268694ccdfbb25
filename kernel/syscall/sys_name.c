/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_name.c: system calls that change names in the tree (creating, linking, removing, renaming), and the
 * attributes of its inodes: permissions, owners, times. The rules are tree_change.c's.
 */
#include "arch.h"
#include "lib/errno.h"
#include "lib/linux_abi.h"
#include "fs/path.h"
#include "process/process.h"
#include "mm/shared_memory.h"
#include "syscall/syscall.h"

/* For calls that create a name: after path_find's answer, 0 where at most the last component is missing. */
static long target_check(const struct path *path, long error)
{
    return error == -ENOENT && path->place.directory ? 0 : error;
}

/* ---- Creating, linking ---- */

long sys_mkdirat(uint64_t directory, uint64_t address, uint64_t mode)
{
    uint32_t rights = (uint32_t)mode & 01777 & ~arch_process()->umask;
    struct inode *inode;
    struct path path;
    long result = target_check(&path, path_begin(&path, directory, address, TREE_NAME));

    if (!result)
        result = path.place.inode ? -EEXIST
                                  : tree_create(path.tree, &path.place, S_IFDIR | rights, NULL, 0,
                                                file_wall_clock_ns(), &inode);
    return path_end(&path, result);
}

/* Calls `change` with two paths found, under the tree's lock; the second one's last component may be missing.
 */
static long with_two(uint64_t directory, uint64_t address, enum tree_follow follow, uint64_t directory2,
                     uint64_t address2, long (*change)(struct path *from, struct path *to, bool flag),
                     bool flag)
{
    struct path from, to = { 0 };
    long result = path_read(&from, directory, address, 0);

    if (!result)
        result = path_read(&to, directory2, address2, 1);
    if (!result) {
        spin_lock(&from.tree->lock);
        from.locked = true;
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
    return tree_link(from->tree, from->place.inode, &to->place, file_wall_clock_ns());
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
        result = file->inode ? tree_link(path.tree, file->inode, &path.place, file_wall_clock_ns()) : -EXDEV;
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
    if (!result && path.place.slash)
        result = path.place.inode ? -EEXIST : -ENOENT;
    if (!result)
        result = tree_create(path.tree, &path.place, S_IFLNK | 0777, text, (uint64_t)bytes,
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
        result = flags & AT_REMOVEDIR ? tree_rmdir(path.tree, &path.place, file_wall_clock_ns())
                                      : tree_unlink(path.tree, &path.place, file_wall_clock_ns());
    return path_end(&path, result);
}

static long rename_to(struct path *from, struct path *to, bool no_replace)
{
    return tree_rename(from->tree, &from->place, &to->place, no_replace, file_wall_clock_ns());
}

static long names_exchange(struct path *one, struct path *other, bool flag)
{
    (void)flag;
    return other->place.inode ? tree_exchange(one->tree, &one->place, &other->place, file_wall_clock_ns())
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

/* ---- Attributes: permissions, owners, times ---- */

struct attributes {
    bool sets_mode, sets_owner, sets_access, sets_modify;
    uint32_t mode, user, group;
    int64_t accessed_ns, modified_ns;
};

/* With the tree's lock. */
static int attributes_set(struct inode *inode, const struct attributes *set)
{
    if (!inode->writable)
        return -EROFS;
    if (set->sets_mode && mode_is(inode->mode, S_IFLNK))
        return -EOPNOTSUPP;
    if (set->sets_mode)
        inode->mode = (inode->mode & S_IFMT) | (set->mode & 07777);
    if (set->sets_owner && set->user != UINT32_MAX)
        inode->user = set->user;
    if (set->sets_owner && set->group != UINT32_MAX)
        inode->group = set->group;
    if (set->sets_access)
        inode->accessed_ns = set->accessed_ns;
    if (set->sets_modify)
        inode->modified_ns = set->modified_ns;
    inode->changed_ns = file_wall_clock_ns();
    return 0;
}

static long attributes_of_open(uint64_t descriptor, const struct attributes *set, bool allows_path)
{
    struct file *file = file_get(arch_process(), descriptor);
    struct tree *tree = arch_process()->tree;
    long result = -EROFS;

    if (!file)
        return -EBADF;
    if ((file->flags & O_PATH) && !allows_path) {
        result = -EBADF;
    } else if (file->inode) {
        spin_lock(&tree->lock);
        result = attributes_set(file->inode, set);
        spin_unlock(&tree->lock);
    }
    file_put(file);
    return result;
}

static long attributes_at(uint64_t directory, uint64_t address, uint64_t flags, const struct attributes *set)
{
    struct path path;
    char first = 1;

    if ((flags & AT_EMPTY_PATH) && user_read(&first, address, 1))
        return -EFAULT;
    if (!first && (int32_t)directory != AT_FDCWD)
        return attributes_of_open(directory, set, true);
    long result =
        path_begin(&path, directory, address, flags & AT_SYMLINK_NOFOLLOW ? TREE_NO_FOLLOW : TREE_FOLLOW);
    if (!result)
        result = attributes_set(path.place.inode, set);
    return path_end(&path, result);
}

static bool flags_known(uint64_t flags)
{
    return !((uint32_t)flags & ~(uint32_t)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH));
}

long sys_fchmodat2(uint64_t directory, uint64_t path, uint64_t mode, uint64_t flags)
{
    struct attributes set = { .sets_mode = true, .mode = (uint32_t)mode };

    return flags_known(flags) ? attributes_at(directory, path, flags, &set) : -EINVAL;
}

long sys_fchmod(uint64_t descriptor, uint64_t mode)
{
    struct attributes set = { .sets_mode = true, .mode = (uint32_t)mode };

    return attributes_of_open(descriptor, &set, false);
}

long sys_fchownat(uint64_t directory, uint64_t path, uint64_t user, uint64_t group, uint64_t flags)
{
    struct attributes set = { .sets_owner = true, .user = (uint32_t)user, .group = (uint32_t)group };

    return flags_known(flags) ? attributes_at(directory, path, flags, &set) : -EINVAL;
}

long sys_fchown(uint64_t descriptor, uint64_t user, uint64_t group)
{
    struct attributes set = { .sets_owner = true, .user = (uint32_t)user, .group = (uint32_t)group };

    return attributes_of_open(descriptor, &set, false);
}

long sys_umask(uint64_t mask)
{
    return (long)__atomic_exchange_n(&arch_process()->umask, (uint32_t)mask & 0777, __ATOMIC_RELAXED);
}

#define NS_PER_SECOND 1000000000LL

/* A time as inodes store it; one that does not fit becomes the nearest that does. */
static int64_t time_clamp(int64_t seconds, int64_t ns)
{
    const int64_t limit = INT64_MAX / NS_PER_SECOND - 1;

    if (seconds > limit || seconds < -limit)
        return seconds > 0 ? limit * NS_PER_SECOND : -limit * NS_PER_SECOND;
    return seconds * NS_PER_SECOND + ns;
}

static int time_read(const struct linux_timespec *time, int64_t *ns, bool *sets)
{
    if (time->nanoseconds == UTIME_OMIT)
        return 0;
    *sets = true;
    if (time->nanoseconds == UTIME_NOW)
        *ns = file_wall_clock_ns();
    else if (time->nanoseconds < 0 || time->nanoseconds >= NS_PER_SECOND)
        return -EINVAL;
    else
        *ns = time_clamp(time->seconds, time->nanoseconds);
    return 0;
}

static long times_set(uint64_t directory, uint64_t path, const struct linux_timespec times[2], uint64_t flags)
{
    struct attributes set = { 0 };
    int error = time_read(&times[0], &set.accessed_ns, &set.sets_access);

    if (!error)
        error = time_read(&times[1], &set.modified_ns, &set.sets_modify);
    if (error)
        return error;
    if (!path)
        return (int32_t)directory == AT_FDCWD ? -EFAULT : attributes_of_open(directory, &set, false);
    return attributes_at(directory, path, flags, &set);
}

static const struct linux_timespec both_now[2] = { { 0, UTIME_NOW }, { 0, UTIME_NOW } };

long sys_utimensat(uint64_t directory, uint64_t path, uint64_t address, uint64_t flags)
{
    struct linux_timespec times[2];

    if (!flags_known(flags))
        return -EINVAL;
    if (address && user_read(times, address, sizeof(times)))
        return -EFAULT;
    if (address && times[0].nanoseconds == UTIME_OMIT && times[1].nanoseconds == UTIME_OMIT)
        return 0;
    return times_set(directory, path, address ? times : both_now, flags);
}

long sys_futimesat(uint64_t directory, uint64_t path, uint64_t address)
{
    struct linux_timeval given[2];
    struct linux_timespec times[2];

    if (!address)
        return times_set(directory, path, both_now, 0);
    if (user_read(given, address, sizeof(given)))
        return -EFAULT;
    for (unsigned i = 0; i < 2; i++) {
        if (given[i].microseconds < 0 || given[i].microseconds >= 1000000)
            return -EINVAL;
        times[i] = (struct linux_timespec){ given[i].seconds, given[i].microseconds * 1000 };
    }
    return times_set(directory, path, times, 0);
}

long sys_utime(uint64_t path, uint64_t address)
{
    int64_t given[2];

    if (!address)
        return times_set((uint64_t)AT_FDCWD, path, both_now, 0);
    if (user_read(given, address, sizeof(given)))
        return -EFAULT;

    const struct linux_timespec times[2] = { { given[0], 0 }, { given[1], 0 } };
    return times_set((uint64_t)AT_FDCWD, path, times, 0);
}
