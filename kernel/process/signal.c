/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signal.c: see signal.h: actions, masks, sending, and the lists of pending signals. Delivering is in
 * signal_deliver.c.
 *
 * Runs in system calls, in interrupts (timers) and on other ranks' CPUs, interrupts off. signals.lock guards
 * all that is changed here; what a thread blocks, and what is pending for it, is also read without the lock,
 * by signal_is_pending. Nothing here takes another lock while it holds it.
 */
#include "process/signal.h"
#include "arch.h"
#include "lib/errno.h"
#include "process/process.h"

/* Sending one of these discards a pending SIGCONT, and sending SIGCONT discards these. */
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

bool signal_stops_by_default(int signal)
{
    return STOP_SIGNALS & signal_bit(signal);
}

static bool signal_is_ignored(const struct process *process, int signal)
{
    return signal_handler_ignores(process->signals.actions[signal - 1].handler, signal);
}

/* ---- Pending signals; under signals.lock ---- */

static struct signal_entry *entry_allocate(struct process_signals *signals)
{
    struct list_link *free = signals->pool_free;

    if (!free)
        return signals->pool_used < SIGNAL_ENTRIES ? &signals->pool[signals->pool_used++] : NULL;
    signals->pool_free = free->next;
    return (void *)free;
}

/* Returns the oldest entry of a signal; NULL if there is none. */
static struct signal_entry *pending_find(const struct signal_pending *pending, int signal)
{
    LIST_EACH(signal_entry, entry, &pending->entries)
        if (entry->info.signal == signal)
            return entry;
    return NULL;
}

static void entry_release(struct process_signals *signals, struct signal_entry *entry)
{
    list_remove(&entry->in->entries, &entry->link);
    entry->in = NULL;
    if (entry->timer)
        return;
    entry->link.next = signals->pool_free;
    signals->pool_free = &entry->link;
}

/* Takes an entry out; the signal may still be pending by another one. */
static void pending_remove(struct process_signals *signals, struct signal_entry *entry)
{
    struct signal_pending *pending = entry->in;

    entry_release(signals, entry);
    if (!pending_find(pending, entry->info.signal))
        pending->set &= ~signal_bit(entry->info.signal);
}

/* Discards all signals of a set. */
static void pending_flush(struct process_signals *signals, struct signal_pending *pending, uint64_t set)
{
    if (!(pending->set & set))
        return;
    LIST_EACH_SAFE(signal_entry, entry, &pending->entries)
        if (signal_bit(entry->info.signal) & set)
            entry_release(signals, entry);
    pending->set &= ~set;
}

static void flush_everywhere(struct process *process, uint64_t set)
{
    pending_flush(&process->signals, &process->signals.pending, set);
    PROCESS_THREADS_EACH(thread, process)
        pending_flush(&process->signals, &thread->signals.pending, set);
}

/* ---- Which thread takes a signal; under signals.lock ---- */

/* Returns the signals that a thread takes. */
static uint64_t takes(const struct thread *thread)
{
    return ~thread->signals.blocked | thread->signals.accepted;
}

/* Finds a thread that takes the signal, the first thread if it does; NULL if all of them block it. It may end
 * before it has taken it: signal_thread_end then notifies another one. */
static struct thread *recipient_find(const struct process *process, uint64_t bit)
{
    PROCESS_THREADS_EACH(thread, process)
        if (takes(thread) & bit)
            return thread;
    return NULL;
}

/* Notifies `thread`, or, if it is NULL, the recipient in the process, of a signal that is pending now. */
static void recipient_notify(const struct process *process, struct thread *thread, uint64_t bit)
{
    if (!thread)
        thread = recipient_find(process, bit);
    if (thread && (takes(thread) & bit))
        thread_interrupt(thread);
}

/* Notifies other threads of signals that are pending for the process and that the caller no longer takes. */
static void retarget(struct process *process, uint64_t newly_blocked)
{
    uint64_t set = process->signals.pending.set & newly_blocked;

    if (!set)
        return;
    PROCESS_THREADS_EACH(thread, process) {
        uint64_t taken = set & takes(thread);

        if (taken)
            thread_interrupt(thread);
        if (!(set &= ~taken))
            return;
    }
}

/* Returns whether the thread has a signal to take, or its process is in a state. Reads without locks: see
 * thread_has_pending_work. */
static inline __attribute__((always_inline)) bool has_work(const struct thread *thread, const bool *state)
{
    return (takes(thread) & (thread->signals.pending.set | thread->process->signals.pending.set)) ||
           thread->signals.is_forced || *state;
}

bool signal_is_pending(const struct thread *thread)
{
    return has_work(thread, &thread->process->signals.stopped);
}

bool signal_return_is_slow(const struct thread *thread)
{
    return has_work(thread, &thread->process->signals.is_slow);
}

/* ---- Threads ---- */

void signal_thread_end(struct thread *thread)
{
    struct process *process = thread->process;

    SPIN_GUARD(&process->signals.lock);
    thread->signals.blocked = UINT64_MAX;
    thread->signals.accepted = 0;
    pending_flush(&process->signals, &thread->signals.pending, UINT64_MAX);
    retarget(process, UINT64_MAX);
}

/* ---- Sending ---- */

/* Does what a signal does when it is sent, even if it is blocked. */
static void sent_effect(struct process *process, int signal)
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
        process->signals.is_slow = process->signals.timed;
        threads_notify(process);
    }
}

/* Returns whether a signal that is sent is discarded at once: the program ignores it, and the recipient does
 * not block it. A thread that blocks it could still install a handler. */
static bool is_discarded(const struct process *process, const struct thread *thread, int signal)
{
    uint64_t bit = signal_bit(signal);
    const struct thread *recipient = thread ? thread : recipient_find(process, bit);

    return signal_is_ignored(process, signal) && recipient && !(recipient->signals.blocked & bit);
}

/* Makes a signal pending. */
static int add(struct process *process, struct thread *thread, const struct signal_info *info,
               struct signal_entry *entry)
{
    bool is_queued = info->signal >= SIGNAL_REAL_TIME;
    uint64_t bit = signal_bit(info->signal);

    SPIN_GUARD(&process->signals.lock);
    if (entry && entry->first && (takes(entry->first) & bit))
        thread = entry->first;
    struct signal_pending *pending = thread ? &thread->signals.pending : &process->signals.pending;
    sent_effect(process, info->signal);
    if (is_discarded(process, thread, info->signal) || (entry && entry->in))
        return 0;
    if (!entry && !is_queued && (pending->set & bit))
        return 0; /* one of each is pending at most */
    if (!entry && (entry = entry_allocate(&process->signals))) {
        entry->timer = NULL;
        entry->info = *info;
    }
    if (!entry && is_queued && info->code != SIGNAL_BY_USER)
        return -EAGAIN;
    if (entry) {
        entry->in = pending;
        list_append(&pending->entries, &entry->link);
    }
    pending->set |= bit;
    recipient_notify(process, thread, bit);
    return 0;
}

void signals_timed_set(struct process *process, bool on)
{
    SPIN_GUARD(&process->signals.lock);
    process->signals.timed = on;
    process->signals.is_slow = on || process->signals.stopped;
}

int signal_send(struct process *process, struct thread *thread, const struct signal_info *info,
                struct signal_entry *entry)
{
    int error = add(process, thread, info, entry);

    if (__atomic_load_n(&process->signals.watched, __ATOMIC_RELAXED)) {
        __atomic_fetch_add(&process->signals.sent, 1, __ATOMIC_RELAXED);
        event_notify(process, event_of(&process->signals));
    }
    return error;
}

void signal_withdraw_entry(struct process *process, struct signal_entry *entry)
{
    SPIN_GUARD(&process->signals.lock);
    if (entry->in)
        pending_remove(&process->signals, entry);
}

/* ---- Masks and actions ---- */

void signal_mask_set(uint64_t blocked)
{
    struct thread *thread = arch_thread();
    struct process *process = thread->process;

    SPIN_GUARD(&process->signals.lock);
    blocked &= ~SIGNALS_UNBLOCKABLE;
    uint64_t newly_blocked = blocked & ~thread->signals.blocked;
    thread->signals.blocked = blocked;
    retarget(process, newly_blocked);
}

void signal_accepted_set(uint64_t set)
{
    struct thread *thread = arch_thread();

    /* The lock orders this with a sender, which adds a signal and then finds its recipient. Of several
     * signals at once the caller takes one; other waiting threads may take the rest. */
    SPIN_GUARD(&thread->process->signals.lock);
    uint64_t dropped = thread->signals.accepted & ~set;
    thread->signals.accepted = set;
    retarget(thread->process, dropped);
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
    if (action && !signal_is_ignored(process, signal))
        posix_timers_resume(process, signal);
    return 0;
}

/* ---- Stopping ---- */

bool signal_stop(struct process *process)
{
    struct process_signals *signals = &process->signals;

    SPIN_GUARD(&signals->lock);
    bool stops = signals->stop_taken;
    if (stops) {
        signals->is_slow = true;
        __atomic_store_n(&signals->stopped, true, __ATOMIC_RELEASE);
        threads_notify(process);
    }
    signals->stop_taken = false;
    return stops;
}

/* ---- Taking ---- */

int signal_take(uint64_t set, struct signal_info *info)
{
    struct thread *thread = arch_thread();
    struct process_signals *signals = &thread->process->signals;
    struct signal_pending *pending = &thread->signals.pending;
    struct posix_timer *timer = NULL;
    uint64_t setting = 0;

    if (!((pending->set | signals->pending.set) & set)) /* a later signal finds a thread that takes it */
        return 0;
    spin_lock(&signals->lock);
    if (!(pending->set & set))
        pending = &signals->pending;
    int signal = pending->set & set ? __builtin_ctzll(pending->set & set) + 1 : 0;
    struct signal_entry *entry = signal ? pending_find(pending, signal) : NULL;
    if (entry) {
        *info = entry->info;
        timer = entry->timer;
        setting = entry->setting;
        pending_remove(signals, entry);
    } else if (signal) { /* its siginfo is lost */
        *info = (struct signal_info){ .signal = signal, .code = SIGNAL_BY_USER };
        pending->set &= ~signal_bit(signal);
    }
    signals->stop_taken |= signal && signal_stops_by_default(signal);
    spin_unlock(&signals->lock);
    if (timer)
        posix_timer_signal_taken(timer, setting, info);
    return signal;
}
