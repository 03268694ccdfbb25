/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signal.h: Linux's signals: sent to a thread or to a process, kept until somebody does not block them, and
 * delivered on the way back to the program, to its handler or by their default action.
 */
#ifndef TACET_SIGNAL_H
#define TACET_SIGNAL_H

#include "signal_numbers.h"
#include "spinlock.h"
#include <stdint.h>

struct process;
struct thread;
struct fault;

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

struct process_signals {
    struct spinlock lock; /* guards these, and the pending ones of the process's threads */
    uint64_t ignored;     /* a bit each: bit n is signal n + 1 */
    uint64_t pending;     /* for any thread that does not block them */
};

struct thread_signals {
    uint64_t blocked;
    uint64_t pending; /* for this thread alone */
};

/* A thread begins: it blocks what the one that started it blocks. It ends: what waits for it alone is lost.
 */
void signal_thread_start(struct thread *child, const struct thread *parent);
void signal_thread_end(struct thread *thread);

/* Sends a signal to a process, for any of its threads that does not block it, or to one thread. From any CPU,
 * in any context. */
void signal_send(struct process *process, const struct signal_info *info);
void signal_send_thread(struct thread *thread, const struct signal_info *info);

/* Whether a signal waits that this thread takes: it must leave the kernel. */
bool signal_waits(const struct thread *thread);

/* On this thread's way back to the program: begins handlers for the signals that wait, or does what they do
 * by default, which may be the end of the process. Also decides how an interrupted system call goes on. */
void signal_deliver(void *frame);

#endif
