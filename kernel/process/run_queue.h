/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_queue.h: the ready threads of each CPU, and whose turn it is; for schedule.c and service_window.c
 * alone. The CPUs of a rank are a group with one lock, which guards their queues and the schedule_entry of
 * the threads on them.
 */
#ifndef TACET_RUN_QUEUE_H
#define TACET_RUN_QUEUE_H

#include "arch.h"
#include "process/thread.h"
#include "smp/cpu_mask.h"
#include "smp/per_cpu.h"
#include "smp/spinlock.h"
#include "time/timer.h"

/* Ready threads of SCHED_FIFO and RR, by rank; of SCHED_OTHER; of SCHED_IDLE. */
enum level { LEVEL_PRIORITY, LEVEL_ORDINARY, LEVEL_BACKGROUND, LEVELS };

struct cpu_group {
    struct spinlock lock;
    struct cpu_group *next; /* another rank's group */
    struct cpu_mask cpus;
    struct cpu_mask idle;      /* CPUs where no thread runs and none is queued */
    struct cpu_mask movable;   /* CPUs whose queue has is_listed */
    unsigned ready;            /* threads in the queues of `cpus` */
    unsigned ready_at[LEVELS]; /* of `ready`, those of each level */
} __attribute__((aligned(64)));

struct run_queue {
    struct cpu_group *group;
    uint64_t *idle_word; /* the word of group->idle in which this CPU's bit is */
    uint64_t idle_bit;
    unsigned cpu;                    /* the CPU whose queue it is */
    struct tacet_counters *counters; /* that CPU's counters */
    struct thread *current;          /* the thread whose registers the CPU has; NULL: none */
    struct list levels[LEVELS];
    unsigned foreground, background; /* ready threads of all policies but SCHED_IDLE; of SCHED_IDLE */
    unsigned movable;                /* ready threads that may run on another CPU, too */
    bool is_listed; /* is in group->movable: from the first movable thread until a search finds none */
    struct run_queue *sibling; /* the next CPU of the same core and group, in a ring */
    struct thread *left;       /* has ended, and is still on its stack until the switch is done */
    struct smart_timer turn;   /* pending while others of the rank of `current` are ready */
    uint64_t turn_end_ns;      /* end of the turn of `current`; 0: no thread waits for it. This CPU only */
    bool turn_is_over;         /* this CPU only */
    struct cpu_time past;      /* time of the threads that had the CPU before `current` */
    struct smart_timer window; /* pending while the CPU has lifted threads (service_window.c) */
    struct thread *to_lower;   /* the first lifted thread */
} __attribute__((aligned(64)));

extern struct run_queue run_queue;

/* Returns this CPU's queue. */
static inline struct run_queue *run_queue_here(void)
{
    return PER_CPU_HERE(run_queue);
}

static inline struct run_queue *run_queue_of(unsigned cpu)
{
    return PER_CPU_OF(run_queue, cpu);
}

/* Returns whether no thread runs on the CPU, and none is queued. */
static inline __attribute__((always_inline)) bool run_queue_is_idle(const struct run_queue *queue)
{
    return __atomic_load_n(queue->idle_word, __ATOMIC_ACQUIRE) & queue->idle_bit;
}

/* Takes the lock of the group that a thread is in, which may change until it is held. Returns the group. */
struct cpu_group *cpu_group_lock(const struct thread *thread);

/* Returns how many threads of a CPU are ready. */
static inline __attribute__((always_inline)) unsigned run_queue_ready(const struct run_queue *queue)
{
    return __atomic_load_n(&queue->foreground, __ATOMIC_RELAXED) +
           __atomic_load_n(&queue->background, __ATOMIC_RELAXED);
}

/* Returns whether a ready thread may come before, or take turns with, this one, which runs. */
static inline __attribute__((always_inline)) bool run_queue_is_due(const struct run_queue *queue,
                                                                   const struct thread *running)
{
    return __atomic_load_n(&queue->foreground, __ATOMIC_RELAXED) ||
           (running->schedule.rank == RANK_BACKGROUND &&
            __atomic_load_n(&queue->background, __ATOMIC_RELAXED));
}

/* ---- Under the group's lock ---- */

/* Sets a thread's queue: that of the CPU that has its registers, or gets them. It must not be running. */
void run_queue_set(struct thread *thread, struct run_queue *queue);

/* Queues a thread: after those of the same rank, or in front of them. run_queue_remove: takes it out. */
void run_queue_add(struct run_queue *queue, struct thread *thread, bool in_front);
void run_queue_remove(struct thread *thread);

/* Returns the first ready thread, or the first one that may run on an idle CPU of the group; NULL if there is
 * none. */
struct thread *run_queue_first(const struct run_queue *queue);
struct thread *run_queue_first_for_idle(const struct run_queue *queue);

/* Finds the highest thread that waits for a busy CPU of the group and may run on `cpu`; NULL if there is
 * none. */
struct thread *cpu_group_first(struct cpu_group *group, unsigned cpu);

/* Takes the thread that is to run on this CPU next out of its queue: its own first one, or a higher one that
 * waits for another CPU. Returns NULL if there is none. */
struct thread *run_queue_take(struct run_queue *queue);

/* How many threads of the service are ready, in all queues. */
extern unsigned wanderers;

/* ---- Turns ---- */

/* Returns whether a ready thread of this rank would take turns with the one that runs. turn_is_armed: whether
 * this CPU will see a thread that was just queued when the turn is over. */
bool takes_turns(const struct run_queue *queue, int rank);
bool turn_is_armed(const struct run_queue *queue);

/* Keeps what is left of the turn of `current`, when a thread of higher rank takes the CPU. Returns false if
 * the turn is over.
 */
bool turn_keep(const struct run_queue *queue);

/* Arms the end of a turn if it has begun, withdraws it if no thread waits for it. On this CPU. A timer that
 * is pending for an earlier time stays: so the turns of threads that block soon do not cost an arming of the
 * device. */
void turn_update(struct run_queue *queue);
void turn_end(struct run_queue *queue);

#endif
