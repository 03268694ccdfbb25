/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread.h: the one thread of a CPU.
 *
 * A process has its first thread on the first of its rank's CPUs, and may start one more on each other CPU of
 * the rank (clone). A thread keeps its CPU to itself until it ends or moves to another: nothing is ever
 * switched. A CPU without a thread idles, and costs nothing.
 *
 * A thread enters the kernel by a system call, a fault or an interrupt, and stays there only for as long as
 * it works or sleeps (sleep.h). What becomes pending for it meanwhile (a signal, the end of its process, a
 * move to another CPU) it handles on its way back to the program, in thread_slow_return. A thread that
 * arrives on a CPU, new or moved, takes that way, too.
 */
#ifndef TACET_THREAD_H
#define TACET_THREAD_H

#include "arch.h"
#include "lib/list.h"
#include "process/cpu_time.h"
#include "process/signal.h"
#include "process/sleep.h"

#define RESUME_WORDS      5
#define THREAD_NAME_BYTES 16 /* Linux's TASK_COMM_LEN */

struct process;

struct thread {
    struct list_link link;   /* in process.queued */
    struct process *process; /* NULL: not in use */
    uint32_t tid;            /* the first thread's is the process's pid */
    unsigned cpu;
    unsigned target_cpu; /* where it moves on its next way back to the program; as a rule `cpu` */
    char name[THREAD_NAME_BYTES];
    uint64_t affinity; /* sched_setaffinity: CPUs that it may move to; a subset of its process's */
    uint32_t policy;   /* sched_setscheduler: kept for programs that read it back, and without effect */
    int32_t priority;
    uint64_t set_tid_address;   /* CLONE_CHILD_SETTID: where it writes its tid first */
    uint64_t clear_tid_address; /* set_tid_address: zeroed when the thread ends, a waiter woken */
    uint64_t robust_list;       /* set_robust_list: locks to release when the thread ends */
    uint64_t latency_bound_ns;  /* of its timers: latency_bound=, or prctl(PR_SET_TIMERSLACK) */
    struct cpu_time_record time;
    struct thread_signals signals;

    /* The system call that a signal has interrupted, and how it may go on; syscall/restart.c. `resume` (NULL:
     * none) continues a wait with a time limit as restart_syscall. */
    unsigned restart_number;
    enum restart restart;
    long (*resume)(const uint64_t *words);
    uint64_t resume_words[RESUME_WORDS];

    struct arch_start start; /* the registers with which it enters its program on a new CPU */
};

/* ---- Beginning and end ---- */

/* Memory for the threads of so many CPUs, from the kernel's pool: once, before the first one. */
uint64_t threads_bytes(unsigned cpu_count);
void threads_initialise(struct page_pool *pool, unsigned cpu_count);

/* The first thread of a process, on this CPU, which becomes it. */
struct thread *thread_first(struct process *process);

/* A new thread of the caller's process, as clone describes it; an address of 0 is none. */
struct thread_arguments {
    uint64_t stack;                 /* 0: the caller's */
    const uint64_t *thread_pointer; /* NULL: the caller's */
    uint64_t parent_tid_address;    /* its tid is written here before it runs, */
    uint64_t set_tid_address;       /* here by itself, */
    uint64_t clear_tid_address;     /* and zero here when it ends */
    const void *kept_registers;     /* of the caller, for arch_start_clone */
};

/* Starts it on a free CPU of the process: its tid, or -EAGAIN where each CPU has a thread. */
long thread_create(const struct thread_arguments *given);

/* A CPU of a rank that has no thread idles here until it gets one, and becomes it. */
_Noreturn void thread_idle(void);

/* The end of this thread; of its process, if it was the last one. */
_Noreturn void thread_exit(unsigned status);

/* The thread on a CPU, NULL where there is none. It may end at any time, unless it is the caller or the
 * caller holds its process's lock. */
struct thread *thread_of_cpu(unsigned cpu);

/* For each thread of a process, in the order of their CPUs; under the process's lock, or its signals'. */
#define PROCESS_THREADS_EACH(thread, of_process)    \
    CPU_MASK_EACH(thread##_cpu, (of_process)->cpus) \
    for (struct thread *thread = thread_of_cpu((unsigned)thread##_cpu); thread; thread = NULL)

/* The thread of a process with this tid; NULL. Under the process's lock. */
struct thread *thread_find(const struct process *process, uint32_t tid);

/* ---- Pending work ---- */

/* Whether a signal, a move or the end of its process is pending: the thread must pass thread_slow_return. */
bool thread_has_pending_work(const struct thread *thread);

/* Makes a thread recheck that: ends its sleep in the kernel, or interrupts its program. What is pending has
 * been stored before. */
void thread_notify(struct thread *thread);
void threads_notify(struct process *process); /* all of a process */

/* In a system call: lets it return through thread_slow_return if this thread has pending work. Whoever may
 * have sent it a signal, or unblocked one, ends with this. */
void thread_return_check(void);

/* Entry point of the architecture: on the way back to the program after a fault, an interrupt, or a system
 * call that arch_request_slow_return was called for: ends or moves the thread, delivers signals. `frame`
 * holds all the program's registers; delivering changes them there. */
void thread_slow_return(void *frame);

#endif
