/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signal.c: see signal.h.
 */
#include "signal.h"
#include "arch.h"
#include "process.h"

void signal_thread_start(struct thread *child, const struct thread *parent)
{
    child->signals = (struct thread_signals){ .blocked = parent->signals.blocked };
}

void signal_thread_end(struct thread *thread)
{
    thread->signals.pending = 0;
}

static bool signal_wanted(const struct process *process, int signal)
{
    return !(process->signals.ignored & 1ULL << (signal - 1)) && !signal_ignored_by_default(signal);
}

void signal_send(struct process *process, const struct signal_info *info)
{
    if (!signal_wanted(process, info->signal))
        return;
    spin_lock(&process->signals.lock);
    process->signals.pending |= 1ULL << (info->signal - 1);
    spin_unlock(&process->signals.lock);
    CPU_MASK_EACH(cpu, process->cpus)
    {
        struct thread *thread = thread_of_cpu((unsigned)cpu);

        if (thread && signal_waits(thread))
            thread_notify(thread);
    }
}

void signal_send_thread(struct thread *thread, const struct signal_info *info)
{
    if (!signal_wanted(thread->process, info->signal))
        return;
    spin_lock(&thread->process->signals.lock);
    thread->signals.pending |= 1ULL << (info->signal - 1);
    spin_unlock(&thread->process->signals.lock);
    thread_notify(thread);
}

bool signal_waits(const struct thread *thread)
{
    return (thread->signals.pending | thread->process->signals.pending) & ~thread->signals.blocked;
}

void signal_deliver(void *frame)
{
    struct thread *thread = arch_thread();

    (void)frame;
    if (signal_waits(thread))
        process_kill(__builtin_ctzll((thread->signals.pending | thread->process->signals.pending) &
                                     ~thread->signals.blocked) +
                     1);
}
