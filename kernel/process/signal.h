/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signal.h: Linux's signals: sent to a thread or to a process, pending until a thread does not block them,
 * and delivered on the way back to the program, to its handler or by their default action.
 *
 * Sending (signal.c) makes a signal pending and notifies one thread that can take it (thread_interrupt).
 * Delivering (signal_deliver.c) happens on that thread's way back to the program, and nowhere else. The
 * architecture builds the handler's frame on the program's stack, and takes it down again.
 *
 * Source: man 7 signal, man 2 sigaction, sigprocmask, sigqueue, sigaltstack (facts of the interface).
 */
#ifndef TACET_SIGNAL_H
#define TACET_SIGNAL_H

#include "lib/linux_abi.h"
#include "lib/list.h"
#include "lib/signal_numbers.h"
#include "smp/spinlock.h"
#include <stdbool.h>
#include <stdint.h>

#define SIGNAL_ENTRIES 256 /* pending signals of a process that keep their siginfo; RLIMIT_SIGPENDING */

struct process;
struct thread;
struct fault;
struct posix_timer;

/* How an interrupted system call goes on. */
enum restart {
    RESTART_NONE,   /* not interrupted */
    RESTART_NEVER,  /* -EINTR if a handler has run; again if none has: sleeps with a time limit, sigsuspend */
    RESTART_ALWAYS, /* again without a handler, and after one that was installed with SA_RESTART */
    RESTART_ANYHOW, /* again in either case: locks that inherit priority */
};

/* A pending signal. The entry belongs to its process's pool, or to the timer that sends it. */
struct signal_entry {
    struct list_link link;
    struct signal_pending *in; /* where it is pending; NULL: nowhere */
    struct posix_timer *timer; /* NULL: the entry is one of the pool */
    uint64_t setting;          /* the timer's setting when it expired */
    struct thread *first;      /* the thread that gets it, unless it blocks it then; NULL: any */
    struct signal_info info;
};

/* Pending signals, in the order in which they were sent. A bit without an entry: the pool was empty, the
 * signal's siginfo is lost. */
struct signal_pending {
    uint64_t set; /* a bit each: bit n is signal n + 1 */
    struct list entries;
};

/* Where handlers with SA_ONSTACK run: Linux's stack_t. */
struct signal_stack {
    uint64_t base;
    uint32_t flags, padding; /* SS_DISABLE, or SS_AUTODISARM, or 0 */
    uint64_t bytes;
};

struct process_signals {
    struct spinlock lock; /* guards these, and the masks and pending signals of the process's threads */
    struct linux_sigaction actions[SIGNAL_COUNT];
    struct signal_pending pending; /* for any thread that does not block them */
    bool stop_taken;               /* a thread has taken a signal that stops, and no SIGCONT has come since */
    bool stopped; /* a signal has stopped the process: threads wait on their way back to the program */
    bool timed;   /* timers of CPU time are set: threads bring their alarms in line (posix_timer.h) */
    bool is_slow; /* either of them: threads take the slow return path */
    /* Set, with the lock: senders notify the process's threads of its struct process_signals (event.h). */
    bool watched;
    uint64_t sent;               /* signals sent since then */
    unsigned pool_used;          /* entries of the pool that have been in use so far */
    struct list_link *pool_free; /* entries of the pool that are free again */
    struct signal_entry pool[SIGNAL_ENTRIES];
};

struct thread_signals {
    uint64_t blocked;
    uint64_t accepted;             /* sigtimedwait: taken although blocked */
    struct signal_pending pending; /* for this thread alone */
    uint64_t mask_before;          /* the mask that signal_mask_swap has saved, if mask_swapped */
    bool mask_swapped;             /* signal_mask_swap has saved a mask */
    bool returns;                  /* the call that ends is rt_sigreturn */
    bool is_forced;                /* `forced` is next, whatever else is pending: the signal of a fault */
    struct signal_info forced;
    struct signal_stack stack;
};

static inline uint64_t signal_bit(int signal)
{
    return 1ULL << (signal - 1);
}

#define SIGNALS_UNBLOCKABLE (1ULL << (SIGNAL_KILL - 1) | 1ULL << (SIGNAL_STOP - 1))

/* ---- Threads ---- */

/* Discards the pending signals of a thread that ends (the caller holds its process's lock); those of its
 * process go to another thread. */
void signal_thread_end(struct thread *thread);

/* ---- Sending; from any CPU, in any context ---- */

/* Sends a signal to a process, for any of its threads that does not block it (`thread` NULL), or to one of
 * its threads. `entry`, or NULL: a timer's own, with the same siginfo, which is pending once at most.
 * -EAGAIN if a signal that queues does not fit any more; other kinds always do. */
int signal_send(struct process *process, struct thread *thread, const struct signal_info *info,
                struct signal_entry *entry);

/* Sets process_signals.timed. */
void signals_timed_set(struct process *process, bool on);

/* Takes a timer's entry back. */
void signal_withdraw_entry(struct process *process, struct signal_entry *entry);

/* ---- Masks and actions, of the caller ---- */

void signal_mask_set(uint64_t blocked);

/* Lets the caller take the signals of a set (sigtimedwait), blocked or not, until it sets another one. */
void signal_accepted_set(uint64_t set);

/* Swaps the mask, for calls that block other signals while they wait (sigsuspend, ppoll, pselect,
 * epoll_pwait):
 *
 *      signal_mask_swap(mask);
 *      … thread_sleep …: -EINTR -> return thread_interrupted_call(…)
 *      signal_mask_restore();          only if the wait was not interrupted
 *
 * After an interrupted wait signal_deliver restores the mask: before it starts the call again, or by the
 * frame of the handler, which runs with the call's mask and returns to the mask from before. */
void signal_mask_swap(uint64_t blocked);
void signal_mask_restore(void);

/* Sets an action. Returns -EINVAL for SIGKILL and SIGSTOP. Signals that are ignored from now on are no longer
 * pending. */
int signal_action_set(int signal, const struct linux_sigaction *action, struct linux_sigaction *old);

#define SIGNALS_IGNORED_BY_DEFAULT                                                      \
    (1ULL << (SIGNAL_CHLD - 1) | 1ULL << (SIGNAL_CONT - 1) | 1ULL << (SIGNAL_URG - 1) | \
     1ULL << (SIGNAL_WINCH - 1))

/* Returns whether a handler ignores a signal, explicitly or by default. */
static inline __attribute__((always_inline)) bool signal_handler_ignores(uint64_t handler, int signal)
{
    return handler == SIG_IGN || (handler == SIG_DFL && (signal_bit(signal) & SIGNALS_IGNORED_BY_DEFAULT));
}

/* Stops the process, as the default action of a signal that was taken. False, with nothing stopped, if
 * SIGCONT or SIGKILL has been sent since then. */
bool signal_stop(struct process *process);

/* ---- Taking ---- */

/* Returns whether a signal is pending that this thread takes, or its process is stopped. */
bool signal_is_pending(const struct thread *thread);

/* Returns the same, or whether timers of CPU time are set. */
bool signal_return_is_slow(const struct thread *thread);

/* Takes a signal of `set` that is pending for the caller or its process, lowest number first; 0 if there is
 * none. */
int signal_take(uint64_t set, struct signal_info *info);

/* ---- Delivering ---- */

/* Begins handlers for the pending signals, or takes their default action, which may be the end of the
 * process, on this thread's way back to the program. Also decides how an interrupted system call goes on. */
void signal_deliver(void *frame);

/* Makes the signal of a fault of the caller's pending. Returns whether its handler will run: false if there
 * is none, or the signal is blocked; then the program cannot go on. */
bool signal_fault(const struct fault *fault);

/* ---- Alternate stacks ---- */

/* Returns whether `address`, a stack pointer, lies on the alternate stack. */
bool signal_stack_holds(const struct signal_stack *stack, uint64_t address);

/* Does Linux's sigaltstack for a caller whose stack pointer is `at`: -EPERM on that stack, -EINVAL,
 * -ENOMEM. */
int signal_stack_set(const struct signal_stack *requested, uint64_t at);

#endif
