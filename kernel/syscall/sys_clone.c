/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_clone.c: the system call clone: checks and decodes its flags [man 2 clone]; thread_create carries it
 * out. The architecture's assembly of sys_clone calls thread_clone, because only it sees all the registers
 * with which the new thread begins.
 *
 * Runs in system calls, interrupts off, no locks held.
 */
#include "arch.h"
#include "debug/console.h"
#include "lib/errno.h"
#include "process/process.h"
#include "syscall/linux_calls.h"
#include "syscall/syscall.h"

static int flags_check(uint64_t flags)
{
    const uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
    const uint64_t known = thread | CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_SETTID |
                           CLONE_CHILD_CLEARTID | CLONE_DETACHED;

    if (((flags & CLONE_THREAD) && !(flags & CLONE_SIGHAND)) ||
        ((flags & CLONE_SIGHAND) && !(flags & CLONE_VM)))
        return -EINVAL;
    if (!(flags & CLONE_THREAD))
        return (int)syscall_refuse("clone", "a program cannot start another process");
    if ((flags & thread) != thread)
        return (int)syscall_refuse("clone",
                                   "threads must share memory, files, directory and signal handlers");
    if (flags & ~known)
        return (int)syscall_refuse("clone", "tracing and namespaces are not supported");
    return 0;
}

/* Logs, once per process, why clone failed. */
static void refusal_log(struct process *process)
{
    if (!__atomic_exchange_n(&process->threads_refused, true, __ATOMIC_RELAXED))
        kernel_print("%s (%s) wants more threads than %u, or has no memory left for one: clone answers "
                     "EAGAIN; threads= sets how many it may have for each CPU\n",
                     process->title, process->name, threads_max(&process->cpus));
}

long thread_clone(uint64_t flags, uint64_t stack, uint64_t parent_tid, uint64_t child_tid, uint64_t tls,
                  const void *kept_registers)
{
    const struct thread_arguments given = {
        .stack = stack,
        .thread_pointer = flags & CLONE_SETTLS ? &tls : NULL,
        .parent_tid_address = flags & CLONE_PARENT_SETTID ? parent_tid : 0,
        .set_tid_address = flags & CLONE_CHILD_SETTID ? child_tid : 0,
        .clear_tid_address = flags & CLONE_CHILD_CLEARTID ? child_tid : 0,
        .kept_registers = kept_registers,
    };
    int error = flags_check(flags & ~0xffULL); /* the low byte is a signal for a parent */

    if (error)
        return error;
    if ((flags & CLONE_SETTLS) && tls >= ARCH_USER_LIMIT)
        return -EPERM;

    long tid = thread_create(&given);
    if (tid == -EAGAIN)
        refusal_log(arch_process());
    return tid;
}
