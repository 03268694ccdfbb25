/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event.c: see event.h. Owns, for each CPU, a word that says "an event has come", which its thread clears
 * before it checks. A process has few threads, so an event wakes all that wait, whatever for: no queues, no
 * locks.
 *
 * A notifier stores `notified` and then reads `waiting`; a waiter stores `waiting` and then reads `notified`.
 * The fences between them make one of the two see the other.
 */
#include "process/event.h"
#include "arch.h"
#include "time/clock.h"
#include "smp/cpu_mask.h"
#include "process/process.h"
#include "lib/errno.h"

#define POLL_NS 1000000

static struct {
    uint32_t notified, waiting;
} __attribute__((aligned(64))) waiters[ARCH_CPUS_MAX];

int event_wait(uint64_t deadline_ns)
{
    unsigned cpu = arch_cpu_index();

    __atomic_store_n(&waiters[cpu].waiting, 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    int result = thread_sleep(&waiters[cpu].notified, deadline_ns);
    __atomic_store_n(&waiters[cpu].waiting, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&waiters[cpu].notified, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* the caller checks after this */
    return result == -EINTR ? -EINTR : 0;
}

int event_wait_polling(uint64_t deadline_ns)
{
    uint64_t next = clock_now_ns() + POLL_NS;

    return event_wait(next < deadline_ns ? next : deadline_ns);
}

static void cpus_notify(uint64_t cpus)
{
    unsigned here = arch_cpu_index();
    uint64_t others = cpus & ~cpu_mask_bit(here);

    /* In an interrupt that has ended the idling of this CPU's own thread. */
    if (cpus != others && waiters[here].waiting)
        waiters[here].notified = 1;
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* a thread that sees the word sees the change */
    CPU_MASK_EACH(cpu, others)
    __atomic_store_n(&waiters[cpu].notified, 1, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    CPU_MASK_EACH(cpu, others)
    if (__atomic_load_n(&waiters[cpu].waiting, __ATOMIC_RELAXED))
        arch_ipi_send((unsigned)cpu);
}

void event_notify(const struct process *process)
{
    cpus_notify(process->cpus);
}

void event_notify_all(void)
{
    cpus_notify(cpu_mask_below(arch_cpu_count()));
}
