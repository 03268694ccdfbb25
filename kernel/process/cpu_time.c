/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpu_time.c: see cpu_time.h. Takes no locks: a sequence number lets other CPUs read a consistent record
 * while the thread's own CPU changes it.
 */
#include "process/cpu_time.h"
#include "arch.h"
#include "process/thread.h"
#include "time/clock.h"

static inline __attribute__((always_inline)) void change_begin(struct cpu_time_record *record)
{
    __atomic_store_n(&record->sequence, record->sequence + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline __attribute__((always_inline)) void change_end(struct cpu_time_record *record)
{
    __atomic_store_n(&record->sequence, record->sequence + 1, __ATOMIC_RELEASE);
}

/* Returns the time since the thread has arrived on its CPU. The parts are read one after the other, while the
 * thread may be in the kernel on another CPU: so each difference is kept from falling below zero. */
static struct cpu_time stint_of(const struct cpu_time_record *record)
{
    uint64_t kernel_ns = clock_ticks_to_ns(arch_kernel_ticks(record->cpu)), now_ns = clock_now_ns();
    uint64_t since_ns = record->idle_since_ns, total_ns = now_ns - record->arrived_ns;
    struct cpu_time time = { .idle_ns = record->idle_ns };

    if (since_ns && now_ns > since_ns)
        time.idle_ns += now_ns - since_ns;
    time.system_ns = kernel_ns > time.idle_ns ? kernel_ns - time.idle_ns : 0;
    time.user_ns = total_ns > kernel_ns ? total_ns - kernel_ns : 0;
    return time;
}

void cpu_time_arrive(struct thread *thread)
{
    struct cpu_time_record *record = &thread->time;

    change_begin(record);
    record->arrived_ns = clock_now_ns();
    record->cpu = arch_cpu_index();
    if (!record->start_ns)
        record->start_ns = record->arrived_ns;
    record->idle_ns = 0;
    arch_kernel_ticks_begin();
    change_end(record);
}

struct cpu_time cpu_time_leave(struct thread *thread)
{
    struct cpu_time_record *record = &thread->time;
    struct cpu_time stint;

    change_begin(record); /* from here on no reader sees a later time than is kept */
    stint = stint_of(record);
    record->past = cpu_time_sum(record->past, stint);
    record->arrived_ns = 0;
    record->idle_since_ns = 0;
    change_end(record);
    return stint;
}

/* Reads a thread's time, with or without the time before its last arrival on a CPU. */
static struct cpu_time time_read(const struct cpu_time_record *record, bool with_past)
{
    struct cpu_time time;
    uint32_t number;

    do {
        number = clock_sequence_begin(&record->sequence);
        time = with_past ? record->past : (struct cpu_time){ 0 };
        if (record->arrived_ns)
            time = cpu_time_sum(time, stint_of(record));
    } while (clock_sequence_changed(&record->sequence, number));
    return time;
}

struct cpu_time cpu_time_stint(const struct thread *thread)
{
    return time_read(&thread->time, false);
}

struct cpu_time thread_time(const struct thread *thread)
{
    return time_read(&thread->time, true);
}

void cpu_time_idle_begin(struct thread *thread)
{
    __atomic_store_n(&thread->time.idle_since_ns, clock_now_ns(), __ATOMIC_RELAXED);
}

void cpu_time_idle_end(struct thread *thread, uint64_t now_ns)
{
    struct cpu_time_record *record = &thread->time;

    if (!record->idle_since_ns)
        return; /* it has left the CPU meanwhile */
    change_begin(record);
    record->idle_ns += now_ns - record->idle_since_ns;
    record->idle_since_ns = 0;
    change_end(record);
}
