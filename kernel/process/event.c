/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event.c: see event.h. Each CPU has a word that says "look again", which its thread clears before it looks.
 * A process has few threads, so a change wakes all that wait, whatever for: no queues.
 *
 * A waker stores `woken` and then reads `waits`; a waiter stores `waits` and then reads `woken`. The fences
 * between them are what makes one of the two see the other.
 */
#include "process/event.h"
#include "arch.h"
#include "time/clock.h"
#include "smp/cpu_mask.h"
#include "process/process.h"
#include "lib/errno.h"

#define LOOK_NS 1000000

static struct {
    uint32_t woken, waits;
} __attribute__((aligned(64))) waiters[ARCH_CPUS_MAX];

int event_wait(uint64_t deadline_ns)
{
    unsigned cpu = arch_cpu_index();

    __atomic_store_n(&waiters[cpu].waits, 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    int result = thread_sleep(&waiters[cpu].woken, deadline_ns);
    __atomic_store_n(&waiters[cpu].waits, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&waiters[cpu].woken, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* what the caller looks at is not older */
    return result == -EINTR ? -EINTR : 0;
}

int event_wait_polling(uint64_t deadline_ns)
{
    uint64_t next = clock_now_ns() + LOOK_NS;

    return event_wait(next < deadline_ns ? next : deadline_ns);
}

int event_wait_any(uint64_t deadline_ns, bool polled)
{
    return polled ? event_wait_polling(deadline_ns) : event_wait(deadline_ns);
}

static void cpus_wake(uint64_t cpus)
{
    uint64_t others = cpus & ~cpu_mask_bit(arch_cpu_index());

    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* the change is seen by whoever sees the word */
    CPU_MASK_EACH(cpu, others)
    __atomic_store_n(&waiters[cpu].woken, 1, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    CPU_MASK_EACH(cpu, others)
    if (__atomic_load_n(&waiters[cpu].waits, __ATOMIC_RELAXED))
        arch_ipi_send((unsigned)cpu);
}

void event_notify(const struct process *process)
{
    cpus_wake(process->cpus);
}

void event_notify_all(void)
{
    unsigned count = arch_cpu_count();

    cpus_wake(count < 64 ? cpu_mask_bit(count) - 1 : UINT64_MAX);
}

long restartable(unsigned number, long result)
{
    return result == -EINTR ? thread_interrupted_call(number, RESTART_ALWAYS) : result;
}
