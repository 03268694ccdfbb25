/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_attributes.c: system calls that set the attributes of files: permissions, owners, times. Attributes are
 * stored and reported (sys_status.c); they forbid nothing.
 */
#include "arch.h"
#include "fs/path.h"
#include "lib/errno.h"
#include "process/process.h"
#include "syscall/linux_calls.h"
#include "syscall/syscall.h"

#define NS_PER_SECOND 1000000000LL

/* Returns the event of a change: of a time alone, that of the call that would set it. */
static uint32_t event_of_change(unsigned what)
{
    const unsigned times = what & (MOUNT_ACCESSED | MOUNT_MODIFIED);

    if (what & (MOUNT_MODE | MOUNT_USER | MOUNT_GROUP) || times == (MOUNT_ACCESSED | MOUNT_MODIFIED))
        return TREE_ATTRIBUTES;
    return times == MOUNT_ACCESSED ? TREE_ACCESS : times ? TREE_MODIFY : 0;
}

/* Sets attributes of an inode. The caller holds the tree's lock. */
static int attributes_set(struct tree *tree, struct inode *inode, const struct mount_change *change)
{
    if (!inode->writable)
        return -EROFS;
    if ((change->what & MOUNT_MODE) && mode_is(inode->mode, S_IFLNK))
        return -EOPNOTSUPP;
    if (change->what & MOUNT_MODE)
        inode->mode = (inode->mode & S_IFMT) | change->mode;
    if (change->what & MOUNT_USER)
        inode->user = change->user;
    if (change->what & MOUNT_GROUP)
        inode->group = change->group;
    if (change->what & MOUNT_ACCESSED)
        inode->accessed_ns = change->accessed_ns;
    if (change->what & MOUNT_MODIFIED)
        inode->modified_ns = change->modified_ns;
    inode->changed_ns = file_wall_clock_ns();
    tree_notify(tree, inode, event_of_change(change->what));
    return 0;
}

long open_attributes_set(struct file *file, struct mount_change change)
{
    if (!file->inode)
        return -EROFS;
    if (file->inode->mount)
        return file->inode->mount->operations->file_change(mount_file_of(file->inode), &change);
    SPIN_GUARD(&file->process->tree->lock);
    return attributes_set(file->process->tree, file->inode, &change);
}

static bool flags_known(uint64_t flags)
{
    return !((uint32_t)flags & ~(uint32_t)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH));
}

long attributes_set_at(uint64_t directory, uint64_t address, uint64_t flags, struct mount_change change)
{
    bool follow = !(flags & AT_SYMLINK_NOFOLLOW);
    struct path path;
    char first = 1;

    if (!flags_known(flags))
        return -EINVAL;
    if ((flags & AT_EMPTY_PATH) && user_read(&first, address, 1))
        return -EFAULT;
    if (!first && (int32_t)directory != AT_FDCWD) {
        FILE_REFERENCE file = file_of(directory);

        return file ? open_attributes_set(file, change) : -EBADF;
    }
    long result = path_begin(&path, directory, address, follow ? TREE_FOLLOW : TREE_NO_FOLLOW);
    while (path_leads(&path, &result))
        result = result == TREE_LEFT ? path.call.mount->operations->change(&path.call, follow, &change)
                                     : attributes_set(path.tree, path.found.inode, &change);
    return path_end(&path, result);
}

struct mount_change mode_change(uint64_t mode)
{
    return (struct mount_change){ .what = MOUNT_MODE, .mode = (uint32_t)mode & 07777 };
}

struct mount_change owner_change(uint64_t user, uint64_t group)
{
    return (struct mount_change){ .what = ((uint32_t)user == UINT32_MAX ? 0U : MOUNT_USER) |
                                          ((uint32_t)group == UINT32_MAX ? 0U : MOUNT_GROUP),
                                  .user = (uint32_t)user,
                                  .group = (uint32_t)group };
}

/* ---- Times ---- */

/* Converts a time to ns, as inodes store it; a time that does not fit becomes the nearest that does. */
static int64_t time_clamp(int64_t seconds, int64_t ns)
{
    const int64_t limit = INT64_MAX / NS_PER_SECOND - 1;

    if (seconds > limit || seconds < -limit)
        return seconds > 0 ? limit * NS_PER_SECOND : -limit * NS_PER_SECOND;
    return seconds * NS_PER_SECOND + ns;
}

/* Adds a time to a change: `set` and `now` are its bits of enum mount_what. */
static int time_read(struct mount_change *change, const struct linux_timespec *time, int64_t *ns,
                     unsigned set, unsigned now)
{
    if (time->nanoseconds == UTIME_OMIT)
        return 0;
    change->what |= set;
    if (time->nanoseconds == UTIME_NOW) {
        change->what |= now;
        *ns = file_wall_clock_ns();
        return 0;
    }
    if (time->nanoseconds < 0 || time->nanoseconds >= NS_PER_SECOND)
        return -EINVAL;
    *ns = time_clamp(time->seconds, time->nanoseconds);
    return 0;
}

static long times_set(uint64_t directory, uint64_t path, const struct linux_timespec times[2], uint64_t flags)
{
    struct mount_change change = { 0 };
    int error = time_read(&change, &times[0], &change.accessed_ns, MOUNT_ACCESSED, MOUNT_ACCESSED_NOW);

    if (!error)
        error = time_read(&change, &times[1], &change.modified_ns, MOUNT_MODIFIED, MOUNT_MODIFIED_NOW);
    if (error)
        return error;
    if (path || (int32_t)directory == AT_FDCWD)
        return path ? attributes_set_at(directory, path, flags, change) : -EFAULT;
    FILE_REFERENCE file = file_of(directory);
    return file && !(file->flags & O_PATH) ? open_attributes_set(file, change) : -EBADF;
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

/* ---- Extended attributes: no file has any ---- */

long attribute_refuse(uint64_t path, uint64_t flags)
{
    long error = sys_faccessat2((uint64_t)AT_FDCWD, path, 0, flags);

    return error ? error : -EOPNOTSUPP;
}
