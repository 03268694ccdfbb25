/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_pipe.c: system calls that open what has no path: pipes and event counters. pipe(2), eventfd(2).
 */
#include "arch.h"
#include "fs/eventfd.h"
#include "fs/pipe.h"
#include "lib/errno.h"
#include "mm/user_bytes.h"
#include "process/process.h"
#include "syscall/linux_calls.h"
#include "syscall/syscall.h"

static int both_install(struct process *process, struct file *const ends[2], uint64_t buffer,
                        bool close_on_exec)
{
    int descriptors[2];

    descriptors[0] = file_install(process, ends[0], 0, close_on_exec);
    if (descriptors[0] < 0)
        return descriptors[0];
    descriptors[1] = file_install(process, ends[1], 0, close_on_exec);
    if (descriptors[1] >= 0 && !user_write(buffer, descriptors, sizeof(descriptors)))
        return 0;
    file_close(process, (uint64_t)descriptors[0]);
    if (descriptors[1] < 0)
        return descriptors[1];
    file_close(process, (uint64_t)descriptors[1]);
    return -EFAULT;
}

long ends_install(struct file *const ends[2], uint64_t buffer, bool close_on_exec)
{
    int error = both_install(arch_process(), ends, buffer, close_on_exec);

    file_put(ends[0]);
    file_put(ends[1]);
    return error;
}

long sys_pipe2(uint64_t buffer, uint64_t flags)
{
    struct file *ends[2];

    if ((uint32_t)flags & ~(uint32_t)(O_CLOEXEC | O_NONBLOCK))
        return -EINVAL;
    int error = pipe_create(arch_process(), (unsigned)flags, ends);
    return error ? error : ends_install(ends, buffer, flags & O_CLOEXEC);
}

long sys_eventfd2(uint64_t value, uint64_t flags)
{
    struct process *process = arch_process();

    if ((uint32_t)flags & ~(uint32_t)(O_CLOEXEC | O_NONBLOCK | EFD_SEMAPHORE))
        return -EINVAL;

    struct file *file = file_allocate(process);
    if (!file)
        return -EMFILE;
    eventfd_initialise(file, (uint32_t)value, (unsigned)flags);
    int result = file_install(process, file, 0, flags & O_CLOEXEC);
    file_put(file);
    return result;
}
