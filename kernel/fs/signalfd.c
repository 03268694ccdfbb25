/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signalfd.c: signals that are read, signalfd(2). A file keeps no more than its set: it is readable while a
 * signal of the set is pending for the reading thread or its process, and a read takes such signals. Who
 * sends a signal to a process that has had such a file notifies its waiting threads (signal.c). Runs in
 * system calls.
 */
#include "fs/file.h"
#include "arch.h"
#include "fs/linux_files.h"
#include "lib/errno.h"
#include "process/event.h"
#include "process/process.h"

/* Linux's struct signalfd_siginfo. */
struct linux_signalfd_info {
    uint32_t signal;
    int32_t error, code;
    uint32_t pid, uid;
    int32_t descriptor;
    uint32_t timer, band, overrun, trap;
    int32_t status, number;
    uint64_t value, user_time, system_time, address;
    uint64_t zeros[6];
};

_Static_assert(sizeof(struct linux_signalfd_info) == 128, "as on Linux");

static uint64_t set_of(const struct file *file)
{
    return __atomic_load_n(&file->signals, __ATOMIC_RELAXED);
}

/* Converts what a signal carries: a sender's value, a timer's and a fault's zeros stand in one place. */
static struct linux_signalfd_info described(const struct signal_info *info)
{
    struct linux_signalfd_info out = { .signal = (uint32_t)info->signal,
                                       .code = info->code,
                                       .number = (int32_t)info->sender.value,
                                       .value = info->sender.value };

    if (info->code == SIGNAL_BY_TIMER) {
        out.timer = (uint32_t)info->timer.id;
        out.overrun = (uint32_t)info->timer.overrun;
    } else if (info->code <= 0) {
        out.pid = info->sender.pid;
        out.uid = info->sender.uid;
    } else if (info->code != SIGNAL_BY_KERNEL) {
        out.address = info->fault.address;
    }
    return out;
}

static int64_t signalfd_take(struct file *file, void *record, uint64_t bytes)
{
    struct linux_signalfd_info *out = record;
    struct signal_info info;

    if (bytes < sizeof(*out))
        return -EINVAL;
    if (!signal_take(set_of(file), &info))
        return -EAGAIN;
    *out = described(&info);
    return (int64_t)sizeof(*out);
}

/* ---- As a file ---- */

static unsigned signalfd_ready(struct file *file)
{
    const struct thread *thread = arch_thread();
    uint64_t pending = __atomic_load_n(&thread->signals.pending.set, __ATOMIC_RELAXED) |
                       __atomic_load_n(&thread->process->signals.pending.set, __ATOMIC_RELAXED);

    return pending & set_of(file) ? READY_IN : 0;
}

static uint64_t signalfd_activity(struct file *file)
{
    return __atomic_load_n(&file->process->signals.sent, __ATOMIC_RELAXED);
}

static uint64_t signalfd_events(const struct file *file)
{
    return event_of(&file->process->signals);
}

static const struct file_operations signalfd_operations = { .read = file_read_records,
                                                            .take = signalfd_take,
                                                            .ready = signalfd_ready,
                                                            .activity = signalfd_activity,
                                                            .events = signalfd_events,
                                                            .name = "anon_inode:[signalfd]",
                                                            .waits = true };

long signalfd_create(uint64_t set, unsigned flags)
{
    FILE_REFERENCE file;
    int error = file_make(&signalfd_operations, O_RDWR | flags, &file);

    if (error)
        return error;
    file->signals = set;
    spin_lock(&file->process->signals.lock); /* a signal is pending before, or its sender sees this */
    file->process->signals.watched = true;
    spin_unlock(&file->process->signals.lock);
    return file_install(file->process, file, 0, flags & O_CLOEXEC);
}

int signalfd_set(struct file *file, uint64_t set)
{
    if (file->operations != &signalfd_operations)
        return -EINVAL;
    __atomic_store_n(&file->signals, set, __ATOMIC_RELAXED);
    event_notify(file->process, file_events(file));
    return 0;
}
