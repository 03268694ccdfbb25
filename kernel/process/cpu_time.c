/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpu_time.c: see cpu_time.h. Takes no locks: a sequence number lets other CPUs read a consistent pair of
 * idle times while the thread's own CPU changes them.
 */
#include "process/cpu_time.h"
#include "arch.h"
#include "process/thread.h"
#include "time/clock.h"

void cpu_time_idle_begin(struct thread *thread)
{
    __atomic_store_n(&thread->time.idle_since_ns, clock_now_ns(), __ATOMIC_RELAXED);
}

void cpu_time_idle_end(struct thread *thread)
{
    struct cpu_time_record *record = &thread->time;

    __atomic_store_n(&record->sequence, record->sequence + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    record->idle_ns += clock_now_ns() - record->idle_since_ns;
    record->idle_since_ns = 0;
    __atomic_store_n(&record->sequence, record->sequence + 1, __ATOMIC_RELEASE);
}

/* The present sleep included. */
static uint64_t idle_until_now_ns(const struct cpu_time_record *record)
{
    uint64_t idle_ns, since_ns;
    uint32_t sequence;

    do {
        sequence = __atomic_load_n(&record->sequence, __ATOMIC_ACQUIRE);
        idle_ns = __atomic_load_n(&record->idle_ns, __ATOMIC_RELAXED);
        since_ns = __atomic_load_n(&record->idle_since_ns, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
    } while ((sequence & 1) || sequence != __atomic_load_n(&record->sequence, __ATOMIC_RELAXED));

    uint64_t now_ns = clock_now_ns();
    return since_ns && now_ns > since_ns ? idle_ns + (now_ns - since_ns) : idle_ns;
}

/* The parts are read one after the other, while another CPU's thread may be asleep or in the kernel: so each
 * difference is kept from falling below zero. */
struct cpu_time thread_time(const struct thread *thread)
{
    const struct cpu_time_record *record = &thread->time;
    struct cpu_time time = { .idle_ns = idle_until_now_ns(record) };
    uint64_t kernel_ns = record->earlier_cpu_ns;

    if (!record->start_ns)
        return time;
    if (__atomic_load_n(&record->arrived, __ATOMIC_ACQUIRE))
        kernel_ns += clock_ticks_to_ns(arch_kernel_ticks(thread->cpu));

    uint64_t total_ns = clock_now_ns() - record->start_ns;

    time.system_ns = kernel_ns > time.idle_ns ? kernel_ns - time.idle_ns : 0;
    time.user_ns = total_ns > kernel_ns ? total_ns - kernel_ns : 0;
    return time;
}

struct cpu_time cpu_time_sum(struct cpu_time a, struct cpu_time b)
{
    return (struct cpu_time){ a.user_ns + b.user_ns, a.system_ns + b.system_ns, a.idle_ns + b.idle_ns };
}
