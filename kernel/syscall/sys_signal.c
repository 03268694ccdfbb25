/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_signal.c: system calls about signals, which signal.c keeps and signal_deliver.c delivers.
 *
 * A process is a process group of its own, so 0 as kill's target means the caller's process. The ranks of the
 * compute node are the only other processes; all of them belong to root.
 */
#include "arch.h"
#include "fs/file.h"
#include "time/clock.h"
#include "lib/errno.h"
#include "process/process.h"
#include "syscall/linux_calls.h"
#include "syscall/syscall.h"
#include "time/timespec.h"

#define SET_BYTES 8

long sys_rt_sigaction(uint64_t number, uint64_t new_action, uint64_t old_action, uint64_t set_bytes)
{
    uint32_t signal = (uint32_t)number;
    struct linux_sigaction action, old;
    int error;

    if (signal == 0 || signal > SIGNAL_COUNT || set_bytes != SET_BYTES)
        return -EINVAL;
    if (new_action && user_read(&action, new_action, sizeof(action)))
        return -EFAULT;
    error = signal_action_set((int)signal, new_action ? &action : NULL, &old);
    if (error)
        return error;
    return old_action ? user_write(old_action, &old, sizeof(old)) : 0;
}

long sys_rt_sigprocmask(uint64_t what, uint64_t new_set, uint64_t old_set, uint64_t set_bytes)
{
    uint32_t how = (uint32_t)what;
    uint64_t old = arch_thread()->signals.blocked, set = 0;

    if (set_bytes != SET_BYTES)
        return -EINVAL;
    if (new_set && user_read(&set, new_set, sizeof(set)))
        return -EFAULT;
    if (new_set && how > SIG_SETMASK)
        return -EINVAL;
    if (new_set) {
        if (how == SIG_BLOCK)
            set |= old;
        else if (how == SIG_UNBLOCK)
            set = old & ~set;
        signal_mask_set(set);
        thread_return_check();
    }
    return old_set ? user_write(old_set, &old, sizeof(old)) : 0;
}

long sys_rt_sigpending(uint64_t buffer, uint64_t set_bytes)
{
    const struct thread *thread = arch_thread();
    uint64_t set =
        (thread->signals.pending.set | thread->process->signals.pending.set) & thread->signals.blocked;

    return set_bytes > SET_BYTES ? -EINVAL : user_write(buffer, &set, set_bytes);
}

/* ---- Waiting ---- */

long sys_pause(void)
{
    thread_sleep(NULL, TIMER_NEVER);
    return thread_interrupted_call(SYSCALL_NUMBER_pause, RESTART_NEVER);
}

int signal_mask_read(uint64_t address, uint64_t bytes, uint64_t *mask)
{
    uint64_t set = 0;
    int error = bytes == SET_BYTES ? user_read(&set, address, sizeof(set)) : -EINVAL;

    *mask = set & ~SIGNALS_UNBLOCKABLE;
    return error;
}

long sys_rt_sigsuspend(uint64_t mask, uint64_t set_bytes)
{
    uint64_t blocked;
    int error = signal_mask_read(mask, set_bytes, &blocked);

    if (error)
        return error;
    signal_mask_swap(blocked);
    thread_sleep(NULL, TIMER_NEVER);
    return thread_interrupted_call(SYSCALL_NUMBER_rt_sigsuspend, RESTART_NEVER);
}

/* Waits for a signal of a set; continues when interrupted. Words: the set, where to write the signal's struct
 * siginfo, the deadline. */
static long timed_wait(const uint64_t *words)
{
    uint64_t set = words[0], address = words[1], deadline_ns = words[2];
    struct linux_siginfo linux_info = { .zeros = { 0 } };
    int signal = signal_take(set, &linux_info.info), slept = 0;

    if (!signal && deadline_ns > clock_now_ns()) {
        signal_accepted_set(set);
        slept = thread_sleep(NULL, deadline_ns);
        signal = signal_take(set, &linux_info.info);
        signal_accepted_set(0);
    }
    if (!signal)
        return slept == -EINTR ? thread_interrupted_wait(timed_wait, words) : -EAGAIN;
    return address && user_write(address, &linux_info, sizeof(linux_info)) ? -EFAULT : signal;
}

long sys_rt_sigtimedwait(uint64_t set_address, uint64_t info_address, uint64_t timeout, uint64_t set_bytes)
{
    uint64_t set, ns = UINT64_MAX;
    int error = signal_mask_read(set_address, set_bytes, &set);

    if (!error && timeout)
        error = timespec_read(timeout, &ns);
    if (error)
        return error;

    const uint64_t words[RESUME_WORDS] = { set, info_address, time_add(clock_now_ns(), ns) };
    return timed_wait(words);
}

long sys_restart_syscall(void)
{
    struct thread *thread = arch_thread();
    long (*resume)(const uint64_t *words) = thread->resume;

    thread->resume = NULL;
    return resume ? resume(thread->resume_words) : -EINTR;
}

/* ---- Handlers ---- */

/* Returns from a handler. That changes all registers, so signal_deliver does it: on the slow return path they
 * are in one place. */
long sys_rt_sigreturn(void)
{
    arch_thread()->signals.returns = true;
    arch_request_slow_return();
    return 0;
}

long sys_sigaltstack(uint64_t new_stack, uint64_t old_stack)
{
    const struct signal_stack *current = &arch_thread()->signals.stack;
    uint64_t stack_pointer = arch_call_stack();
    struct signal_stack requested, old = *current;
    int error;

    if (new_stack && user_read(&requested, new_stack, sizeof(requested)))
        return -EFAULT;
    old.flags = current->flags & SS_AUTODISARM;
    if (!current->bytes)
        old.flags |= SS_DISABLE;
    else if (!old.flags && signal_stack_holds(current, stack_pointer))
        old.flags |= SS_ONSTACK;
    error = new_stack ? signal_stack_set(&requested, stack_pointer) : 0;
    if (error)
        return error;
    return old_stack ? user_write(old_stack, &old, sizeof(old)) : 0;
}

/* ---- Sending ---- */

static struct signal_info info_of(uint64_t signal, int32_t code)
{
    return (struct signal_info){ .signal = (int32_t)signal,
                                 .code = code,
                                 .sender = { .pid = (uint32_t)arch_process()->pid,
                                             .uid = process_credentials.uid } };
}

/* Sends a signal to a process. Signal 0 only checks that the process exists. */
static long process_signal(struct process *process, const struct signal_info *info)
{
    if (!process)
        return -ESRCH;
    return info->signal ? signal_send(process, NULL, info, NULL) : 0;
}

/* Sends a signal to the thread `tid`, of the process `group`, or of any process if that is 0. */
static long thread_signal(uint64_t group, uint64_t tid, const struct signal_info *info)
{
    for (struct process *process = group ? process_find(group) : process_next(0); process;
         process = group ? NULL : process_next(process->rank + 1)) {
        SPIN_GUARD(&process->lock);
        struct thread *thread = thread_find(process, (uint32_t)tid);
        if (thread)
            return info->signal ? signal_send(process, thread, info, NULL) : 0;
    }
    return -ESRCH;
}

static long all_others_signal(const struct signal_info *info)
{
    long error = -ESRCH;

    PROCESSES_EACH(process)
        if (process != arch_process())
            error = process_signal(process, info);
    return error;
}

long sys_kill(uint64_t pid, uint64_t signal)
{
    int64_t target = (int32_t)pid;
    struct signal_info info = info_of(signal, SIGNAL_BY_USER);

    if ((uint32_t)signal > SIGNAL_COUNT)
        return -EINVAL;
    if (target == -1)
        return all_others_signal(&info);
    if (target == 0)
        return process_signal(arch_process(), &info);
    return process_signal(process_find((uint64_t)(target < 0 ? -target : target)), &info);
}

long thread_kill(uint32_t group, uint64_t tid, uint64_t signal)
{
    struct signal_info info = info_of(signal, SIGNAL_BY_TKILL);

    if ((uint32_t)signal > SIGNAL_COUNT || (int32_t)tid <= 0)
        return -EINVAL;
    return thread_signal(group, (uint32_t)tid, &info);
}

/* Reads the signal that a program describes. A program may send a signal that looks like the kernel's or
 * tkill's only to itself: -EPERM. */
static int info_read(struct signal_info *info, uint64_t address, uint64_t signal, uint64_t pid)
{
    struct linux_siginfo linux_info;

    if (user_read(&linux_info, address, sizeof(linux_info)))
        return -EFAULT;
    if ((uint32_t)signal > SIGNAL_COUNT)
        return -EINVAL;
    *info = linux_info.info;
    if ((info->code >= 0 || info->code == SIGNAL_BY_TKILL) && (uint32_t)pid != arch_process()->pid)
        return -EPERM;
    info->signal = (int32_t)signal;
    return 0;
}

long sys_rt_sigqueueinfo(uint64_t pid, uint64_t signal, uint64_t address)
{
    struct signal_info info;
    int error = info_read(&info, address, signal, pid);

    if (error)
        return error;
    return (int32_t)pid <= 0 ? -ESRCH : process_signal(process_find((uint32_t)pid), &info);
}

long sys_pidfd_send_signal(uint64_t descriptor, uint64_t signal, uint64_t address, uint64_t flags)
{
    FILE_REFERENCE file = file_of(descriptor);
    const struct process *process = file ? pidfd_process(file) : NULL;
    struct signal_info info = info_of((uint32_t)signal, SIGNAL_BY_USER);
    int32_t number = (int32_t)signal;

    if ((uint32_t)flags)
        return -EINVAL;
    if (!process)
        return -EBADF;
    if (address && user_read(&number, address, sizeof(number)))
        return -EFAULT;
    if (number != (int32_t)signal || (uint32_t)signal > SIGNAL_COUNT)
        return -EINVAL;
    int error = address ? info_read(&info, address, signal, process->pid) : 0;
    return error ? error : process_signal(process_find(process->pid), &info);
}

long sys_rt_tgsigqueueinfo(uint64_t group, uint64_t tid, uint64_t signal, uint64_t address)
{
    struct signal_info info;
    int error;

    if ((int32_t)group <= 0 || (int32_t)tid <= 0)
        return -EINVAL;
    error = info_read(&info, address, signal, group);
    return error ? error : thread_signal((uint32_t)group, (uint32_t)tid, &info);
}
