/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * schedule.c: see schedule.h. Decides which thread has a CPU; the others stand in the queues of run_queue.h.
 *
 * Runs in system calls, in interrupts (timers), on idle CPUs, and on other CPUs of the rank, interrupts off.
 * A group's lock is a leaf, except for a CPU's timers' lock. A thread leaves its registers under it, and
 * the next thread of the CPU releases it: so no other CPU runs a thread before it has left this one.
 */
#include "process/schedule.h"
#include "arch.h"
#include "debug/klog.h"
#include "process/process.h"
#include "process/run_queue.h"
#include "smp/spinlock.h"
#include "time/clock.h"
#include "time/timer.h"

#define ROTATION_MIN_NS 100000

PER_CPU static struct cpu_group cpu_group; /* the group of which this is the first CPU */
static struct cpu_group *groups;           /* all of them; constant while a job runs */
static bool is_finished;                   /* schedule_finish */
static bool has_service;                   /* idle CPUs of any group may take the service's ready threads */
void (*schedule_idle_hook)(bool begins);
void (*schedule_home_hook)(void) __attribute__((noreturn));

/* ---- Placing ---- */

#define WORTH_MAX 3

/* Rates an idle CPU for a thread that has to move to another CPU. */
static int idle_worth(const struct run_queue *queue)
{
    const struct run_queue *sibling = queue->sibling;

    while (sibling != queue && run_queue_is_idle(sibling))
        sibling = sibling->sibling;
    return 2 * (sibling == queue) + !queue->current;
}

/* Chooses an idle CPU for a thread; NULL: none. One on an idle core comes first, then one without any
 * thread's registers (a thread that blocks there would have to move), then the one that the thread was on. */
static struct run_queue *idle_choose(const struct cpu_group *group, const struct thread *thread)
{
    struct run_queue *before = thread->schedule.queue;
    struct run_queue *best = NULL;
    int best_worth = -1;

    if (before->group == group && run_queue_is_idle(before) &&
        cpu_mask_test(&thread->schedule.affinity, before->cpu) && idle_worth(before) == WORTH_MAX)
        return before;
    CPU_MASK_EACH_COMMON(cpu, &group->idle, &thread->schedule.affinity) {
        struct run_queue *queue = run_queue_of((unsigned)cpu);
        int worth = 2 * idle_worth(queue) + (queue == before);

        if (worth > best_worth) {
            best = queue;
            best_worth = worth;
        }
        if (worth >= 2 * WORTH_MAX) /* there is none better */
            break;
    }
    return best;
}

/* Chooses where a thread is queued if no CPU is idle: where the lowest rank runs, then where the fewest are
 * ready, then where it was before. That is also the choice if it may run on none of these CPUs: a thread of
 * the service, which waits there for a CPU of another group. */
static struct run_queue *busy_choose(const struct cpu_group *group, const struct thread *thread)
{
    struct run_queue *best = NULL;
    int lowest = 0;
    unsigned fewest = 0;

    CPU_MASK_EACH_COMMON(cpu, &group->cpus, &thread->schedule.affinity) {
        struct run_queue *queue = run_queue_of((unsigned)cpu);
        int rank = queue->current ? queue->current->schedule.rank : RANK_BACKGROUND;
        unsigned ready = run_queue_ready(queue);

        if (best && (rank > lowest || (rank == lowest && ready > fewest) ||
                     (rank == lowest && ready == fewest && queue != thread->schedule.queue)))
            continue;
        best = queue;
        lowest = rank;
        fewest = ready;
    }
    return best ? best : thread->schedule.queue;
}

/* Ends a CPU's idling, for a reason that is stored already. */
static void idle_end(struct run_queue *queue)
{
    __atomic_store_n(queue->idle_word, *queue->idle_word & ~queue->idle_bit, __ATOMIC_RELEASE);
    if (queue != run_queue_here())
        arch_ipi_send(queue->cpu);
}

/* Makes a CPU check which thread it should run. */
static void cpu_interrupt(unsigned cpu)
{
    if (cpu == arch_cpu_index()) {
        arch_request_slow_return();
        return;
    }
    arch_counters_here()->wake_ipis++;
    arch_ipi_send(cpu);
}

/* Offers a ready thread, if it is the service's, to an idle CPU of another group: interrupts that CPU, which
 * comes and fetches it. The thread stays where it is until then. */
static void wanderer_offer(const struct thread *thread)
{
    if (!thread->process->is_service)
        return;
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* first: it is a wanderer. Then: is a CPU idle? See idle() */
    for (struct cpu_group *group = groups; group; group = group->next)
        CPU_MASK_EACH_COMMON(idle, &group->idle, &thread->schedule.affinity) {
            arch_ipi_send((unsigned)idle);
            return;
        }
}

/* Queues a thread that is in no queue where it runs soonest, and interrupts that CPU if necessary. */
static void place(struct cpu_group *group, struct thread *thread)
{
    struct run_queue *idle = idle_choose(group, thread), *queue = idle ? idle : busy_choose(group, thread);

    thread->schedule.must_move = false;
    run_queue_add(queue, thread, false);
    if (idle) {
        idle_end(queue);
        return;
    }
    if ((queue->current && thread->schedule.rank > queue->current->schedule.rank) ||
        (takes_turns(queue, thread->schedule.rank) && !turn_is_armed(queue)))
        cpu_interrupt(queue->cpu);
    wanderer_offer(thread);
}

/* ---- Idling ---- */

/* Fetches a thread of the service for this CPU, which is idle, from a busy one of another group. Returns
 * false if there is none. */
static bool wanderer_fetch(struct run_queue *queue)
{
    struct thread *thread = NULL;

    for (struct cpu_group *group = groups; group && !thread; group = group->next) {
        if (!__atomic_load_n(&wanderers, __ATOMIC_SEQ_CST))
            return false;
        if (group == queue->group || !__atomic_load_n(&group->ready, __ATOMIC_RELAXED))
            continue;
        SPIN_GUARD(&group->lock);
        if ((thread = cpu_group_first(group, queue->cpu))) {
            run_queue_remove(thread);
            thread->schedule.state = THREAD_NEW;
            run_queue_set(thread, queue);
        }
    }
    if (!thread)
        return false;
    SPIN_GUARD(&queue->group->lock);
    place(queue->group, thread);
    return true;
}

/* Makes background timers wait while this CPU's thread goes on, unless it is a SCHED_IDLE one. */
static inline __attribute__((always_inline)) void foreground_set(const struct thread *thread)
{
    if (timer_background_used)
        timer_foreground_set(thread && !schedule_is_background(&thread->schedule));
}

/* Idles, because no thread is ready, without the lock, until another CPU or an interrupt ends that: because a
 * thread is ready for this CPU, or the thread whose registers are here is woken. */
static void idle(struct run_queue *queue)
{
    struct cpu_group *group = queue->group;

    if (queue->turn.pending)
        turn_update(queue);
    foreground_set(NULL);
    *queue->idle_word |= queue->idle_bit;
    spin_unlock(&group->lock);
    if (has_service)
        __atomic_thread_fence(__ATOMIC_SEQ_CST); /* idle is seen, or this CPU sees the next wanderer */
    if (schedule_idle_hook)
        schedule_idle_hook(true);
    while (run_queue_is_idle(queue))
        if (!has_service || !wanderer_fetch(queue))
            timer_idle();
    if (schedule_idle_hook)
        schedule_idle_hook(false);
    foreground_set(queue->current);
}

/* ---- Switching ---- */

void schedule_thread_here(struct thread *thread)
{
    struct process *from = arch_process(), *to = thread ? thread->process : NULL;

    arch_thread_set(thread);
    if (from == to)
        return;
    if (from)
        arch_space_deactivate(&from->vm.space);
    arch_process_set(to);
    if (to)
        arch_space_activate(&to->vm.space);
}

/* Releases the lock that the thread before has left to this one. Out of line: after a switch this may be
 * another CPU than the one that the caller has read. */
__attribute__((noinline)) void switch_end(void)
{
    struct run_queue *queue = run_queue_here();
    struct thread *left = queue->left;

    queue->left = NULL;
    foreground_set(queue->current);
    turn_update(queue);
    if (has_service && run_queue_ready(queue))
        wanderer_offer(run_queue_first(queue));
    spin_unlock(&queue->group->lock);
    if (left)
        thread_release(left);
}

/* Gives this CPU to `next`, which is in no queue (NULL: to no thread). Returns, the lock released, when the
 * thread that has it now is given a CPU again. */
static void switch_to(struct run_queue *queue, struct thread *next)
{
    struct thread *from = queue->current;

    if (from)
        queue->past = cpu_time_sum(queue->past, cpu_time_leave(from));
    queue->current = next;
    turn_end(queue);
    schedule_thread_here(next);
    arch_counters_here()->switches++;
    if (next) {
        next->schedule.state = THREAD_RUNNING;
        run_queue_set(next, queue);
        if (from)
            klog(thread_switch, from->tid, next->tid);
        cpu_time_arrive(next);
    }
    arch_switch(from && from != queue->left ? &from->context : NULL, next ? &next->context : NULL);
    switch_end();
}

_Noreturn void thread_idle(void)
{
    struct run_queue *queue = run_queue_here();
    struct thread *next;

    switch_end();
    for (;;) {
        spin_lock(&queue->group->lock);
        if (is_finished) {
            spin_unlock(&queue->group->lock);
            schedule_home_hook();
        }
        if ((next = run_queue_take(queue)))
            switch_to(queue, next); /* never returns: no thread has been here */
        idle(queue);
    }
}

/* Ends the idling of all groups. A CPU that idles, or is about to, has taken its group's lock before, and has
 * its bit set by now, or takes it afterwards, and sees `is_finished`. */
void schedule_finish(void)
{
    is_finished = true;
    for (struct cpu_group *group = groups; group; group = group->next) {
        SPIN_GUARD(&group->lock);
        CPU_MASK_EACH(cpu, &group->cpus)
            if (run_queue_is_idle(run_queue_of((unsigned)cpu)))
                idle_end(run_queue_of((unsigned)cpu));
    }
}

void schedule_groups_drop(void)
{
    for (struct cpu_group *group = groups, *next; group; group = next) {
        next = group->next;
        CPU_MASK_EACH(cpu, &group->cpus) {
            struct run_queue *queue = run_queue_of((unsigned)cpu);

            queue->group = NULL;
            queue->is_listed = false;
        }
        *group = (struct cpu_group){ 0 };
    }
    groups = NULL;
    is_finished = false;
}

_Noreturn void schedule_idle_begin(void)
{
    spin_lock(&run_queue_here()->group->lock);
    arch_switch(NULL, NULL);
    __builtin_unreachable();
}

_Noreturn void schedule_enter(struct thread *thread)
{
    struct run_queue *queue = run_queue_here();

    spin_lock(&queue->group->lock);
    switch_to(queue, thread);
    __builtin_unreachable();
}

void schedule_cpu_begin(struct schedule_entry *entry)
{
    entry->queue = run_queue_here();
    entry->cpu = arch_cpu_index();
}

void schedule_start(struct thread *thread)
{
    struct cpu_group *group = cpu_group_lock(thread);

    place(group, thread);
    spin_unlock(&group->lock);
}

/* ---- Blocking and waking ---- */

void thread_block(void)
{
    struct run_queue *queue = run_queue_here();
    struct cpu_group *group = queue->group;
    struct schedule_entry *entry = &queue->current->schedule;
    struct thread *next;

    spin_lock(&group->lock);
    if (entry->notified) {
        entry->notified = false;
        spin_unlock(&group->lock);
        return;
    }
    entry->state = THREAD_BLOCKED;
    for (;;) {
        if (group->ready && (next = run_queue_take(queue))) {
            switch_to(queue, next);
            return;
        }
        idle(queue);
        if (__atomic_load_n(&entry->state, __ATOMIC_ACQUIRE) == THREAD_RUNNING)
            return;
        spin_lock(&group->lock);
        if (entry->state == THREAD_RUNNING) {
            spin_unlock(&group->lock);
            return;
        }
    }
}

static inline __attribute__((always_inline)) void wake(struct cpu_group *group, struct thread *thread)
{
    struct run_queue *queue = thread->schedule.queue;

    if (queue->current != thread) {
        place(group, thread);
    } else {
        __atomic_store_n(&thread->schedule.state, THREAD_RUNNING, __ATOMIC_RELEASE);
        idle_end(queue);
    }
}

void thread_wake(struct thread *thread)
{
    struct cpu_group *group = cpu_group_lock(thread);

    if (thread->schedule.state == THREAD_BLOCKED)
        wake(group, thread);
    else
        thread->schedule.notified = true;
    spin_unlock(&group->lock);
}

void thread_interrupt(struct thread *thread)
{
    struct cpu_group *group = cpu_group_lock(thread);

    if (thread->schedule.state == THREAD_BLOCKED) {
        wake(group, thread);
    } else {
        thread->schedule.notified = true;
        if (thread->schedule.state == THREAD_RUNNING && thread->schedule.cpu != arch_cpu_index())
            arch_ipi_send(thread->schedule.cpu);
        else if (thread->schedule.state == THREAD_RUNNING)
            arch_request_slow_return(); /* its own call has sent a signal, or received what sends one */
    }
    spin_unlock(&group->lock);
}

/* Queues this CPU's thread, which gives way to others: on an idle CPU, or here, before its rank or after
 * it. */
static void requeue(struct run_queue *queue, struct thread *thread, bool in_front)
{
    if (cpu_mask_intersects(&queue->group->idle, &thread->schedule.affinity))
        place(queue->group, thread);
    else
        run_queue_add(queue, thread, in_front);
}

void thread_yield(void)
{
    struct run_queue *queue = run_queue_here();
    struct thread *thread = queue->current;

    if (!run_queue_is_due(queue, thread))
        return;
    spin_lock(&queue->group->lock);
    const struct thread *first = run_queue_first(queue);
    if (first && first->schedule.rank >= thread->schedule.rank) {
        requeue(queue, thread, false);
        switch_to(queue, run_queue_take(queue));
        thread_return_check(); /* work may have become pending meanwhile */
        return;
    }
    spin_unlock(&queue->group->lock);
}

_Noreturn void thread_leave(void)
{
    struct run_queue *queue = run_queue_here();

    spin_lock(&queue->group->lock);
    queue->left = queue->current;
    queue->left->schedule.state = THREAD_NEW;
    queue->left->schedule.is_lifted = false;
    switch_to(queue, run_queue_take(queue));
    __builtin_unreachable();
}

/* ---- On the way back to the program ---- */

bool schedule_must_move(const struct thread *thread)
{
    return __atomic_load_n(&thread->schedule.must_move, __ATOMIC_RELAXED);
}

bool schedule_is_due(void)
{
    const struct run_queue *queue = run_queue_here();
    const struct thread *thread = queue->current;

    return run_queue_is_due(queue, thread) || schedule_must_move(thread);
}

/* Hands ready threads of this CPU to idle ones. */
static void spread(struct run_queue *queue)
{
    struct thread *thread;

    while (run_queue_ready(queue) && (thread = run_queue_first_for_idle(queue))) {
        run_queue_remove(thread);
        place(queue->group, thread);
    }
}

/* Queues this CPU's thread where it belongs now; it may be the next one here all the same. */
static __attribute__((noinline)) void move(struct run_queue *queue, struct thread *thread)
{
    place(queue->group, thread);
    struct thread *next = run_queue_take(queue);
    if (next != thread) {
        switch_to(queue, next);
        return;
    }
    thread->schedule.state = THREAD_RUNNING;
    turn_update(queue);
    spin_unlock(&queue->group->lock);
}

void schedule_return(void)
{
    struct run_queue *queue = run_queue_here();
    struct thread *thread = queue->current;

    if (!schedule_is_due())
        return;
    spin_lock(&queue->group->lock);
    spread(queue);
    const struct thread *first = run_queue_first(queue);
    int rank = thread->schedule.rank, others = first ? first->schedule.rank : rank - 1;
    bool turn_is_over = queue->turn_is_over && takes_turns(queue, others);
    if (schedule_must_move(thread)) {
        move(queue, thread);
    } else if (others > rank || turn_is_over) {
        arch_counters_here()->rotations += turn_is_over;
        requeue(queue, thread, !turn_is_over && turn_keep(queue));
        switch_to(queue, run_queue_take(queue));
    } else {
        turn_update(queue);
        spin_unlock(&queue->group->lock);
    }
}

/* ---- Changes ---- */

/* Applies a thread's new rank or affinity: it, or a thread that waits for its CPU, may have to move. */
static void changed(struct cpu_group *group, struct thread *thread)
{
    if (thread->schedule.state == THREAD_READY)
        place(group, thread);
    else if (thread->schedule.state == THREAD_RUNNING)
        cpu_interrupt(thread->schedule.cpu);
}

/* Moves a thread that waits for another CPU, if it comes before a running thread whose rank was lowered. */
static void lowered(struct cpu_group *group, const struct thread *thread)
{
    struct thread *other = cpu_group_first(group, thread->schedule.cpu);

    if (!other || other->schedule.cpu == thread->schedule.cpu ||
        other->schedule.rank <= thread->schedule.rank)
        return;
    run_queue_remove(other);
    place(group, other);
}

/* Updates a thread's rank after its own rank, what it inherits, or is_lifted has changed. With the rank of a
 * waiter of SCHED_FIFO or RR it does not take turns until it releases what the waiter waits for. */
void schedule_rank_update(struct cpu_group *group, struct thread *thread)
{
    struct schedule_entry *entry = &thread->schedule;
    bool inherits = entry->inherited_rank > entry->own_rank;
    int base = inherits ? entry->inherited_rank : entry->own_rank;
    int rank = entry->is_lifted ? RANK_LIFTED : base;
    bool rotates = entry->own_rotates && !(inherits && base > RANK_ORDINARY);
    bool stays_in_front = rank >= entry->rank && !rotates, is_lower = rank < entry->rank;

    if (entry->rank == rank && entry->rotates == rotates)
        return;
    if (entry->state == THREAD_READY)
        run_queue_remove(thread);
    entry->rank = rank;
    entry->rotates = rotates;
    if (thread == arch_thread())
        foreground_set(thread);
    if (entry->state == THREAD_READY || (run_queue_ready(entry->queue) && !stays_in_front))
        changed(group, thread);
    if (is_lower && entry->state == THREAD_RUNNING)
        lowered(group, thread);
}

void schedule_rank_set(struct thread *thread, int rank, bool rotates)
{
    struct cpu_group *group = cpu_group_lock(thread);

    thread->schedule.own_rank = rank;
    thread->schedule.own_rotates = rotates;
    schedule_rank_update(group, thread);
    spin_unlock(&group->lock);
    futex_rank_changed(thread);
}

void schedule_inherit(struct thread *thread, int rank)
{
    struct cpu_group *group = cpu_group_lock(thread);

    thread->schedule.inherited_rank = rank;
    schedule_rank_update(group, thread);
    spin_unlock(&group->lock);
}

void schedule_affinity_set(struct thread *thread, const struct cpu_mask *cpus)
{
    struct cpu_group *group = cpu_group_lock(thread);
    bool is_ready = thread->schedule.state == THREAD_READY;
    bool must_move = !cpu_mask_test(cpus, thread->schedule.cpu);

    if (is_ready)
        run_queue_remove(thread);
    schedule_affinity_begin(&thread->schedule, cpus);
    thread->schedule.must_move = must_move;
    if (is_ready || must_move)
        changed(group, thread);
    spin_unlock(&group->lock);
}

void schedule_affinity_inherit(struct schedule_entry *entry, const struct thread *parent)
{
    struct cpu_group *group = cpu_group_lock(parent);

    schedule_affinity_begin(entry, &parent->schedule.affinity);
    spin_unlock(&group->lock);
}

/* ---- Set-up ---- */

int schedule_configure(const struct command_line *line, struct message *why)
{
    return option_value(OPTION_TIME_OR_OFF, "rotation", command_line_option(line, "rotation"),
                        ROTATION_MIN_NS, NS_PER_S, &rotation_ns, why);
}

void schedule_group_add(const struct cpu_mask *cpus, bool services)
{
    struct cpu_group *group = PER_CPU_OF(cpu_group, cpu_mask_first(cpus));

    has_service |= services; /* never taken back */
    group->next = groups;
    groups = group;
    group->cpus = *cpus;
    group->idle.used = cpus->used; /* CPUs set and clear nothing but their bits */
    CPU_MASK_EACH(cpu, cpus) {
        struct run_queue *queue = run_queue_of((unsigned)cpu),
                         *core = run_queue_of(arch_core_of((unsigned)cpu));

        queue->group = group;
        queue->cpu = (unsigned)cpu;
        queue->counters = arch_counters((unsigned)cpu);
        queue->idle_word = &group->idle.words[cpu / 64];
        queue->idle_bit = cpu_mask_bit((unsigned)cpu);
        queue->sibling = queue;
        if (core != queue && core->group == group) { /* the core's first CPU, set up before */
            queue->sibling = core->sibling;
            core->sibling = queue;
        }
    }
}

bool schedule_is_idle(void)
{
    const struct run_queue *queue = run_queue_here();

    return queue->group && run_queue_is_idle(queue);
}

bool schedule_others_ready(void)
{
    return __atomic_load_n(&run_queue_here()->group->ready, __ATOMIC_RELAXED) != 0;
}

bool schedule_is_running(const struct thread *thread)
{
    struct cpu_group *group = cpu_group_lock(thread);
    bool runs = thread->schedule.state == THREAD_RUNNING;

    spin_unlock(&group->lock);
    return runs;
}

static struct cpu_group *group_of(const struct process *process)
{
    return run_queue_of(cpu_mask_first(&process->cpus))->group;
}

unsigned schedule_busy(const struct process *process)
{
    struct cpu_group *group = group_of(process);

    if (process->is_service) /* its threads run on any group's CPUs */
        return process->thread_count;
    SPIN_GUARD(&group->lock);
    return cpu_mask_count(&group->cpus) - cpu_mask_count(&group->idle);
}

struct thread *schedule_running_after(const struct process *process, unsigned cpu)
{
    struct cpu_group *group = group_of(process);
    struct thread *first = NULL;

    SPIN_GUARD(&group->lock);
    CPU_MASK_EACH(each, &group->cpus) {
        struct thread *thread = run_queue_of((unsigned)each)->current;

        if (!thread || thread->process != process || thread->schedule.state != THREAD_RUNNING)
            continue;
        if (each > cpu)
            return thread;
        first = first ? first : thread;
    }
    return first;
}

struct cpu_time schedule_cpu_time(unsigned cpu)
{
    struct run_queue *queue = run_queue_of(cpu);

    SPIN_GUARD(&queue->group->lock);
    struct cpu_time time = queue->past;
    if (queue->current)
        time = cpu_time_sum(time, cpu_time_stint(queue->current));
    return time;
}
