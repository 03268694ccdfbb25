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

long ends_install(struct file *const ends[2], uint64_t buffer, bool close_on_exec)
{
    struct process *process = arch_process();
    int descriptors[2], installed = 0, error = 0;

    for (unsigned end = 0; end < 2; end++) {
        int descriptor = error ? error : file_install(process, ends[end], 0, close_on_exec);

        if (descriptor < 0)
            error = descriptor;
        else
            descriptors[installed++] = descriptor;
        file_put(ends[end]);
    }
    if (!error && user_write(buffer, descriptors, sizeof(descriptors)))
        error = -EFAULT;
    while (error && installed > 0)
        file_close(process, (uint64_t)descriptors[--installed]);
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

    FILE_REFERENCE file = file_allocate(process);
    if (!file)
        return -EMFILE;
    eventfd_initialise(file, (uint32_t)value, (unsigned)flags);
    return file_install(process, file, 0, flags & O_CLOEXEC);
}
