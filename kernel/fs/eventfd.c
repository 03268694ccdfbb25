/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eventfd.c: event counters. The counter is kept in its struct file (file->event) and guarded by the file's
 * lock, which is not held across a wait. Runs in system calls.
 */
#include "fs/file.h"
#include "arch.h"
#include "fs/linux_files.h"
#include "lib/errno.h"
#include "process/event.h"
#include "process/process.h"

#define VALUE_MAX (UINT64_MAX - 1)

/* Reads or writes the counter once, without waiting, and notifies the threads that wait for it. A read
 * returns the counter, or 1 from a semaphore, in *value and subtracts it; a write adds *value. Returns
 * -EAGAIN if there is nothing to read, or no room for *value. */
static int value_move(struct file *file, uint64_t *value, bool write)
{
    uint64_t *counter = &file->event.value;

    spin_lock(&file->lock);
    bool moves = write ? *value <= VALUE_MAX - *counter : *counter > 0;
    if (moves) {
        if (!write)
            *value = file->event.is_semaphore ? 1 : *counter;
        *counter += write ? *value : -*value;
        file->changes++;
    }
    spin_unlock(&file->lock);
    if (moves)
        event_notify(file->process, event_of(file));
    return moves ? 0 : -EAGAIN;
}

static int64_t eventfd_take(struct file *file, void *value, uint64_t bytes)
{
    int error = value_move(file, value, false);

    return error ? error : (int64_t)bytes;
}

static int64_t eventfd_write(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    uint64_t value;

    (void)offset;
    if (bytes < sizeof(value))
        return -EINVAL;
    if (user_read(&value, buffer, sizeof(value)))
        return -EFAULT;
    if (value > VALUE_MAX)
        return -EINVAL;
    while (value_move(file, &value, true)) {
        int error = file_wait(file);

        if (error)
            return error;
    }
    return (int64_t)sizeof(value);
}

static unsigned eventfd_ready(struct file *file)
{
    uint64_t value = __atomic_load_n(&file->event.value, __ATOMIC_RELAXED);

    return (value > 0 ? READY_IN : 0) | (value < VALUE_MAX ? READY_OUT : 0);
}

static const struct file_operations eventfd_operations = { .read = file_read_value,
                                                           .take = eventfd_take,
                                                           .write = eventfd_write,
                                                           .ready = eventfd_ready,
                                                           .activity = file_changes,
                                                           .name = "anon_inode:[eventfd]",
                                                           .waits = true };

long eventfd_create(uint32_t value, unsigned flags)
{
    FILE_REFERENCE file;
    int error = file_make(&eventfd_operations, O_RDWR | flags, &file);

    if (error)
        return error;
    file->event.value = value;
    file->event.is_semaphore = flags & EFD_SEMAPHORE;
    return file_install(file->process, file, 0, flags & O_CLOEXEC);
}
