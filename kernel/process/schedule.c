/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * schedule.c: see schedule.h. Owns each CPU's queue of ready threads, and which thread has the CPU.
 *
 * Runs in system calls, in interrupts (timers), on idle CPUs, and on other CPUs of the rank, interrupts off.
 * The CPUs of a rank are a group with one lock, which guards their queues and the schedule_entry of the
 * threads on them; it is a leaf, but for the lock of a CPU's timers. A thread leaves its registers under the
 * lock, and the one that has the CPU after it releases it: so nobody runs a thread on another CPU before it
 * has left this one.
 */
#include "process/schedule.h"
#include "arch.h"
#include "debug/klog.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "mm/memplan.h"
#include "process/process.h"
#include "smp/cpu_mask.h"
#include "smp/spinlock.h"
#include "time/clock.h"
#include "time/timer.h"

#define ROTATION_DEFAULT_NS 10000000
#define ROTATION_MIN_NS     100000
#define TURN_BOUND_SHARE    8 /* the latency bound of a turn's end is this part of it */

struct group {
    struct spinlock lock;
    uint64_t cpus;
    uint64_t idle;  /* of them: nobody runs there, and nobody is queued */
    unsigned ready; /* threads in their queues */
} __attribute__((aligned(64)));

struct queue {
    struct group *group;
    struct thread *current; /* whose registers the CPU has; NULL: nobody's */
    struct list levels[3];  /* ready threads: SCHED_FIFO's and RR's by rank, SCHED_OTHER's, SCHED_IDLE's */
    unsigned ready;
    uint64_t core;           /* the CPUs of its core */
    struct thread *left;     /* has ended, and is still on its stack until the switch is done */
    struct smart_timer turn; /* pending while others of the rank of `current` are ready */
    bool turn_is_over;
    struct cpu_time past; /* of those who had the CPU before `current` */
} __attribute__((aligned(64)));

static struct group groups[MEMPLAN_RANKS_MAX];
static struct queue queues[ARCH_CPUS_MAX];
static uint64_t rotation_ns = ROTATION_DEFAULT_NS;

static struct queue *queue_here(void)
{
    return &queues[arch_cpu_index()];
}

static struct thread *thread_of(struct list_link *link)
{
    return link ? LIST_OWNER(link, thread, schedule.link) : NULL;
}

/* The lock of the group that a thread is in, which may change until it is held. */
static struct group *group_lock(const struct thread *thread)
{
    for (;;) {
        struct group *group = queues[__atomic_load_n(&thread->schedule.cpu, __ATOMIC_RELAXED)].group;

        spin_lock(&group->lock);
        if (group == queues[thread->schedule.cpu].group)
            return group;
        spin_unlock(&group->lock);
    }
}

/* ---- Queues; all from here on under the group's lock ---- */

static struct list *level_of(struct queue *queue, int rank)
{
    return &queue->levels[rank > RANK_ORDINARY ? 0 : rank == RANK_ORDINARY ? 1 : 2];
}

static void ready_count_add(struct queue *queue, unsigned change)
{
    queue->group->ready += change;
    __atomic_store_n(&queue->ready, queue->ready + change, __ATOMIC_RELEASE);
    arch_counters((unsigned)(queue - queues))->ready = queue->ready;
}

/* Behind those of the same rank, or in front of them. */
static void ready_add(struct queue *queue, struct thread *thread, bool in_front)
{
    int rank = thread->schedule.rank + (in_front ? 0 : -1);
    struct list *level = level_of(queue, thread->schedule.rank);
    struct list_link *next = NULL;

    for (struct list_link *last = level->last; last && thread_of(last)->schedule.rank <= rank;
         last = last->previous)
        next = last;
    list_insert(level, &thread->schedule.link, next);
    thread->schedule.cpu = (unsigned)(queue - queues);
    thread->schedule.state = THREAD_READY;
    ready_count_add(queue, 1);
}

static void ready_remove(struct thread *thread)
{
    struct queue *queue = &queues[thread->schedule.cpu];

    list_remove(level_of(queue, thread->schedule.rank), &thread->schedule.link);
    ready_count_add(queue, -1U);
}

/* The first ready thread that may run on one of these CPUs; NULL. */
static struct thread *ready_first(const struct queue *queue, uint64_t cpus)
{
    for (unsigned level = 0; level < 3; level++)
        for (struct list_link *link = queue->levels[level].first; link; link = link->next)
            if (thread_of(link)->schedule.affinity & cpus)
                return thread_of(link);
    return NULL;
}

/* Whether somebody computes on a CPU; else it is idle, or about to take who was queued there. */
static bool is_busy(const struct queue *queue)
{
    return queue->current && queue->current->schedule.state == THREAD_RUNNING;
}

/* Takes the thread that is to run on this CPU next out of its queue: its own first one, else the highest that
 * waits for a busy CPU of the group. NULL where there is none. */
static struct thread *next_take(struct queue *queue)
{
    uint64_t here = cpu_mask_bit((unsigned)(queue - queues));
    struct thread *found = queue->ready ? ready_first(queue, UINT64_MAX) : NULL;

    if (!found && queue->group->ready)
        CPU_MASK_EACH(cpu, queue->group->cpus)
        {
            struct thread *other = is_busy(&queues[cpu]) ? ready_first(&queues[cpu], here) : NULL;

            if (other && (!found || other->schedule.rank > found->schedule.rank))
                found = other;
        }
    if (found)
        ready_remove(found);
    return found;
}

/* ---- Turns ---- */

static void turn_end(struct smart_timer *timer, uint64_t now_ns)
{
    struct queue *queue = timer->context;

    (void)now_ns;
    queue->turn_is_over = true;
}

/* Whether a ready thread of this rank would take turns with the one that runs. */
static bool takes_turns(const struct queue *queue, int rank)
{
    const struct thread *current = queue->current;

    return rotation_ns && current && current->schedule.rotates && current->schedule.rank == rank;
}

/* Arms the end of a turn where it has begun, withdraws it where nobody waits for it. On this CPU. */
static void turn_update(struct queue *queue)
{
    const struct thread *first = queue->ready ? ready_first(queue, UINT64_MAX) : NULL;
    bool waits = first && takes_turns(queue, first->schedule.rank);

    queue->turn_is_over &= waits;
    if (waits == queue->turn.pending)
        return;
    queue->turn_is_over = false;
    queue->turn.expire = turn_end;
    queue->turn.context = queue;
    if (waits)
        timer_start(&queue->turn, clock_now_ns() + rotation_ns, rotation_ns / TURN_BOUND_SHARE);
    else
        timer_cancel(&queue->turn);
}

/* ---- Idling ---- */

/* Nobody is ready: idles, without the lock, until another CPU or an interrupt ends that: because a thread is
 * ready for this CPU, or that whose registers are here is woken. */
static void idle(struct queue *queue)
{
    const uint64_t here = cpu_mask_bit(arch_cpu_index());
    struct group *group = queue->group;

    if (queue->turn.pending)
        turn_update(queue);
    group->idle |= here;
    spin_unlock(&group->lock);
    while (__atomic_load_n(&group->idle, __ATOMIC_ACQUIRE) & here)
        timer_idle();
}

/* Ends a CPU's idling, for a reason that is stored already. */
static void idle_end(struct group *group, unsigned cpu)
{
    __atomic_store_n(&group->idle, group->idle & ~cpu_mask_bit(cpu), __ATOMIC_RELEASE);
    if (cpu != arch_cpu_index())
        arch_ipi_send(cpu);
}

/* ---- Placing ---- */

/* An idle CPU for a thread: the one that it was on, but one with a core of its own before that; -1: none. */
static int idle_choose(const struct group *group, const struct thread *thread)
{
    uint64_t idle = group->idle & thread->schedule.affinity, home = cpu_mask_bit(thread->schedule.cpu);
    int shared = -1;

    for (uint64_t left = idle; left;) {
        unsigned cpu = left & home ? thread->schedule.cpu : (unsigned)__builtin_ctzll(left);

        left &= ~cpu_mask_bit(cpu);
        if (!(queues[cpu].core & group->cpus & ~group->idle))
            return (int)cpu;
        if (shared < 0)
            shared = (int)cpu;
    }
    return shared;
}

/* Where a thread is queued if no CPU is idle: where the lowest rank runs, the fewest are ready, it was
 * before.
 */
static unsigned busy_choose(const struct group *group, const struct thread *thread)
{
    uint64_t allowed = group->cpus & thread->schedule.affinity;
    unsigned best = (unsigned)__builtin_ctzll(allowed);

    CPU_MASK_EACH(cpu, allowed)
    {
        const struct queue *here = &queues[cpu], *there = &queues[best];
        int rank = here->current ? here->current->schedule.rank : RANK_BACKGROUND;
        int lowest = there->current ? there->current->schedule.rank : RANK_BACKGROUND;

        if (rank < lowest || (rank == lowest && here->ready < there->ready) ||
            (rank == lowest && here->ready == there->ready && cpu == thread->schedule.cpu))
            best = (unsigned)cpu;
    }
    return best;
}

/* Lets a CPU look for whom it should run. */
static void cpu_interrupt(unsigned cpu)
{
    if (cpu == arch_cpu_index()) {
        arch_request_slow_return();
        return;
    }
    arch_counters_here()->wake_ipis++;
    arch_ipi_send(cpu);
}

/* Queues a thread that is in no queue where it runs soonest, and tells that CPU, if it has to know. */
static void place(struct group *group, struct thread *thread)
{
    int idle = idle_choose(group, thread);
    unsigned cpu = idle >= 0 ? (unsigned)idle : busy_choose(group, thread);
    struct queue *queue = &queues[cpu];

    ready_add(queue, thread, false);
    if (idle >= 0)
        idle_end(group, cpu);
    else if ((queue->current && thread->schedule.rank > queue->current->schedule.rank) ||
             (takes_turns(queue, thread->schedule.rank) && !queue->turn.pending))
        cpu_interrupt(cpu);
}

/* ---- Switching ---- */

static void space_change(struct process *to)
{
    struct process *from = arch_process();

    if (from == to)
        return;
    if (from)
        arch_space_deactivate(&from->vm.space);
    arch_process_set(to);
    if (to)
        arch_space_activate(&to->vm.space);
}

/* Releases the lock that the thread before has left to this one. */
static void switch_end(void)
{
    struct queue *queue = queue_here();
    struct thread *left = queue->left;

    queue->left = NULL;
    turn_update(queue);
    spin_unlock(&queue->group->lock);
    if (left)
        thread_release(left);
}

/* Gives this CPU to `next`, which is in no queue (NULL: to nobody). Returns, the lock released, when the one
 * that has it now is given a CPU again. */
static void switch_to(struct queue *queue, struct thread *next)
{
    struct thread *from = queue->current;

    if (from)
        queue->past = cpu_time_sum(queue->past, cpu_time_leave(from));
    queue->current = next;
    space_change(next ? next->process : NULL);
    arch_thread_set(next);
    arch_counters_here()->switches++;
    if (next) {
        next->schedule.state = THREAD_RUNNING;
        __atomic_store_n(&next->schedule.cpu, arch_cpu_index(), __ATOMIC_RELAXED);
        if (from)
            klog(thread_switch, from->tid, next->tid);
        cpu_time_arrive(next);
    }
    arch_switch(from && from != queue->left ? &from->context : NULL, next ? &next->context : NULL);
    switch_end();
}

_Noreturn void thread_idle(void)
{
    struct queue *queue = queue_here();
    struct thread *next;

    switch_end();
    for (;;) {
        spin_lock(&queue->group->lock);
        if ((next = next_take(queue)))
            switch_to(queue, next); /* nothing is left here */
        idle(queue);
    }
}

_Noreturn void schedule_idle_begin(void)
{
    spin_lock(&queue_here()->group->lock);
    arch_switch(NULL, NULL);
    __builtin_unreachable();
}

_Noreturn void schedule_enter(struct thread *thread)
{
    struct queue *queue = queue_here();

    spin_lock(&queue->group->lock);
    switch_to(queue, thread);
    __builtin_unreachable();
}

void schedule_begun(void)
{
    switch_end();
}

void schedule_start(struct thread *thread)
{
    struct group *group = group_lock(thread);

    place(group, thread);
    spin_unlock(&group->lock);
}

/* ---- Blocking and waking ---- */

void thread_block(void)
{
    struct queue *queue = queue_here();
    struct group *group = queue->group;
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
        if ((next = next_take(queue))) {
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

static void wake(struct group *group, struct thread *thread)
{
    unsigned cpu = thread->schedule.cpu;

    if (queues[cpu].current != thread) {
        place(group, thread);
    } else {
        __atomic_store_n(&thread->schedule.state, THREAD_RUNNING, __ATOMIC_RELEASE);
        idle_end(group, cpu);
    }
}

void thread_wake(struct thread *thread)
{
    struct group *group = group_lock(thread);

    if (thread->schedule.state == THREAD_BLOCKED)
        wake(group, thread);
    else
        thread->schedule.notified = true;
    spin_unlock(&group->lock);
}

void thread_interrupt(struct thread *thread)
{
    struct group *group = group_lock(thread);

    if (thread->schedule.state == THREAD_BLOCKED) {
        wake(group, thread);
    } else {
        thread->schedule.notified = true;
        if (thread->schedule.state == THREAD_RUNNING && thread->schedule.cpu != arch_cpu_index())
            arch_ipi_send(thread->schedule.cpu);
    }
    spin_unlock(&group->lock);
}

void thread_yield(void)
{
    struct queue *queue = queue_here();
    struct thread *thread = queue->current;

    if (!__atomic_load_n(&queue->ready, __ATOMIC_RELAXED))
        return;
    spin_lock(&queue->group->lock);
    const struct thread *first = ready_first(queue, UINT64_MAX);
    if (first && first->schedule.rank >= thread->schedule.rank) {
        ready_add(queue, thread, false);
        switch_to(queue, next_take(queue));
        return;
    }
    spin_unlock(&queue->group->lock);
}

_Noreturn void thread_leave(void)
{
    struct queue *queue = queue_here();

    spin_lock(&queue->group->lock);
    queue->left = queue->current;
    queue->left->schedule.state = THREAD_NEW;
    switch_to(queue, next_take(queue));
    __builtin_unreachable();
}

/* ---- On the way back to the program ---- */

static inline __attribute__((always_inline)) bool must_move(const struct thread *thread)
{
    return !(thread->schedule.affinity >> arch_cpu_index() & 1);
}

bool schedule_must_move(const struct thread *thread)
{
    return must_move(thread);
}

bool schedule_is_due(void)
{
    const struct queue *queue = queue_here();

    return __atomic_load_n(&queue->ready, __ATOMIC_RELAXED) || must_move(queue->current);
}

/* Hands ready threads of this CPU to idle ones. */
static void spread(struct queue *queue)
{
    struct thread *thread;

    while (queue->group->idle && (thread = ready_first(queue, queue->group->idle))) {
        ready_remove(thread);
        place(queue->group, thread);
    }
}

void schedule_return(void)
{
    struct queue *queue = queue_here();
    struct thread *thread = queue->current;

    if (!schedule_is_due())
        return;
    spin_lock(&queue->group->lock);
    spread(queue);
    const struct thread *first = ready_first(queue, UINT64_MAX);
    int rank = thread->schedule.rank, others = first ? first->schedule.rank : rank - 1;
    bool turn_is_over = queue->turn_is_over && takes_turns(queue, others);
    if (schedule_must_move(thread)) {
        place(queue->group, thread);
        switch_to(queue, next_take(queue));
    } else if (others > rank || turn_is_over) {
        arch_counters_here()->rotations += turn_is_over;
        ready_add(queue, thread, !turn_is_over);
        switch_to(queue, next_take(queue));
    } else {
        turn_update(queue);
        spin_unlock(&queue->group->lock);
    }
}

/* ---- Changes ---- */

/* A thread has another rank or affinity: it, or who waits for it, may have to move. */
static void changed(struct group *group, struct thread *thread)
{
    if (thread->schedule.state == THREAD_READY)
        place(group, thread);
    else if (thread->schedule.state == THREAD_RUNNING)
        cpu_interrupt(thread->schedule.cpu);
}

/* Its own rank, or what it inherits, is another. With the rank of a waiter of SCHED_FIFO or RR it goes on
 * until it releases what that waits for. */
static void rank_update(struct group *group, struct thread *thread)
{
    struct schedule_entry *entry = &thread->schedule;
    bool inherits = entry->inherited_rank > entry->own_rank;
    int rank = inherits ? entry->inherited_rank : entry->own_rank;
    bool rotates = entry->own_rotates && !(inherits && rank > RANK_ORDINARY);
    bool stays_in_front = rank >= entry->rank && !rotates;

    if (entry->rank == rank && entry->rotates == rotates)
        return;
    if (entry->state == THREAD_READY)
        ready_remove(thread);
    entry->rank = rank;
    entry->rotates = rotates;
    if (entry->state == THREAD_READY || (queues[entry->cpu].ready && !stays_in_front))
        changed(group, thread);
}

void schedule_rank_set(struct thread *thread, int rank, bool rotates)
{
    struct group *group = group_lock(thread);

    thread->schedule.own_rank = rank;
    thread->schedule.own_rotates = rotates;
    rank_update(group, thread);
    spin_unlock(&group->lock);
    futex_rank_changed(thread);
}

void schedule_inherit(struct thread *thread, int rank)
{
    struct group *group = group_lock(thread);

    thread->schedule.inherited_rank = rank;
    rank_update(group, thread);
    spin_unlock(&group->lock);
}

void schedule_affinity_set(struct thread *thread, uint64_t cpus)
{
    struct group *group = group_lock(thread);
    bool moves = !(cpus & cpu_mask_bit(thread->schedule.cpu));

    if (moves && thread->schedule.state == THREAD_READY)
        ready_remove(thread);
    thread->schedule.affinity = cpus;
    if (moves)
        changed(group, thread);
    spin_unlock(&group->lock);
}

/* ---- Set-up ---- */

int schedule_configure(const struct command_line *line, struct message *why)
{
    const char *text = command_line_option(line, "rotation");

    if (!text)
        return 0;
    if (strcmp(text, "off") == 0) {
        rotation_ns = 0;
        return 0;
    }
    return option_time("rotation", text, ROTATION_MIN_NS, NS_PER_S, &rotation_ns, why);
}

uint64_t schedule_rotation_ns(void)
{
    return rotation_ns;
}

void schedule_group_set(unsigned group, uint64_t cpus)
{
    groups[group].cpus = cpus;
    CPU_MASK_EACH(cpu, cpus)
    queues[cpu].group = &groups[group];
    CPU_MASK_EACH(cpu, cpus)
    CPU_MASK_EACH(other, cpus)
    if (arch_core_of((unsigned)cpu) == arch_core_of((unsigned)other))
        queues[cpu].core |= cpu_mask_bit((unsigned)other);
}

struct cpu_time schedule_cpu_time(unsigned cpu)
{
    struct queue *queue = &queues[cpu];

    spin_lock(&queue->group->lock);
    struct cpu_time time = queue->past;
    if (queue->current)
        time = cpu_time_sum(time, cpu_time_stint(queue->current));
    spin_unlock(&queue->group->lock);
    return time;
}
