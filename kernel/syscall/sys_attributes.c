/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_attributes.c: system calls that set the attributes of files: permissions, owners, times. Attributes are
 * stored for those who query them (sys_status.c); every rank is root, so that they forbid nothing.
 */
#include "arch.h"
#include "fs/path.h"
#include "lib/errno.h"
#include "process/process.h"
#include "syscall/linux_calls.h"
#include "syscall/syscall.h"

#define NS_PER_SECOND 1000000000LL

struct attributes {
    bool sets_mode, sets_owner, sets_access, sets_modify;
    bool access_now, modify_now; /* these are now */
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

static struct mount_change change_of(const struct attributes *set)
{
    bool user = set->sets_owner && set->user != UINT32_MAX,
         group = set->sets_owner && set->group != UINT32_MAX;

    return (struct mount_change){
        .what = (set->sets_mode ? MOUNT_MODE : 0U) | (user ? MOUNT_USER : 0U) | (group ? MOUNT_GROUP : 0U) |
                (set->sets_access ? MOUNT_ACCESSED : 0U) | (set->access_now ? MOUNT_ACCESSED_NOW : 0U) |
                (set->sets_modify ? MOUNT_MODIFIED : 0U) | (set->modify_now ? MOUNT_MODIFIED_NOW : 0U),
        .mode = set->mode & 07777,
        .user = set->user,
        .group = set->group,
        .accessed_ns = set->accessed_ns,
        .modified_ns = set->modified_ns,
    };
}

/* Of an open file; one that was opened with O_PATH will do only where `allows_path`. */
static long open_attributes_set(uint64_t descriptor, const struct attributes *set, bool allows_path)
{
    struct file *file = file_get(arch_process(), descriptor);
    struct tree *tree = arch_process()->tree;
    long result = -EROFS;

    if (!file)
        return -EBADF;
    if ((file->flags & O_PATH) && !allows_path) {
        result = -EBADF;
    } else if (file->inode && file->inode->mount) {
        struct mount_change change = change_of(set);

        result = file->inode->mount->operations->file_change(mount_file_of(file->inode), &change);
    } else if (file->inode) {
        spin_lock(&tree->lock);
        result = attributes_set(file->inode, set);
        spin_unlock(&tree->lock);
    }
    file_put(file);
    return result;
}

static long attributes_set_at(uint64_t directory, uint64_t address, uint64_t flags,
                              const struct attributes *set)
{
    bool follow = !(flags & AT_SYMLINK_NOFOLLOW);
    struct mount_change change = change_of(set);
    struct path path;
    char first = 1;

    if ((flags & AT_EMPTY_PATH) && user_read(&first, address, 1))
        return -EFAULT;
    if (!first && (int32_t)directory != AT_FDCWD)
        return open_attributes_set(directory, set, true);
    long result = path_begin(&path, directory, address, follow ? TREE_FOLLOW : TREE_NO_FOLLOW);
    do
        if (result == TREE_LEFT)
            result = path.call.mount->operations->change(&path.call, follow, &change);
        else if (!result)
            result = attributes_set(path.found.inode, set);
    while (path_leads_on(&path, &result));
    return path_end(&path, result);
}

static bool flags_known(uint64_t flags)
{
    return !((uint32_t)flags & ~(uint32_t)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH));
}

long sys_fchmodat2(uint64_t directory, uint64_t path, uint64_t mode, uint64_t flags)
{
    struct attributes set = { .sets_mode = true, .mode = (uint32_t)mode };

    return flags_known(flags) ? attributes_set_at(directory, path, flags, &set) : -EINVAL;
}

long sys_fchmod(uint64_t descriptor, uint64_t mode)
{
    struct attributes set = { .sets_mode = true, .mode = (uint32_t)mode };

    return open_attributes_set(descriptor, &set, false);
}

long sys_fchownat(uint64_t directory, uint64_t path, uint64_t user, uint64_t group, uint64_t flags)
{
    struct attributes set = { .sets_owner = true, .user = (uint32_t)user, .group = (uint32_t)group };

    return flags_known(flags) ? attributes_set_at(directory, path, flags, &set) : -EINVAL;
}

long sys_fchown(uint64_t descriptor, uint64_t user, uint64_t group)
{
    struct attributes set = { .sets_owner = true, .user = (uint32_t)user, .group = (uint32_t)group };

    return open_attributes_set(descriptor, &set, false);
}

long sys_umask(uint64_t mask)
{
    return (long)__atomic_exchange_n(&arch_process()->umask, (uint32_t)mask & 0777, __ATOMIC_RELAXED);
}

/* ---- Times ---- */

/* A time as inodes store it; one that does not fit becomes the nearest that does. */
static int64_t time_clamp(int64_t seconds, int64_t ns)
{
    const int64_t limit = INT64_MAX / NS_PER_SECOND - 1;

    if (seconds > limit || seconds < -limit)
        return seconds > 0 ? limit * NS_PER_SECOND : -limit * NS_PER_SECOND;
    return seconds * NS_PER_SECOND + ns;
}

static int time_read(const struct linux_timespec *time, int64_t *ns, bool *sets, bool *now)
{
    if (time->nanoseconds == UTIME_OMIT)
        return 0;
    *sets = true;
    *now = time->nanoseconds == UTIME_NOW;
    if (*now)
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
    int error = time_read(&times[0], &set.accessed_ns, &set.sets_access, &set.access_now);

    if (!error)
        error = time_read(&times[1], &set.modified_ns, &set.sets_modify, &set.modify_now);
    if (error)
        return error;
    if (!path)
        return (int32_t)directory == AT_FDCWD ? -EFAULT : open_attributes_set(directory, &set, false);
    return attributes_set_at(directory, path, flags, &set);
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
    struct linux_timeval values[2];
    struct linux_timespec times[2];

    if (!address)
        return times_set(directory, path, both_now, 0);
    if (user_read(values, address, sizeof(values)))
        return -EFAULT;
    for (unsigned i = 0; i < 2; i++) {
        if (values[i].microseconds < 0 || values[i].microseconds >= 1000000)
            return -EINVAL;
        times[i] = (struct linux_timespec){ values[i].seconds, values[i].microseconds * 1000 };
    }
    return times_set(directory, path, times, 0);
}

long sys_utime(uint64_t path, uint64_t address)
{
    int64_t values[2];

    if (!address)
        return times_set((uint64_t)AT_FDCWD, path, both_now, 0);
    if (user_read(values, address, sizeof(values)))
        return -EFAULT;

    const struct linux_timespec times[2] = { { values[0], 0 }, { values[1], 0 } };
    return times_set((uint64_t)AT_FDCWD, path, times, 0);
}
