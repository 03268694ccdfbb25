/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpu_time.h: the CPU time of threads, split into user, system and idle time by timestamps at each entry to
 * the kernel and each exit, with no tick [Tsafrir05 §4.2].
 */
#ifndef TACET_CPU_TIME_H
#define TACET_CPU_TIME_H

#include <stdbool.h>
#include <stdint.h>

struct thread;

/* In the program; in the kernel, without sleep; asleep. */
struct cpu_time {
    uint64_t user_ns, system_ns, idle_ns;
};

/* What is kept of it in a thread. The thread's own CPU writes; others may read at any time. */
struct cpu_time_record {
    uint64_t start_ns;
    uint32_t sequence;       /* odd while the next two change */
    uint64_t idle_ns;        /* in sleeps that have ended */
    uint64_t idle_since_ns;  /* begin of the present sleep; 0: awake */
    uint64_t earlier_cpu_ns; /* in the kernel, on CPUs that it was on before */
    bool arrived;            /* its present CPU counts its kernel time, and no longer an earlier thread's */
};

/* Around a sleep of the calling thread: what passes between is idle time. */
void cpu_time_idle_begin(struct thread *thread);
void cpu_time_idle_end(struct thread *thread);

/* Of any thread since its start. */
struct cpu_time thread_time(const struct thread *thread);
struct cpu_time cpu_time_sum(struct cpu_time a, struct cpu_time b);

#endif
