/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread.h: the threads of a process: their beginning, their end, and what is pending for them.
 *
 * A process has its first thread on the first of its rank's CPUs, and may start others (clone), up to
 * `threads=` for each CPU of the rank. Which of them runs is schedule.h's; a CPU without a thread idles, and
 * costs nothing. Each thread has a kernel stack of its own, in the memory of its rank.
 *
 * A thread enters the kernel by a system call, a fault or an interrupt, and stays there only for as long as
 * it works or sleeps (sleep.h). What becomes pending for it meanwhile (a signal, the end of its process, a
 * move to another CPU) it handles on its way back to the program, in thread_slow_return. A new thread takes
 * that way, too.
 */
#ifndef TACET_THREAD_H
#define TACET_THREAD_H

#include "arch.h"
#include "lib/list.h"
#include "process/cpu_time.h"
#include "process/event.h"
#include "process/futex.h"
#include "process/schedule.h"
#include "process/signal.h"
#include "process/sleep.h"
#include "time/timer.h"

#define RESUME_WORDS      5
#define THREAD_NAME_BYTES 16 /* Linux's TASK_COMM_LEN */

struct process;

struct thread {
    struct list_link link; /* in process.threads, or among its free ones */
    struct process *process;
    uint32_t tid; /* the first thread's is the process's pid */
    char name[THREAD_NAME_BYTES];
    struct schedule_entry schedule;
    uint32_t policy; /* sched_setscheduler */
    int32_t priority;
    bool resets_policy;         /* SCHED_RESET_ON_FORK: its children have no priority */
    uint64_t set_tid_address;   /* CLONE_CHILD_SETTID: where it writes its tid first */
    uint64_t clear_tid_address; /* set_tid_address: zeroed when the thread ends, a waiter woken */
    uint64_t robust_list;       /* set_robust_list: locks to release when the thread ends */
    uint64_t latency_bound_ns;  /* of its timers: latency_bound=, or prctl(PR_SET_TIMERSLACK) */
    struct cpu_time_record time;
    struct thread_signals signals;
    struct smart_timer sleep_timer;
    uint32_t events_seen[EVENT_LISTS]; /* event.c */
    struct thread_locks locks;
    bool waits_for_network; /* net/idle.c; since it was on this CPU: */
    unsigned waits_on_cpu;

    /* The system call that a signal has interrupted, and how it may go on; syscall/restart.c. `resume` (NULL:
     * none) continues a wait with a time limit as restart_syscall. */
    unsigned restart_number;
    enum restart restart;
    long (*resume)(const uint64_t *words);
    uint64_t resume_words[RESUME_WORDS];

    struct arch_context context; /* its registers while it has no CPU */
};

/* ---- Beginning and end ---- */

/* Applies `threads=`. -EINVAL with `why`. */
int threads_configure(const struct command_line *line, struct message *why);

/* The most threads that a process with so many CPUs may have. */
unsigned threads_max(const struct cpu_mask *cpus);

/* The first thread of a process, on this CPU: to load the program with, then to enter. NULL: no memory. */
struct thread *thread_first(struct process *process);
_Noreturn void thread_first_enter(struct thread *thread, uint64_t entry, uint64_t stack);

/* The same for a service: this CPU leaves it, and it becomes ready: POLICY_OTHER or POLICY_IDLE. */
void thread_first_start(struct thread *thread, uint64_t entry, uint64_t stack, uint32_t policy);

/* A new thread of the caller's process, as clone describes it; an address of 0 is none. */
struct thread_arguments {
    uint64_t stack;                 /* 0: the caller's */
    const uint64_t *thread_pointer; /* NULL: the caller's */
    uint64_t parent_tid_address;    /* its tid is written here before it runs, */
    uint64_t set_tid_address;       /* here by itself, */
    uint64_t clear_tid_address;     /* and zero here when it ends */
    const void *kept_registers;     /* of the caller, for arch_start_clone */
};

/* Starts it on an idle CPU of its affinity, else queues it: its tid, or -EAGAIN where the process has as many
 * as it may, or no memory for another. */
long thread_create(const struct thread_arguments *given);

/* The end of this thread; of its process, if it was the last one. */
_Noreturn void thread_exit(unsigned status);

/* Frees the memory of a thread that has left its CPU for good. schedule.c */
void thread_release(struct thread *thread);

/* For each thread of a process, in the order of their beginning; under the process's lock, or its signals'.
 */
#define PROCESS_THREADS_EACH(member, process) LIST_EACH(thread, member, &(process)->threads)

/* The thread of a process with this tid; NULL. Under the process's lock. */
struct thread *thread_find(const struct process *process, uint32_t tid);

/* The one with the lowest tid from `lowest` on; NULL. Likewise. */
const struct thread *thread_from(const struct process *process, uint32_t lowest);

/* Its tid; 0: there is none. */
uint32_t thread_tid_from(struct process *process, uint32_t lowest);

/* Names a thread; the first one's name is the process's, too. False where the process has no such thread. */
bool thread_rename(struct process *process, uint32_t tid, const char name[THREAD_NAME_BYTES]);

/* ---- Pending work ---- */

/* Whether a signal, a move or the end of its process is pending: the thread must pass thread_slow_return. */
bool thread_has_pending_work(const struct thread *thread);

/* Makes all threads of a process recheck that (thread_interrupt). What is pending has been stored before. */
void threads_notify(struct process *process);

/* In a system call: lets it return through thread_slow_return if this thread has pending work. Whoever has
 * blocked, or let its thread take other signals than before, ends with this; who sends a signal does not have
 * to (thread_interrupt). */
void thread_return_check(void);

/* Entry points of the architecture: on a new thread's own stack; on a CPU's, for one that has no thread. */
_Noreturn void thread_begin(void);
_Noreturn void thread_idle(void);

/* Entry point of the architecture: on the way back to the program after a fault, an interrupt, or a system
 * call that arch_request_slow_return was called for: ends or moves the thread, delivers signals. `frame`
 * holds all the program's registers; delivering changes them there. */
void thread_slow_return(void *frame);

/* Whether thread_slow_return has anything to do: most interrupts leave nothing behind. */
bool thread_must_return_slowly(void);

#endif
