/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock_check.c: see lock_check.h. Runs wherever a lock is held, interrupts off.
 */
#include "debug/lock_check.h"

#ifdef LOCKCHECK

#include "arch.h"
#include "debug/console.h"
#include "debug/stop.h"
#include "smp/lock_work.h"

static void exceeded(const struct lock_work *work)
{
    node_stop(STOP_PANIC, "with the lock %s held: %lu bytes of at most %lu, %lu steps of at most %lu",
              work->place, work->bytes, LOCK_BYTES_MAX, work->steps, LOCK_STEPS_MAX);
}

void lock_check_start(void)
{
    lock_work_exceeded = exceeded;
}

void lock_check_end(void)
{
    lock_work_exceeded = NULL;
}

static void amount_print(const char *unit, uint64_t limit, const struct lock_amount *max)
{
    kernel_print("locks: at most %lu %s of %lu with %s held\n", max->amount, unit, limit,
                 max->place ? max->place : "none");
}

void lock_check_report(void)
{
    struct lock_amount bytes = { 0, NULL }, steps = { 0, NULL };

    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++) {
        const struct lock_work *work = PER_CPU_OF(lock_work, cpu);

        bytes = work->bytes_max.amount > bytes.amount ? work->bytes_max : bytes;
        steps = work->steps_max.amount > steps.amount ? work->steps_max : steps;
    }
    amount_print("bytes", LOCK_BYTES_MAX, &bytes);
    amount_print("steps", LOCK_STEPS_MAX, &steps);
}

#endif
