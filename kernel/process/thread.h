/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread.h: the threads of a process: their beginning, their end, and what is pending for them.
 *
 * A process has its first thread on the first of its rank's CPUs, and may start others (clone), up to
 * `threads=` for each CPU of the rank. Which of them runs is schedule.h's; a CPU without a thread idles, and
 * costs nothing. Each thread has a kernel stack of its own, in the memory of its rank.
 *
 * A thread enters the kernel by a system call, a fault or an interrupt, and stays there only for as long as
 * it works or sleeps (sleep.c). What becomes pending for it meanwhile (a signal, the end of its process, a
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
#include "time/timer.h"

#define RESUME_WORDS      5
#define THREAD_NAME_BYTES 16 /* Linux's TASK_COMM_LEN */

struct process;

struct thread {
    struct list_link link; /* in process.threads, or in the process's threads_free */
    struct process *process;
    uint32_t tid; /* the first thread's is the process's pid */
    char name[THREAD_NAME_BYTES];
    struct schedule_entry schedule;
    uint32_t policy; /* sched_setscheduler */
    int32_t priority;
    bool resets_policy;         /* SCHED_RESET_ON_FORK: its children have no priority */
    uint32_t memory_policy;     /* set_mempolicy: kept for programs that read it back, */
    uint64_t memory_nodes;      /* a bit for each NUMA node */
    uint64_t set_tid_address;   /* CLONE_CHILD_SETTID: where it writes its tid first */
    uint64_t clear_tid_address; /* set_tid_address: zeroed when the thread ends, and a waiter woken */
    uint64_t robust_list;       /* set_robust_list: locks to release when the thread ends */
    uint64_t latency_bound_ns;  /* its timers' bound: latency_bound=, or prctl(PR_SET_TIMERSLACK) */
    struct cpu_time_record time;
    struct thread_signals signals;
    struct smart_timer sleep_timer;
    uint32_t events_seen[EVENT_LISTS]; /* event.c */
    struct thread_locks locks;
    struct list cpu_timers; /* timers that are set and go by this thread's CPU time (posix_timer.h) */
    bool waits_for_network; /* net/idle.c */
    unsigned waits_on_cpu;  /* the CPU that it was on when that began */

    /* The system call that a signal has interrupted, and how it may go on; syscall/syscall.c. `resume` (NULL:
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

/* Returns how many threads a process with these CPUs may have. */
unsigned threads_max(const struct cpu_mask *cpus);

/* Makes the first thread of a process, on this CPU: to load the program with, then to enter. NULL: no
 * memory. */
struct thread *thread_first(struct process *process);
_Noreturn void thread_first_enter(struct thread *thread, uint64_t entry, uint64_t stack);

/* Starts the first thread of a service instead: this CPU leaves it, and it becomes ready, with the policy
 * POLICY_OTHER or POLICY_IDLE. */
void thread_first_start(struct thread *thread, uint64_t entry, uint64_t stack, uint32_t policy);

/* A new thread of the caller's process, as clone describes it; an address of 0 is none. */
struct thread_arguments {
    uint64_t stack;                 /* 0: the caller's */
    const uint64_t *thread_pointer; /* NULL: the caller's */
    uint64_t parent_tid_address;    /* the caller writes the new tid here, before the thread runs */
    uint64_t set_tid_address;       /* the thread itself writes its tid here */
    uint64_t clear_tid_address;     /* zero is written here when the thread ends */
    const void *kept_registers;     /* the caller's registers, for arch_start_clone */
};

/* Starts it on an idle CPU of its affinity, else queues it. Returns its tid, or -EAGAIN if the process has as
 * many as it may, or no memory for another. */
long thread_create(const struct thread_arguments *given);

/* Ends this thread, and its process if it was the last one. */
_Noreturn void thread_exit(unsigned status);

/* Frees the memory of a thread that has left its CPU for good. schedule.c */
void thread_release(struct thread *thread);

/* For each thread of a process, in the order of their beginning. The caller holds the process's lock, or its
 * signals'.
 */
#define PROCESS_THREADS_EACH(member, process) LIST_EACH(thread, member, &(process)->threads)

/* Finds the thread of a process with this tid; NULL if there is none. The caller holds the process's lock. */
struct thread *thread_find(const struct process *process, uint32_t tid);

/* Finds the thread with the lowest tid from `lowest` on; NULL if there is none. The caller holds the
 * process's lock. */
const struct thread *thread_from(const struct process *process, uint32_t lowest);

/* Returns the tid of that thread; 0: there is none. Takes the lock. */
uint32_t thread_tid_from(struct process *process, uint32_t lowest);

/* Sets a thread's name; the first one's name is the process's, too. Returns false if the process has no such
 * thread. */
bool thread_rename(struct process *process, uint32_t tid, const char name[THREAD_NAME_BYTES]);

/* ---- Sleeping: every wait of a thread ends here: for a futex, an event (event.h), a time, a signal, the end
 * of a stop. Other threads have its CPU meanwhile; if there are none, the CPU idles. ---- */

/* Sleeps until a waker sets *woken (NULL: none does) and then calls thread_wake: 0; -ETIMEDOUT from a
 * deadline (clock.h) on (never early, at most the thread's latency bound late; TIMER_NEVER: no time limit);
 * -EINTR when the thread has pending work, a signal or the end of its process. No locks held. */
int thread_sleep(const uint32_t *woken, uint64_t deadline);

/* Sleeps likewise; -ETIMEDOUT perhaps also before a deadline by wall time: when that clock steps. */
int thread_sleep_to_step(const uint32_t *woken, uint64_t deadline);

/* Sleeps likewise, whatever is pending, for a wait that is bounded and must not be given up: never -EINTR. */
int thread_sleep_through(const uint32_t *woken, uint64_t deadline);

/* Sleeps, on the way back to the program, for as long as a signal stops the process. Does not return if the
 * process ends meanwhile. */
void thread_sleep_stopped(struct thread *thread);

/* ---- Pending work ---- */

/* Returns whether a signal, a move or the end of its process is pending: it must pass thread_slow_return. */
bool thread_has_pending_work(const struct thread *thread);

/* Makes all threads of a process recheck that (thread_interrupt). What is pending has been stored before. */
void threads_notify(struct process *process);

/* Makes a system call return through thread_slow_return if this thread has pending work. A call that has
 * blocked, or has changed which signals its thread takes, ends with this; a call that sends a signal does not
 * have to (thread_interrupt). */
void thread_return_check(void);

/* Begins a new thread, on its own stack. thread_idle: idles, on the stack of a CPU that has no thread. Entry
 * points of the architecture. */
_Noreturn void thread_begin(void);
_Noreturn void thread_idle(void);

/* Ends or moves the thread, delivers signals. Entry point of the architecture, on the way back to the program
 * after a fault, an interrupt, or a system call that arch_request_slow_return was called for. `frame` holds
 * all the program's registers; delivering changes them there. */
void thread_slow_return(void *frame);

/* Returns whether thread_slow_return has anything to do: most interrupts leave no work. */
bool thread_must_return_slowly(void);

#endif
