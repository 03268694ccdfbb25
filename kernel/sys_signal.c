/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_signal.c: system calls about signals.
 */
#include "arch.h"
#include "errno.h"
#include "linux_abi.h"
#include "process.h"
#include "syscall.h"

#define SET_BYTES 8
#define SI_USER   0
#define SI_TKILL  (-6)

long sys_rt_sigaction(uint64_t number, uint64_t new_action, uint64_t old_action, uint64_t set_bytes)
{
    uint32_t signal = (uint32_t)number;
    struct process *process = arch_process();
    struct linux_sigaction action;

    if (signal == 0 || signal > SIGNAL_COUNT || set_bytes != 8)
        return -EINVAL;

    uint64_t bit = 1ULL << (signal - 1);
    struct linux_sigaction old = { .handler = process->signals.ignored & bit ? SIG_IGN : SIG_DFL };

    if (new_action) {
        if (user_read(&action, new_action, sizeof(action)))
            return -EFAULT;
        if (signal == SIGNAL_KILL || signal == SIGNAL_STOP)
            return -EINVAL;
        if (action.handler != SIG_DFL && action.handler != SIG_IGN)
            return syscall_refuse("rt_sigaction",
                                  "signals are not delivered to handlers; the default action holds");
    }
    if (old_action && user_write(old_action, &old, sizeof(old)))
        return -EFAULT;
    if (new_action && action.handler == SIG_IGN) {
        process->signals.ignored |= bit;
        process->signals.pending &= ~bit;
    } else if (new_action) {
        process->signals.ignored &= ~bit;
    }
    return 0;
}

long sys_rt_sigprocmask(uint64_t what, uint64_t new_set, uint64_t old_set, uint64_t set_bytes)
{
    uint32_t how = (uint32_t)what;
    struct thread_signals *signals = &arch_thread()->signals;
    uint64_t old = signals->blocked, set = 0;

    if (set_bytes != 8)
        return -EINVAL;
    if (new_set && user_read(&set, new_set, sizeof(set)))
        return -EFAULT;
    if (new_set && how > 2)
        return -EINVAL;
    if (old_set && user_write(old_set, &old, sizeof(old)))
        return -EFAULT;
    if (new_set) {
        set = how == 0 ? old | set : how == 1 ? old & ~set : set;
        signals->blocked = set & ~(1ULL << (SIGNAL_KILL - 1) | 1ULL << (SIGNAL_STOP - 1));
        thread_return_check();
    }
    return 0;
}

static struct signal_info info_of(uint32_t signal, int32_t code)
{
    return (struct signal_info){ .signal = (int32_t)signal,
                                 .code = code,
                                 .sender = { .pid = (uint32_t)arch_process()->pid } };
}

long sys_kill(uint64_t pid, uint64_t signal)
{
    int64_t target = (int32_t)pid;
    struct signal_info info = info_of((uint32_t)signal, SI_USER);

    if ((uint32_t)signal > SIGNAL_COUNT)
        return -EINVAL;
    if (target != (int64_t)arch_process()->pid && target != 0 && target != -1)
        return -ESRCH;
    if (info.signal)
        signal_send(arch_process(), &info);
    thread_return_check();
    return 0;
}

long sys_tkill(uint64_t tid, uint64_t signal)
{
    struct process *process = arch_process();
    struct signal_info info = info_of((uint32_t)signal, SI_TKILL);

    if ((uint32_t)signal > SIGNAL_COUNT || (int32_t)tid <= 0)
        return -EINVAL;
    spin_lock(&process->lock);
    struct thread *thread = thread_find(process, (uint32_t)tid);
    if (thread && info.signal)
        signal_send_thread(thread, &info);
    spin_unlock(&process->lock);
    thread_return_check();
    return thread ? 0 : -ESRCH;
}

long sys_tgkill(uint64_t group, uint64_t tid, uint64_t signal)
{
    if ((int32_t)group <= 0)
        return -EINVAL;
    return (uint32_t)group == arch_process()->pid ? sys_tkill(tid, signal) : -ESRCH;
}
