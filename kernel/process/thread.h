/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread.h: the one thread of a CPU.
 *
 * A process has its first thread on the first of its rank's CPUs, and may start one more on each other CPU
 * of the rank (clone). A thread keeps its CPU to itself until it ends: nothing is ever switched. A CPU
 * without a thread waits, and costs nothing.
 *
 * A thread enters the kernel by a system call, a fault or an interrupt, and stays there only for as long as
 * it works or sleeps (thread_sleep). What others want of it meanwhile (a signal, the end of its process) it
 * finds on its way back to the program: thread_slow_return. A thread that arrives on a CPU, new or moved,
 * takes that way, too.
 */
#ifndef TACET_THREAD_H
#define TACET_THREAD_H

#include "arch.h"
#include "process/signal.h"

#define RESUME_WORDS      5
#define THREAD_NAME_BYTES 16 /* Linux's TASK_COMM_LEN */

struct process;

/* In the program; in the kernel, without sleep; asleep. */
struct cpu_time {
    uint64_t user_ns, system_ns, idle_ns;
};

struct thread {
    struct process *process; /* NULL: not in use */
    uint32_t tid;            /* the first thread's is the process's pid */
    struct thread *next;     /* of the successors */
    unsigned cpu;
    unsigned wanted_cpu; /* where sched_setaffinity wants it; it moves when it next leaves the kernel */
    char name[THREAD_NAME_BYTES];
    uint64_t affinity; /* sched_setaffinity: CPUs that it may move to; a subset of its process's */
    uint32_t policy;   /* sched_setscheduler: told to whoever asks, and without effect */
    int32_t priority;
    uint64_t set_tid_address;   /* CLONE_CHILD_SETTID: where it writes its tid first */
    uint64_t clear_tid_address; /* set_tid_address: zeroed when the thread ends, a waiter woken */
    uint64_t robust_list;       /* set_robust_list: locks to hand on when the thread ends */
    uint64_t latency_bound_ns;  /* of its timers: latency_bound=, or what prctl(PR_SET_TIMERSLACK) says */
    uint64_t start_ns;
    uint32_t time_sequence;   /* odd while the next two change */
    uint64_t idle_ns;         /* of the time since then, slept, without */
    uint64_t sleeps_since_ns; /* the present sleep; 0: awake */
    bool arrived;             /* its CPU counts its kernel time, and no longer another's */
    uint64_t kernel_ns;       /* in the kernel, on CPUs that it has left */
    struct thread_signals signals;

    /* The system call that was interrupted, and which of its ways to go on it has; thread_interrupted_call.
     */
    unsigned restart_number;
    enum restart restart;

    /* How a wait with a time limit goes on as restart_syscall; thread_interrupted_wait. NULL: not at all. */
    long (*resume)(const uint64_t *words);
    uint64_t resume_words[RESUME_WORDS];

    struct arch_start start; /* the registers that it begins with, on the CPU that takes it up */
};

/* ---- Beginning and end ---- */

/* Memory for the threads of so many CPUs, from the kernel's pool: once, before the first one. */
uint64_t threads_bytes(unsigned cpu_count);
void threads_initialise(struct page_pool *pool, unsigned cpu_count);

/* The first thread of a process, on this CPU, which becomes it. */
struct thread *thread_first(struct process *process);

/* Linux's clone of a thread onto a free CPU of the process: its tid, or -EAGAIN where each CPU has one. The
 * architecture's entry point for clone calls it: `kept` is what only its assembly has seen of the caller's
 * registers, for arch_start_copy. */
long thread_clone(uint64_t flags, uint64_t stack, uint64_t parent_tid, uint64_t child_tid, uint64_t tls,
                  const void *kept);

/* A CPU of a rank that has no thread waits here for one, and becomes it. */
_Noreturn void thread_idle(void);

/* The end of this thread; of its process, if it was the last one. */
_Noreturn void thread_exit(unsigned status);

/* The thread on a CPU, NULL where there is none. It may end at any time, unless it is the caller or the
 * caller holds its process's lock. */
struct thread *thread_of_cpu(unsigned cpu);

/* The thread of a process with this tid; NULL. Under the process's lock. */
struct thread *thread_find(const struct process *process, uint32_t tid);

/* Lets a thread look whether something waits for it: it leaves the kernel, if it sleeps there, and passes
 * through thread_slow_return. */
void thread_notify(struct thread *thread);

/* In a system call: lets it return through thread_slow_return if something waits for this thread. Whoever may
 * have sent it a signal, or unblocked one, ends with this. */
void thread_return_check(void);

/* Time of any thread since its start. */
struct cpu_time thread_time(const struct thread *thread);
struct cpu_time cpu_time_sum(struct cpu_time a, struct cpu_time b);

/* ---- Sleeping ---- */

/* Waits until *woken (NULL: nothing wakes it) is set by somebody who then calls arch_ipi_send for this CPU:
 * 0; -ETIMEDOUT from `deadline_ns` on (never early, at most the thread's latency bound late; TIMER_NEVER: no
 * time limit); -EINTR when a signal or the end of the process wants the thread. No locks held. */
int thread_sleep(const uint32_t *woken, uint64_t deadline_ns);

/* Around any wait inside the kernel, thread_sleep's own included: what passes between is idle time. */
void thread_idle_begin(struct thread *thread);
void thread_idle_end(struct thread *thread);

/* What a system call returns that ended early by -EINTR: remembers which call it was, so that it can start
 * again after, or instead of, the signal's handler. */
long thread_interrupted_call(unsigned number, enum restart restart);

/* The same for a wait whose time limit was relative (RESTART_NEVER): if no handler runs, it goes on by
 * `resume`, which gets the words. */
long thread_interrupted_wait(long (*resume)(const uint64_t *words), const uint64_t words[RESUME_WORDS]);

/* ---- Entry point of the architecture ---- */

/* On the way back to the program after a fault, an interrupt, or a system call that arch_request_slow_return
 * was called for: ends or moves the thread, delivers signals. `frame` holds all the program's registers, and
 * is where delivering changes them. */
void thread_slow_return(void *frame);

#endif
