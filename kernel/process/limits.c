/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * limits.c: see limits.h. Limits follow from what a rank was given when it started, and cannot be changed.
 * process_limit runs in system calls of the process that it is about; it takes no lock, for all that it reads
 * is constant while the process runs.
 */
#include "process/limits.h"
#include "arch.h"
#include "lib/errno.h"
#include "process/process.h"

static unsigned rank_count;

unsigned process_rank_count(void)
{
    return rank_count;
}

void process_rank_count_set(unsigned ranks)
{
    rank_count = ranks;
}

int process_limit(uint64_t resource, struct linux_rlimit *limit)
{
    enum {
        DATA = 2,
        STACK = 3,
        CORE = 4,
        PROCESSES = 6,
        FILES = 7,
        ADDRESS_SPACE = 9,
        SIGNALS = 11,
        COUNT = 16
    };
    const struct process *process = arch_process();
    uint64_t value = RLIM_INFINITY;

    if ((uint32_t)resource >= COUNT)
        return -EINVAL;
    switch ((uint32_t)resource) {
    case DATA:
    case ADDRESS_SPACE: /* what has rights; the rest costs nothing, and is not counted */
        value = process->pages.total_bytes;
        break;
    case STACK:
        value = process->stack_high - process->stack_low;
        break;
    case CORE:
        value = 0;
        break;
    case PROCESSES:
        value = cpu_mask_count(process->cpus);
        break;
    case SIGNALS:
        value = SIGNAL_ENTRIES;
        break;
    case FILES:
        value = FILE_DESCRIPTORS_MAX;
        break;
    default:
        break;
    }
    *limit = (struct linux_rlimit){ value, value };
    return 0;
}
