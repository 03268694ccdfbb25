/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * limits.c: see limits.h. Limits follow from what a rank was given when it started, and cannot be changed.
 * process_limit runs in system calls of the process that it is about; it takes no lock, because all that it
 * reads is constant while the process runs.
 */
#include "process/limits.h"
#include "arch.h"
#include "lib/errno.h"
#include "process/process.h"

#define RESOURCES 16 /* that getrlimit numbers */

unsigned process_rank_count;

/* Returns a limit, which is soft and hard alike. */
static uint64_t limit_of(const struct process *process, uint32_t resource)
{
    enum { DATA = 2, STACK = 3, CORE = 4, PROCESSES = 6, FILES = 7, ADDRESS_SPACE = 9, SIGNALS = 11 };

    switch (resource) {
    case DATA:
    case ADDRESS_SPACE: /* what has rights; the rest costs nothing, and is not counted */
        return process->pages.total_bytes;
    case STACK:
        return process->stack_high - process->stack_low;
    case CORE:
        return 0;
    case PROCESSES:
        return cpu_mask_count(&process->cpus);
    case SIGNALS:
        return SIGNAL_ENTRIES;
    case FILES:
        return FILE_DESCRIPTORS_MAX;
    default:
        return RLIM_INFINITY;
    }
}

int process_limit(uint64_t resource, struct linux_rlimit *limit)
{
    uint64_t value = limit_of(arch_process(), (uint32_t)resource);

    *limit = (struct linux_rlimit){ value, value };
    return (uint32_t)resource < RESOURCES ? 0 : -EINVAL;
}
