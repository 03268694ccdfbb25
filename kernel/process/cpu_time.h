/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpu_time.h: the CPU time of threads, split into user, system and idle time by timestamps at each entry to
 * the kernel, each exit and each switch, with no tick [Tsafrir05 §4.2].
 */
#ifndef TACET_CPU_TIME_H
#define TACET_CPU_TIME_H

#include <stdbool.h>
#include <stdint.h>

struct thread;

/* User: in the program. System: in the kernel, without sleep. Idle: asleep, with its registers on a CPU. */
struct cpu_time {
    uint64_t user_ns, system_ns, idle_ns;
};

/* What a thread keeps of it. The CPU that runs the thread writes; others may read at any time. */
struct cpu_time_record {
    uint64_t start_ns;      /* 0: has not run */
    uint32_t sequence;      /* odd while the next ones change */
    struct cpu_time past;   /* up to its last switch */
    uint64_t arrived_ns;    /* when it came to a CPU, which counts its kernel time since; 0: it is on none */
    unsigned cpu;           /* that CPU; schedule.cpu may be the next one already */
    uint64_t idle_ns;       /* since then, in sleeps that have ended */
    uint64_t idle_since_ns; /* begin of the present sleep; 0: awake */
};

/* Begins a thread's time on this CPU. cpu_time_leave ends it and returns it; it is part of the past then. */
void cpu_time_arrive(struct thread *thread);
struct cpu_time cpu_time_leave(struct thread *thread);

/* Returns the time since the thread has arrived on a CPU, so far; only while it is on one. */
struct cpu_time cpu_time_stint(const struct thread *thread);

/* Begins, or ends, a sleep of the calling thread. The time between, for as long as it has the CPU, is
 * idle. */
void cpu_time_idle_begin(struct thread *thread);
void cpu_time_idle_end(struct thread *thread, uint64_t now_ns);

/* Returns the time of any thread since its start. */
struct cpu_time thread_time(const struct thread *thread);
static inline __attribute__((always_inline)) struct cpu_time cpu_time_sum(struct cpu_time a,
                                                                          struct cpu_time b)
{
    return (struct cpu_time){ a.user_ns + b.user_ns, a.system_ns + b.system_ns, a.idle_ns + b.idle_ns };
}

/* ---- Iterations: a program marks where one ends and the next begins [Betti09 §IV] ---- */

/* Running: the CPU time of all threads of a process. Waiting: what was left of the time of its CPUs. */
struct iteration_time {
    uint64_t running_ns, waiting_ns;
};

struct process_iterations {
    uint64_t count;              /* number of iterations that have ended */
    uint64_t marked_ns, used_ns; /* at the last mark: the time, the CPU time of all threads so far */
    struct iteration_time last, sum;
};

/* Ends an iteration of the caller's process; the first mark only begins one. */
void iteration_mark(void);

struct process;
struct process_iterations iterations_of(struct process *process);

#endif
