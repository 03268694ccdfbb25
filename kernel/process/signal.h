/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signal.h: Linux's signals: sent to a thread or to a process, kept until somebody does not block them, and
 * delivered on the way back to the program, to its handler or by their default action.
 *
 * Sending (signal.c) marks a signal as pending and lets one thread look for it (thread_notify). Delivering
 * (signal_deliver.c) happens on that thread's way back to the program, and nowhere else. The architecture
 * puts the handler's frame onto the program's stack, and takes it back.
 *
 * Source: man 7 signal, man 2 sigaction, sigprocmask, sigqueue, sigaltstack (facts of the interface).
 */
#ifndef TACET_SIGNAL_H
#define TACET_SIGNAL_H

#include "lib/linux_abi.h"
#include "lib/signal_numbers.h"
#include "smp/spinlock.h"
#include <stdbool.h>
#include <stdint.h>

#define SIGNAL_ENTRIES 256 /* signals of a process that wait with what they carry; RLIMIT_SIGPENDING */

struct process;
struct thread;
struct fault;
struct program_timer;

/* How an interrupted system call goes on. */
enum restart {
    RESTART_NONE,   /* not interrupted */
    RESTART_NEVER,  /* -EINTR if a handler has run; again if none has: sleeps with a time limit, sigsuspend */
    RESTART_ALWAYS, /* again without a handler, and after one that was installed with SA_RESTART */
};

/* What a signal carries: the fields of Linux's siginfo_t that its kinds have. */
struct signal_info {
    int32_t signal, error, code;
    union {
        struct {
            uint32_t pid, uid;
            uint64_t value; /* of sigqueue */
        } sender;
        struct {
            int32_t id, overrun;
            uint64_t value;
        } timer;
        struct {
            uint64_t address; /* of a fault */
        } fault;
    };
};

/* A signal that waits. It belongs to its process's pool, or to the timer that sends it. */
struct signal_entry {
    struct signal_entry *next;
    struct signal_pending *in; /* where it waits; NULL: nowhere */
    struct program_timer *timer;
    uint64_t setting; /* of the timer, when it expired */
    struct signal_info info;
};

/* Signals that wait, in the order in which they came. A bit without an entry: the pool was empty, what the
 * signal carried is lost. */
struct signal_pending {
    uint64_t set; /* a bit each: bit n is signal n + 1 */
    struct signal_entry *first, *last;
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
    bool stopped;                  /* by such a one: threads wait where they leave the kernel */
    bool pool_made;
    struct signal_entry *spare;
    struct signal_entry pool[SIGNAL_ENTRIES];
};

struct thread_signals {
    uint64_t blocked;
    uint64_t waited;               /* sigtimedwait: taken although blocked */
    struct signal_pending pending; /* for this thread alone */
    uint64_t mask_before;          /* what signal_mask_swap has put away, */
    bool mask_swapped;             /* where it has */
    bool returns;                  /* the call that ends is rt_sigreturn */
    bool is_forced;                /* `forced` is next, whatever else waits: the signal of a fault */
    struct signal_info forced;
    struct signal_stack stack;
};

static inline uint64_t signal_bit(int signal)
{
    return 1ULL << (signal - 1);
}

#define SIGNALS_UNBLOCKABLE (1ULL << (SIGNAL_KILL - 1) | 1ULL << (SIGNAL_STOP - 1))

/* ---- Threads ---- */

/* A thread begins: it blocks what the one that started it blocks. It ends (under its process's lock): what
 * waits for it alone is lost, what waits for its process is another thread's now. */
void signal_thread_start(struct thread *child, const struct thread *parent);
void signal_thread_end(struct thread *thread);

/* ---- Sending; from any CPU, in any context ---- */

/* Sends a signal to a process, for any of its threads that does not block it, or to one thread. -EAGAIN where
 * a signal that queues does not fit any more; other kinds always do. */
int signal_send(struct process *process, const struct signal_info *info);
int signal_send_thread(struct thread *thread, const struct signal_info *info);

/* The same for a timer's own entry, which waits in one place at most; `thread` NULL: for any of the process.
 * Whether it waits now; it does not where the program ignores the signal. */
bool signal_send_entry(struct process *process, struct thread *thread, struct signal_entry *entry);
void signal_withdraw_entry(struct process *process, struct signal_entry *entry);

/* ---- Masks and actions, of the caller ---- */

void signal_mask_set(uint64_t blocked);

/* While the caller waits for the signals of a set (sigtimedwait), it is one who takes them, blocked or not.
 */
void signal_waited_set(uint64_t set);

/* For calls that block other signals while they wait (sigsuspend, ppoll, pselect, epoll_pwait):
 *
 *      signal_mask_swap(mask);
 *      … thread_sleep …: -EINTR -> return thread_interrupted_call(…)
 *      signal_mask_restore();          only where the wait was not interrupted
 *
 * After an interrupted one signal_deliver restores the mask: before it starts the call again, or by the frame
 * of the handler, which runs with the call's mask and returns to the one from before. */
void signal_mask_swap(uint64_t blocked);
void signal_mask_restore(void);

/* -EINVAL for SIGKILL and SIGSTOP. Signals that are ignored from now on do not wait any longer. */
int signal_action_set(int signal, const struct linux_sigaction *action, struct linux_sigaction *old);

/* Whether the program ignores a signal, by its own wish or by default. */
bool signal_is_ignored(const struct process *process, int signal);

/* What a signal that stops does by default. False where SIGCONT, or SIGKILL, has come since it was taken: it
 * is over then. */
bool signal_stop(struct process *process);

/* ---- Taking ---- */

/* Whether a signal waits that this thread takes, or that stops it: it must leave the kernel. */
bool signal_waits(const struct thread *thread);

/* Takes a signal of `set` that waits for the caller or its process, lowest number first; 0 where there is
 * none. */
int signal_take(uint64_t set, struct signal_info *info);

/* ---- Delivering ---- */

/* On this thread's way back to the program: begins handlers for the signals that wait, or does what they do
 * by default, which may be the end of the process. Also decides how an interrupted system call goes on. */
void signal_deliver(void *frame);

/* A fault of the caller's: whether its handler will run. False where there is none, or the signal is blocked:
 * the program cannot go on. */
bool signal_fault(const struct fault *fault);

/* Linux's siginfo_t of a signal. */
void signal_info_to_linux(struct linux_siginfo *to, const struct signal_info *info);

/* ---- Alternate stacks ---- */

/* Whether `address`, a stack pointer, lies on the alternate stack. */
bool signal_stack_holds(const struct signal_stack *stack, uint64_t address);

/* Linux's sigaltstack for a caller whose stack pointer is `at`: -EPERM on that stack, -EINVAL, -ENOMEM. */
int signal_stack_set(const struct signal_stack *wanted, uint64_t at);

#endif
