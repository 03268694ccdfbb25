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

/* Reads or writes the counter once, without waiting. A read returns the counter, or 1 from a semaphore, in
 * *value and subtracts it; a write adds *value. Returns -EAGAIN if there is nothing to read, or no room for
 * *value. */
static int64_t value_move(struct file *file, uint64_t *value, bool write)
{
    uint64_t *counter = &file->event.value;

    SPIN_GUARD(&file->lock);
    if (write ? *value > VALUE_MAX - *counter : *counter == 0)
        return -EAGAIN;
    if (!write)
        *value = file->event.is_semaphore ? 1 : *counter;
    *counter = write ? *counter + *value : *counter - *value;
    file->changes++;
    return 0;
}

/* Repeats value_move until it succeeds, waiting unless O_NONBLOCK is set; then notifies the threads that wait
 * for the counter. -EAGAIN, -EINTR. */
static int64_t value_change(struct file *file, uint64_t *value, bool write)
{
    int64_t error;

    while ((error = value_move(file, value, write)) != 0) {
        if (!(file->flags & O_NONBLOCK))
            error = event_wait(event_of(file), WAIT_FOREVER);
        if (error)
            return error;
    }
    event_notify(file->process, event_of(file));
    return 0;
}

static int64_t eventfd_read(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    uint64_t value;

    (void)offset;
    if (bytes < sizeof(value))
        return -EINVAL;
    int64_t error = value_change(file, &value, false);
    if (error)
        return error;
    return user_write(buffer, &value, sizeof(value)) ? -EFAULT : (int64_t)sizeof(value);
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
    int64_t error = value_change(file, &value, true);
    return error ? error : (int64_t)sizeof(value);
}

static unsigned eventfd_ready(struct file *file)
{
    spin_lock(&file->lock);
    uint64_t value = file->event.value;
    spin_unlock(&file->lock);
    return (value > 0 ? READY_IN : 0) | (value < VALUE_MAX ? READY_OUT : 0);
}

static const struct file_operations eventfd_operations = { .read = eventfd_read,
                                                           .write = eventfd_write,
                                                           .ready = eventfd_ready,
                                                           .activity = file_changes,
                                                           .name = "anon_inode:[eventfd]",
                                                           .waits = true };

void eventfd_initialise(struct file *file, uint32_t value, unsigned flags)
{
    file->operations = &eventfd_operations;
    file->event.value = value;
    file->event.is_semaphore = flags & EFD_SEMAPHORE;
    file->flags = O_RDWR | (flags & O_NONBLOCK);
    file->mode = 0600;
}
