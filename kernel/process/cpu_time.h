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

/* In the program; in the kernel, without sleep; asleep, with its registers on a CPU. */
struct cpu_time {
    uint64_t user_ns, system_ns, idle_ns;
};

/* What is kept of it in a thread. The CPU that runs it writes; others may read at any time. */
struct cpu_time_record {
    uint64_t start_ns;      /* 0: has not run */
    uint32_t sequence;      /* odd while the next ones change */
    struct cpu_time past;   /* up to its last switch */
    uint64_t arrived_ns;    /* on a CPU, which counts its kernel time since; 0: on none */
    unsigned cpu;           /* that one; schedule.cpu may be the next one already */
    uint64_t idle_ns;       /* since then, in sleeps that have ended */
    uint64_t idle_since_ns; /* begin of the present sleep; 0: awake */
};

/* The thread gets this CPU; leaves it: the time between, which is a part of the past from then on. */
void cpu_time_arrive(struct thread *thread);
struct cpu_time cpu_time_leave(struct thread *thread);

/* Since it has arrived, so far; for the thread of a CPU. */
struct cpu_time cpu_time_stint(const struct thread *thread);

/* Around a sleep of the calling thread: what passes between, for as long as it has the CPU, is idle time. */
void cpu_time_idle_begin(struct thread *thread);
void cpu_time_idle_end(struct thread *thread, uint64_t now_ns);

/* Of any thread since its start. */
struct cpu_time thread_time(const struct thread *thread);
struct cpu_time cpu_time_sum(struct cpu_time a, struct cpu_time b);

/* ---- Iterations: a program marks where one ends and the next begins [Betti09 §IV] ---- */

/* The CPU time of all threads of a process, and what was left of its CPUs' time: it waited. */
struct iteration_time {
    uint64_t running_ns, waiting_ns;
};

struct process_iterations {
    uint64_t count;              /* that have ended */
    uint64_t marked_ns, used_ns; /* at the last mark: the time, the CPU time of all threads so far */
    struct iteration_time last, sum;
};

/* The caller's process ends an iteration; the first mark begins one. */
void iteration_mark(void);

struct process;
struct process_iterations iterations_of(struct process *process);

#endif
