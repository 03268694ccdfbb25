/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signal.c: see signal.h: actions, masks, sending, and the queues in which signals wait. Delivering is in
 * signal_deliver.c.
 *
 * Runs in system calls, in interrupts (timers) and on other ranks' CPUs, interrupts off. signals.lock guards
 * all that is changed here; what a thread blocks, and what waits for it, is also read without, by
 * signal_waits. Nothing here takes another lock while it holds it.
 */
#include "process/signal.h"
#include "arch.h"
#include "debug/console.h"
#include "lib/errno.h"
#include "process/itimer.h"
#include "process/process.h"

/* Those that stop, and those that end it, wipe each other out. */
#define STOP_SIGNALS                                                                     \
    (1ULL << (SIGNAL_STOP - 1) | 1ULL << (SIGNAL_TSTP - 1) | 1ULL << (SIGNAL_TTIN - 1) | \
     1ULL << (SIGNAL_TTOU - 1))

const char *signal_name(int signal)
{
    static const char *const names[] = {
        NULL,        "SIGHUP",  "SIGINT",    "SIGQUIT", "SIGILL",   "SIGTRAP", "SIGABRT", "SIGBUS",
        "SIGFPE",    "SIGKILL", "SIGUSR1",   "SIGSEGV", "SIGUSR2",  "SIGPIPE", "SIGALRM", "SIGTERM",
        "SIGSTKFLT", "SIGCHLD", "SIGCONT",   "SIGSTOP", "SIGTSTP",  "SIGTTIN", "SIGTTOU", "SIGURG",
        "SIGXCPU",   "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO",   "SIGPWR",  "SIGSYS",
    };
    const unsigned count = sizeof(names) / sizeof(names[0]);

    return signal > 0 && (unsigned)signal < count ? names[signal] : "a real-time signal";
}

bool signal_ignored_by_default(int signal)
{
    return signal == SIGNAL_CHLD || signal == SIGNAL_CONT || signal == SIGNAL_URG || signal == SIGNAL_WINCH;
}

bool signal_stops_by_default(int signal)
{
    return STOP_SIGNALS & signal_bit(signal);
}

bool signal_is_ignored(const struct process *process, int signal)
{
    uint64_t handler = process->signals.actions[signal - 1].handler;

    return handler == SIG_IGN || (handler == SIG_DFL && signal_ignored_by_default(signal));
}

/* ---- Queues; under signals.lock ---- */

static struct signal_entry *entry_take(struct process_signals *signals)
{
    struct signal_entry *entry;

    if (!signals->pool_made) {
        signals->pool_made = true;
        for (unsigned i = 0; i < SIGNAL_ENTRIES; i++) {
            signals->pool[i].next = signals->spare;
            signals->spare = &signals->pool[i];
        }
    }
    entry = signals->spare;
    if (entry)
        signals->spare = entry->next;
    return entry;
}

static void entry_give(struct process_signals *signals, struct signal_entry *entry)
{
    entry->in = NULL;
    if (entry->timer)
        return; /* the timer's own */
    entry->next = signals->spare;
    signals->spare = entry;
}

static void pending_add(struct signal_pending *pending, struct signal_entry *entry)
{
    entry->in = pending;
    entry->next = NULL;
    if (pending->last)
        pending->last->next = entry;
    else
        pending->first = entry;
    pending->last = entry;
    pending->set |= signal_bit(entry->info.signal);
}

/* Takes out the entry behind `before` (NULL: the first). */
static struct signal_entry *pending_cut(struct signal_pending *pending, struct signal_entry *before)
{
    struct signal_entry *entry = before ? before->next : pending->first;

    if (before)
        before->next = entry->next;
    else
        pending->first = entry->next;
    if (pending->last == entry)
        pending->last = before;
    return entry;
}

static bool pending_has(const struct signal_pending *pending, int signal)
{
    for (const struct signal_entry *entry = pending->first; entry; entry = entry->next)
        if (entry->info.signal == signal)
            return true;
    return false;
}

/* All signals of a set are forgotten. */
static void pending_flush(struct process_signals *signals, struct signal_pending *pending, uint64_t set)
{
    struct signal_entry *before = NULL, *entry;

    if (!(pending->set & set))
        return;
    while ((entry = before ? before->next : pending->first)) {
        if (signal_bit(entry->info.signal) & set)
            entry_give(signals, pending_cut(pending, before));
        else
            before = entry;
    }
    pending->set &= ~set;
}

/* The oldest of a signal's entries; one whose entry found no room has lost what it carried. */
static void pending_take(struct process_signals *signals, struct signal_pending *pending, int signal,
                         struct signal_entry *taken)
{
    struct signal_entry *before = NULL, *entry;

    *taken = (struct signal_entry){ .info = { .signal = signal, .code = SIGNAL_BY_USER } };
    for (entry = pending->first; entry && entry->info.signal != signal; entry = entry->next)
        before = entry;
    if (entry) {
        *taken = *entry;
        entry_give(signals, pending_cut(pending, before));
    }
    if (!pending_has(pending, signal))
        pending->set &= ~signal_bit(signal);
}

static void flush_everywhere(struct process *process, uint64_t set)
{
    pending_flush(&process->signals, &process->signals.pending, set);
    CPU_MASK_EACH(cpu, process->cpus)
    {
        struct thread *thread = thread_of_cpu((unsigned)cpu);

        if (thread && thread->process == process)
            pending_flush(&process->signals, &thread->signals.pending, set);
    }
}

/* ---- Who takes it ---- */

static bool takes(const struct thread *thread, uint64_t bit)
{
    return bit & (~thread->signals.blocked | thread->signals.waited);
}

static void notify_all(struct process *process)
{
    CPU_MASK_EACH(cpu, process->cpus)
    {
        struct thread *thread = thread_of_cpu((unsigned)cpu);

        if (thread)
            thread_notify(thread);
    }
}

/* A thread that takes the signal, the first one by preference; NULL where all of them block it. It may end
 * before it has taken it: signal_thread_end looks for the next. */
static struct thread *taker_find(const struct process *process, uint64_t bit)
{
    struct thread *found = NULL;

    CPU_MASK_EACH(cpu, process->cpus)
    {
        struct thread *thread = thread_of_cpu((unsigned)cpu);

        if (thread && thread->process == process && takes(thread, bit) &&
            (!found || thread->tid == process->pid))
            found = thread;
    }
    return found;
}

/* Lets `thread`, or whoever takes it of the process (NULL), look for a signal that waits now. */
static void taker_notify(const struct process *process, struct thread *thread, uint64_t bit)
{
    if (!thread)
        thread = taker_find(process, bit);
    if (thread && takes(thread, bit))
        thread_notify(thread);
}

/* The caller takes signals no longer that wait for its process: others are told. */
static void retarget(struct process *process, uint64_t newly_blocked)
{
    for (uint64_t set = process->signals.pending.set & newly_blocked; set; set &= set - 1)
        taker_notify(process, NULL, set & -set);
}

bool signal_waits(const struct thread *thread)
{
    const struct process_signals *signals = &thread->process->signals;

    return ((thread->signals.pending.set | signals->pending.set) &
            (~thread->signals.blocked | thread->signals.waited)) ||
           thread->signals.is_forced || signals->stopped;
}

/* ---- Threads ---- */

void signal_thread_start(struct thread *child, const struct thread *parent)
{
    child->signals =
        (struct thread_signals){ .blocked = parent->signals.blocked, .stack = { .flags = SS_DISABLE } };
}

void signal_thread_end(struct thread *thread)
{
    struct process *process = thread->process;

    spin_lock(&process->signals.lock);
    thread->signals.blocked = UINT64_MAX;
    thread->signals.waited = 0;
    pending_flush(&process->signals, &thread->signals.pending, UINT64_MAX);
    retarget(process, UINT64_MAX);
    spin_unlock(&process->signals.lock);
}

/* ---- Sending ---- */

/* What a signal does at once, whoever blocks it. */
static void prepare(struct process *process, int signal)
{
    if (signal_stops_by_default(signal))
        flush_everywhere(process, signal_bit(SIGNAL_CONT));
    if (signal == SIGNAL_CONT)
        flush_everywhere(process, STOP_SIGNALS);
    if (signal != SIGNAL_CONT && signal != SIGNAL_KILL)
        return;
    process->signals.stop_taken = false;
    if (process->signals.stopped) {
        process->signals.stopped = false;
        notify_all(process);
    }
}

/* Whether a signal that was sent may be forgotten at once: nobody handles it, and nobody blocks it, who could
 * still install a handler. */
static bool is_void(const struct process *process, const struct thread *thread, int signal)
{
    uint64_t bit = signal_bit(signal);
    const struct thread *taker = thread ? thread : taker_find(process, bit);

    return signal_is_ignored(process, signal) && taker && !(taker->signals.blocked & bit);
}

static int send_locked(struct process *process, struct thread *thread, const struct signal_info *info)
{
    struct signal_pending *pending = thread ? &thread->signals.pending : &process->signals.pending;
    uint64_t bit = signal_bit(info->signal);
    struct signal_entry *entry;

    prepare(process, info->signal);
    if (is_void(process, thread, info->signal))
        return 0;
    if (info->signal < SIGNAL_REAL_TIME && (pending->set & bit))
        return 0; /* one of each waits */
    entry = entry_take(&process->signals);
    if (entry) {
        entry->timer = NULL;
        entry->info = *info;
        pending_add(pending, entry);
    } else if (info->signal >= SIGNAL_REAL_TIME && info->code != SIGNAL_BY_USER) {
        return -EAGAIN;
    }
    pending->set |= bit;
    taker_notify(process, thread, bit);
    return 0;
}

int signal_send(struct process *process, const struct signal_info *info)
{
    spin_lock(&process->signals.lock);
    int error = send_locked(process, NULL, info);
    spin_unlock(&process->signals.lock);
    return error;
}

int signal_send_thread(struct thread *thread, const struct signal_info *info)
{
    struct process *process = thread->process;

    spin_lock(&process->signals.lock);
    int error = send_locked(process, thread, info);
    spin_unlock(&process->signals.lock);
    return error;
}

bool signal_send_entry(struct process *process, struct thread *thread, struct signal_entry *entry)
{
    bool waits = true;

    spin_lock(&process->signals.lock);
    prepare(process, entry->info.signal);
    if (entry->in) {
        ; /* still */
    } else if (is_void(process, thread, entry->info.signal)) {
        waits = false;
    } else {
        pending_add(thread ? &thread->signals.pending : &process->signals.pending, entry);
        taker_notify(process, thread, signal_bit(entry->info.signal));
    }
    spin_unlock(&process->signals.lock);
    return waits;
}

void signal_withdraw_entry(struct process *process, struct signal_entry *entry)
{
    struct signal_entry *before = NULL;

    spin_lock(&process->signals.lock);
    struct signal_pending *pending = entry->in;
    if (pending) {
        if (pending->first != entry)
            for (before = pending->first; before->next != entry; before = before->next)
                ;
        entry_give(&process->signals, pending_cut(pending, before));
        if (!pending_has(pending, entry->info.signal))
            pending->set &= ~signal_bit(entry->info.signal);
    }
    spin_unlock(&process->signals.lock);
}

/* ---- Masks and actions ---- */

void signal_mask_set(uint64_t blocked)
{
    struct thread *thread = arch_thread();
    struct process *process = thread->process;

    spin_lock(&process->signals.lock);
    blocked &= ~SIGNALS_UNBLOCKABLE;
    uint64_t newly_blocked = blocked & ~thread->signals.blocked;
    thread->signals.blocked = blocked;
    retarget(process, newly_blocked);
    spin_unlock(&process->signals.lock);
}

void signal_waited_set(uint64_t set)
{
    struct thread *thread = arch_thread();

    /* The lock orders it with a sender, who adds a signal first and then looks for somebody that takes it. Of
     * several that came at once the caller takes one; the others may be for threads that wait, too. */
    spin_lock(&thread->process->signals.lock);
    uint64_t no_longer = thread->signals.waited & ~set;
    thread->signals.waited = set;
    retarget(thread->process, no_longer);
    spin_unlock(&thread->process->signals.lock);
}

void signal_mask_swap(uint64_t blocked)
{
    struct thread_signals *signals = &arch_thread()->signals;

    signals->mask_before = signals->blocked;
    signals->mask_swapped = true;
    signal_mask_set(blocked);
}

void signal_mask_restore(void)
{
    struct thread_signals *signals = &arch_thread()->signals;

    if (!signals->mask_swapped)
        return;
    signals->mask_swapped = false;
    signal_mask_set(signals->mask_before);
    thread_return_check();
}

int signal_action_set(int signal, const struct linux_sigaction *action, struct linux_sigaction *old)
{
    struct process *process = arch_process();
    struct linux_sigaction *kept = &process->signals.actions[signal - 1];

    if (action && (SIGNALS_UNBLOCKABLE & signal_bit(signal)))
        return -EINVAL;
    spin_lock(&process->signals.lock);
    *old = *kept;
    if (action) {
        *kept = *action;
        kept->mask &= ~SIGNALS_UNBLOCKABLE;
        kept->flags &= SA_KNOWN;
        if (signal_is_ignored(process, signal))
            flush_everywhere(process, signal_bit(signal));
    }
    spin_unlock(&process->signals.lock);
    if (action)
        itimer_action_changed(process, signal);
    return 0;
}

/* ---- Stopping ---- */

bool signal_stop(struct process *process)
{
    struct process_signals *signals = &process->signals;

    spin_lock(&signals->lock);
    bool stops = signals->stop_taken;
    if (stops) {
        __atomic_store_n(&signals->stopped, true, __ATOMIC_RELEASE);
        notify_all(process);
    }
    signals->stop_taken = false;
    spin_unlock(&signals->lock);
    return stops;
}

/* ---- Taking ---- */

int signal_take(uint64_t set, struct signal_info *info)
{
    struct thread *thread = arch_thread();
    struct process_signals *signals = &thread->process->signals;
    struct signal_pending *pending = &thread->signals.pending;
    struct signal_entry taken;
    int signal = 0;

    if (!((thread->signals.pending.set | signals->pending.set) & set))
        return 0;
    spin_lock(&signals->lock);
    if (!(pending->set & set))
        pending = &signals->pending;
    if (pending->set & set) {
        signal = __builtin_ctzll(pending->set & set) + 1;
        pending_take(signals, pending, signal, &taken);
        signals->stop_taken |= signal_stops_by_default(signal);
    }
    spin_unlock(&signals->lock);
    if (!signal)
        return 0;
    *info = taken.info;
    if (taken.timer)
        itimer_signal_taken(taken.timer, taken.setting, info);
    return signal;
}
