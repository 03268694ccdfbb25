/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock_work.h: how much a CPU does while it holds a lock that another rank may wait for. Nothing at all, but
 * in a kernel that is built to check itself (make kernel LOCKCHECK=1): there each byte that is zeroed or
 * copied, and each step of a loop whose length a program chooses as some, count, from the first of these
 * locks that is taken to the last that is released, and too much faults: the report's call chain shows where.
 */
#ifndef TACET_LOCK_WORK_H
#define TACET_LOCK_WORK_H

#include "arch/platform.h"
#include <stdint.h>

#ifdef LOCKCHECK

#define LOCK_WORK_MAX (2 * 64 * 1024ULL) /* a piece, and what comes with it */

extern struct lock_work {
    unsigned locks;
    uint64_t bytes;
} lock_work[ARCH_CPUS_MAX];

static inline void lock_work_begin(void)
{
    struct lock_work *work = &lock_work[arch_cpu_index()];

    if (work->locks++ == 0)
        work->bytes = 0;
}

static inline void lock_work_end(void)
{
    lock_work[arch_cpu_index()].locks--;
}

static inline void lock_work_add(uint64_t bytes)
{
    struct lock_work *work = &lock_work[arch_cpu_index()];

    work->bytes += bytes;
    if (work->locks > 0 && work->bytes > LOCK_WORK_MAX)
        __builtin_trap();
}

#else

#define lock_work_begin()    ((void)0)
#define lock_work_end()      ((void)0)
#define lock_work_add(bytes) ((void)(bytes))

#endif

#define LOCK_WORK_STEP 64 /* bytes that a step of a loop counts as */

#endif
