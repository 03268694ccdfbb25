/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * restart.c: the answer of a system call that a signal has interrupted. The call records in its thread which
 * call it was and whether it may start again; signal_deliver decides, when it knows whether a handler runs.
 *
 * Runs in system calls; touches the caller's thread only.
 */
#include "arch.h"
#include "lib/errno.h"
#include "process/thread.h"
#include "syscall/syscall.h"

long thread_interrupted_call(unsigned number, enum restart restart)
{
    struct thread *thread = arch_thread();

    thread->restart_number = number;
    thread->restart = restart;
    arch_request_slow_return();
    return -EINTR;
}

long thread_interrupted_wait(long (*resume)(const uint64_t *words), const uint64_t words[RESUME_WORDS])
{
    struct thread *thread = arch_thread();

    thread->resume = resume;
    for (unsigned i = 0; i < RESUME_WORDS; i++)
        thread->resume_words[i] = words[i];
    return thread_interrupted_call(SYSCALL_NUMBER_restart_syscall, RESTART_NEVER);
}

long restartable(unsigned number, long result)
{
    if (result == -EINTR)
        return thread_interrupted_call(number, RESTART_ALWAYS);
    if (result == -ERESTARTNOHAND)
        return thread_interrupted_call(number, RESTART_NEVER);
    return result;
}
