/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * schedule.h: which thread has a CPU.
 *
 * A CPU belongs to the thread that runs on it until the thread blocks, yields, ends or moves; then the next
 * ready thread runs. While only one thread of a CPU can run, no timer is armed for it, and nothing interrupts
 * it. Threads stand in order of their rank, which follows from Linux's policies:
 *
 *      SCHED_FIFO, SCHED_RR    1 … 99, their priority
 *      SCHED_OTHER             0
 *      SCHED_IDLE              -1
 *      any, of the service, while a window lifts it (service_window.c): above them all
 *
 * A thread that becomes ready goes to an idle CPU of its affinity; else it is queued where the running thread
 * has the lowest rank. It interrupts another CPU, by one IPI, only if it has to: to take the CPU over from a
 * thread of lower rank, or to begin rotation. Threads of one rank and one CPU rotate (except SCHED_FIFO's):
 * each turn lasts at least `rotation=`, by a smart timer that is armed only while a thread waits for its
 * turn. A CPU whose thread leaves it takes a ready thread of another CPU of its group, if it has none of its
 * own that is as high.
 *
 * A thread that blocks while no other is ready keeps its registers on the CPU, which idles on its stack;
 * waking it only ends the idling. Its registers are saved only when another thread takes the CPU.
 *
 *      (what is waited for is checked)      a waker has changed it before it calls thread_wake
 *      thread_block()                       returns at once if thread_wake has come since the last time
 *      (it is checked again)                it may return spuriously, too
 *      thread_return_check()                others may have become ready here meanwhile
 */
#ifndef TACET_SCHEDULE_H
#define TACET_SCHEDULE_H

#include "lib/command_line.h"
#include "lib/list.h"
#include "process/cpu_time.h"
#include "smp/cpu_mask.h"
#include <stdbool.h>
#include <stdint.h>

/* Linux's policies; RESET_ON_FORK is a flag that is set with one. */
enum {
    POLICY_OTHER = 0,
    POLICY_FIFO = 1,
    POLICY_RR = 2,
    POLICY_BATCH = 3,
    POLICY_IDLE = 5,
    RESET_ON_FORK = 0x40000000
};

#define RANK_ORDINARY   0
#define RANK_BACKGROUND (-1)
#define RANK_LIFTED     100

struct process;
struct run_queue;
struct thread;

enum schedule_state {
    THREAD_NEW,     /* not on a CPU, not to be woken */
    THREAD_READY,   /* queued for a CPU */
    THREAD_RUNNING, /* on a CPU, in its program or the kernel */
    THREAD_BLOCKED, /* in thread_block */
};

/* What scheduling keeps in a thread; under the lock of the group of its CPU. */
struct schedule_entry {
    struct list_link link; /* in its CPU's queue, while it is ready */
    enum schedule_state state;
    bool notified; /* thread_wake has come while it did not block */
    bool rotates;  /* takes turns with threads of its rank */
    int rank;      /* the higher of the next two, or RANK_LIFTED */
    int own_rank, inherited_rank;
    bool own_rotates;
    bool is_lifted, is_to_lower; /* a CPU has lifted it; it is in that CPU's list of threads to lower */
    struct thread *lowered_next; /* next in that list; it was lifted before this thread */
    uint64_t turn_left_ns;    /* rest of the turn that a higher rank interrupted; 0: the next turn is whole */
    unsigned cpu;             /* the CPU that has its registers, or had them last */
    struct run_queue *queue;  /* the queue of `cpu` */
    bool is_pinned;           /* `affinity` is one CPU */
    bool must_move;           /* its CPU is no longer in `affinity`, or others go first */
    struct cpu_mask affinity; /* CPUs on which it may run */
};

/* ---- Set-up ---- */

/* Applies `rotation=`. -EINVAL with `why`. */
int schedule_configure(const struct command_line *line, struct message *why);

/* Makes a group of CPUs, which serve the same threads: a rank's, and, if `services`, the service's. Called
 * before any group's CPU runs a thread or idles. */
void schedule_group_add(const struct cpu_mask *cpus, bool services);

/* Makes each CPU of all groups call the hook, on its own stack, with no thread's registers, no locks held.
 * All threads have ended, except the caller, which leaves next. */
void schedule_finish(void);
extern void (*schedule_home_hook)(void) __attribute__((noreturn));

/* Removes all groups, once all of their CPUs have called the hook. */
void schedule_groups_drop(void);

/* How long a turn lasts, ns; 0: no rotation. Constant once threads run. */
extern uint64_t rotation_ns;

/* ---- Threads ---- */

/* Idles, on a CPU that has had no thread, until one is ready. */
_Noreturn void schedule_idle_begin(void);

/* Makes a thread this CPU's, with the address space of its process; NULL: none. */
void schedule_thread_here(struct thread *thread);

/* Runs a thread that this CPU has loaded; it has had no thread before. */
_Noreturn void schedule_enter(struct thread *thread);

/* Makes a new thread ready. Its rank and affinity are set, and its CPU is its parent's. */
void schedule_start(struct thread *thread);

/* Sets a new thread's CPU: this one. */
void schedule_cpu_begin(struct schedule_entry *entry);

/* Ends a switch, on the stack of the thread that has the CPU now: the first thing that a new thread does. */
void switch_end(void);

/* Blocks the caller until thread_wake; no locks held. */
void thread_block(void);

/* Ends a thread's thread_block, or the next one. The thread may have ended meanwhile. */
void thread_wake(struct thread *thread);

/* Wakes a thread likewise; if it runs, makes it return to its program by way of thread_slow_return: on
 * another CPU by an interrupt; here, in whatever call it is, by arch_request_slow_return. It must not end
 * meanwhile. */
void thread_interrupt(struct thread *thread);

/* Lets ready threads of the caller's rank, or a higher one, go first. */
void thread_yield(void);

/* Gives the CPU of this thread, which has ended, to the next one, which passes its memory to
 * thread_release. */
_Noreturn void thread_leave(void);

/* ---- On the way back to the program ---- */

/* Returns whether this CPU's thread has to go through schedule_return: others are ready here, or
 * schedule_must_move: it must not stay. */
bool schedule_is_due(void);
bool schedule_must_move(const struct thread *thread);

/* Gives the CPU to a thread that is to have it now; the caller goes on later, perhaps on another CPU. */
void schedule_return(void);

/* ---- Changes ---- */

/* Sets a new thread's own rank. */
static inline void schedule_rank_begin(struct schedule_entry *entry, int rank, bool rotates)
{
    entry->rank = entry->own_rank = rank;
    entry->rotates = entry->own_rotates = rotates;
    entry->inherited_rank = RANK_BACKGROUND;
    entry->turn_left_ns = 0;
}

/* Sets a new thread's affinity. */
static inline void schedule_affinity_begin(struct schedule_entry *entry, const struct cpu_mask *cpus)
{
    entry->affinity = *cpus;
    entry->is_pinned = cpu_mask_count(cpus) == 1;
    entry->must_move = false;
}

/* Sets the rank that a thread inherits: the highest of those that wait for its locks; RANK_BACKGROUND: none
 * wait. futex_pi.c */
void schedule_inherit(struct thread *thread, int rank);

/* Returns whether a thread runs only when no other wants the CPU, lifted or not: its timers disturb no
 * other. */
static inline __attribute__((always_inline)) bool schedule_is_background(const struct schedule_entry *entry)
{
    return entry->own_rank == RANK_BACKGROUND && entry->inherited_rank == RANK_BACKGROUND;
}

/* Updates a thread's rank after is_lifted has changed. The caller holds the lock of its group. */
struct cpu_group;
void schedule_rank_update(struct cpu_group *group, struct thread *thread);

/* Sets the rank, or the affinity, of any thread of the caller's process. The caller holds the process's
 * lock. */
void schedule_rank_set(struct thread *thread, int rank, bool rotates);
void schedule_affinity_set(struct thread *thread, const struct cpu_mask *cpus);

/* Gives a new thread the affinity of its parent, which another thread may be changing. */
void schedule_affinity_inherit(struct schedule_entry *entry, const struct thread *parent);

/* Begins this CPU's window, or moves the end of an open one to a later time (service_window.c). Returns false
 * if none is open and no thread of the service is ready. In an interrupt, interrupts off, no locks held. */
bool service_window_begin(uint64_t window_ns);

/* ---- For timers of CPU time (posix_timer.c) ---- */

/* Returns whether a thread runs, or was woken to. */
bool schedule_is_running(const struct thread *thread);

/* Returns on how many CPUs threads of a process run at most. */
unsigned schedule_busy(const struct process *process);

/* Returns the thread of a process that runs on the first of its CPUs after this one, in turns around them;
 * NULL: none runs. The thread may leave its CPU at any time. */
struct thread *schedule_running_after(const struct process *process, unsigned cpu);

/* ---- For the network (net/idle.c) ---- */

/* Optional. Called on a CPU that begins to idle, and when it ends that; no locks held. What happens in the
 * first of these calls may end the idling already. */
extern void (*schedule_idle_hook)(bool begins);

/* Returns whether this CPU idles still; schedule_others_ready: whether threads of its group wait for a
 * CPU. */
bool schedule_is_idle(void);
bool schedule_others_ready(void);

/* ---- For /proc ---- */

/* Returns the sum of the times of all threads that have run on a CPU. */
struct cpu_time schedule_cpu_time(unsigned cpu);

#endif
