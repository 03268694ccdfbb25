/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_event.c: system calls that make descriptors of events, and those that set what they show: timers,
 * signals, processes, changes of files. What these are as files is in fs/: timerfd.c, signalfd.c, pidfd.c,
 * inotify.c. Sets of descriptors are in sys_epoll.c.
 *
 * Source: man 2 timerfd_create, signalfd, pidfd_open, inotify_init, inotify_add_watch; man 7 inotify.
 */
#include "arch.h"
#include "fs/file.h"
#include "fs/path.h"
#include "lib/errno.h"
#include "process/process.h"
#include "syscall/linux_calls.h"
#include "syscall/syscall.h"
#include "time/clock.h"
#include "time/timespec.h"

static bool flags_known(uint64_t flags)
{
    return !((uint32_t)flags & ~(uint32_t)(O_CLOEXEC | O_NONBLOCK));
}

/* ---- Timers ---- */

enum { CLOCK_ID_REALTIME_ALARM = 8, CLOCK_ID_BOOTTIME_ALARM = 9 };

long sys_timerfd_create(uint64_t clock, uint64_t flags)
{
    const uint32_t id = (uint32_t)clock;
    bool is_wall = id == CLOCK_ID_REALTIME || id == CLOCK_ID_REALTIME_ALARM;
    bool is_alarm =
        id == CLOCK_ID_REALTIME_ALARM || id == CLOCK_ID_BOOTTIME_ALARM; /* the node never sleeps */

    if (!flags_known(flags) || !(is_wall || is_alarm || id == CLOCK_ID_MONOTONIC || id == CLOCK_ID_BOOTTIME))
        return -EINVAL;
    if (is_alarm && process_credentials.uid)
        return -EPERM;
    return timerfd_create(is_wall, (unsigned)flags);
}

long sys_timerfd_settime(uint64_t descriptor, uint64_t flags, uint64_t new_value, uint64_t old_value)
{
    FILE_REFERENCE file = file_of(descriptor);
    struct linux_itimerspec value;
    struct timer_setting old;
    uint64_t ns, interval_ns;

    if (user_read(&value, new_value, sizeof(value)))
        return -EFAULT;
    if (((uint32_t)flags & ~(uint32_t)(TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET)) ||
        timespec_to_ns(&value.value, &ns) || timespec_to_ns(&value.interval, &interval_ns))
        return -EINVAL;
    if (!file)
        return -EBADF;
    int error = timerfd_set(file, (unsigned)flags, ns, interval_ns, &old);
    return error || !old_value ? error : setting_write(old_value, &old);
}

long timer_file_read(struct file *file, uint64_t buffer)
{
    struct timer_setting setting;
    int error = timerfd_get(file, &setting);

    return error ? error : setting_write(buffer, &setting);
}

/* ---- Signals ---- */

long sys_signalfd4(uint64_t descriptor, uint64_t set_address, uint64_t set_bytes, uint64_t flags)
{
    uint64_t set;
    int error = signal_mask_read(set_address, set_bytes, &set);

    if (error || !flags_known(flags))
        return error ? error : -EINVAL;
    if ((int32_t)descriptor == -1)
        return signalfd_create(set, (unsigned)flags);
    FILE_REFERENCE file = file_of(descriptor);
    error = file ? signalfd_set(file, set) : -EBADF;
    return error ? error : (int32_t)descriptor;
}

/* ---- Processes ---- */

long sys_pidfd_open(uint64_t pid, uint64_t flags)
{
    const uint32_t id = (uint32_t)pid;

    if (((uint32_t)flags & ~(uint32_t)O_NONBLOCK) || (int32_t)id <= 0)
        return -EINVAL;
    struct process *process = process_find(id);
    if (!process)
        return thread_tid_from(arch_process(), id) == id ? -EINVAL : -ESRCH;
    return pidfd_create(process, (unsigned)flags);
}

/* ---- Changes of files ---- */

long sys_inotify_add_watch(uint64_t descriptor, uint64_t address, uint64_t mask)
{
    const uint32_t events = (uint32_t)mask, known = 0xf700efff; /* bits that mean anything */
    FILE_REFERENCE file = file_of(descriptor);
    struct path path;

    if (!file)
        return events & known ? -EBADF : -EINVAL;
    if (!file_is_inotify(file) || !(events & known) || ((events & WATCH_NEW) && (events & WATCH_MORE)))
        return -EINVAL;
    long result = path_read(&path, (uint64_t)AT_FDCWD, address, 0);
    if (!result)
        result = path_look_up(&path, events & WATCH_NO_FOLLOW ? TREE_NO_FOLLOW : TREE_FOLLOW, true);
    while (path_leads(&path, &result))
        if (result == TREE_LEFT) {
            process_report(REFUSAL_WATCH,
                           ": inotify_add_watch on a mount is not supported, as the server's files change "
                           "without this node's calls (EOPNOTSUPP); list the directory from time to time");
            result = -EOPNOTSUPP;
        } else {
            result = path.found.inode ? inotify_watch(file, path.found.inode, events) : -ENOENT;
        }
    return path_end(&path, result);
}
