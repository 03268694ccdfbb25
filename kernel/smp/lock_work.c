/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock_work.c: see lock_work.h. Each CPU counts for itself, in any context.
 */
#include "smp/lock_work.h"

#ifdef LOCKCHECK

PER_CPU struct lock_work lock_work;
void (*lock_work_exceeded)(const struct lock_work *work);

static void keep_max(struct lock_amount *max, uint64_t amount, const char *place)
{
    if (amount > max->amount)
        *max = (struct lock_amount){ amount, place };
}

void lock_work_count(uint64_t bytes, uint64_t steps)
{
    struct lock_work *work = PER_CPU_HERE(lock_work);

    if (work->locks == 0)
        return;
    work->bytes += bytes;
    work->steps += steps;
    keep_max(&work->bytes_max, work->bytes, work->place);
    keep_max(&work->steps_max, work->steps, work->place);
    if (work->bytes <= LOCK_BYTES_MAX && work->steps <= LOCK_STEPS_MAX)
        return;

    void (*exceeded)(const struct lock_work *) =
        __atomic_exchange_n(&lock_work_exceeded, NULL, __ATOMIC_RELAXED);
    if (exceeded)
        exceeded(work);
}

#endif
