/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run_queue.c: see run_queue.h. Owns the queues.
 */
#include "process/run_queue.h"
#include "process/process.h"
#include "time/clock.h"

#define ROTATION_DEFAULT_NS 4000000
#define TURN_BOUND_SHARE    8 /* the latency bound of a turn's end is this part of it */

PER_CPU struct run_queue run_queue;
uint64_t rotation_ns = ROTATION_DEFAULT_NS;
unsigned wanderers;

static struct thread *thread_of(struct list_link *link)
{
    return link ? LIST_OWNER(link, thread, schedule.link) : NULL;
}

struct cpu_group *cpu_group_lock(const struct thread *thread)
{
    for (;;) {
        struct cpu_group *group = __atomic_load_n(&thread->schedule.queue, __ATOMIC_RELAXED)->group;

        spin_lock(&group->lock);
        if (group == thread->schedule.queue->group)
            return group;
        spin_unlock(&group->lock);
    }
}

/* ---- Queues; all from here on under the group's lock ---- */

static enum level level_of(const struct thread *thread)
{
    int rank = thread->schedule.rank;

    if (rank > RANK_ORDINARY)
        return LEVEL_PRIORITY;
    return rank == RANK_ORDINARY ? LEVEL_ORDINARY : LEVEL_BACKGROUND;
}

static __attribute__((noinline)) void list_as_movable(struct run_queue *queue)
{
    queue->is_listed = true;
    cpu_mask_set(&queue->group->movable, queue->cpu);
}

/* Counts a ready thread more in a queue, or (-1) one less. */
static void ready_count_add(struct run_queue *queue, const struct thread *thread, unsigned change)
{
    enum level level = level_of(thread);
    unsigned *count = level == LEVEL_BACKGROUND ? &queue->background : &queue->foreground;

    queue->group->ready += change;
    queue->group->ready_at[level] += change;
    if (!thread->schedule.is_pinned) {
        queue->movable += change;
        if (!queue->is_listed)
            list_as_movable(queue);
    }
    __atomic_store_n(count, *count + change, __ATOMIC_RELEASE);
    queue->counters->ready = run_queue_ready(queue);
}

void run_queue_set(struct thread *thread, struct run_queue *queue)
{
    if (thread->schedule.queue == queue)
        return;
    clock_moved(thread->schedule.cpu, queue->cpu);
    __atomic_store_n(&thread->schedule.cpu, queue->cpu, __ATOMIC_RELAXED);
    __atomic_store_n(&thread->schedule.queue, queue, __ATOMIC_RELAXED);
}

void run_queue_add(struct run_queue *queue, struct thread *thread, bool in_front)
{
    int rank = thread->schedule.rank + (in_front ? 0 : -1);
    struct list *level = &queue->levels[level_of(thread)];
    struct list_link *next = NULL;

    for (struct list_link *last = level->last; last && thread_of(last)->schedule.rank <= rank;
         last = last->previous) {
        lock_work_step();
        next = last;
    }
    list_insert(level, &thread->schedule.link, next);
    run_queue_set(thread, queue);
    thread->schedule.state = THREAD_READY;
    if (!in_front)
        thread->schedule.turn_left_ns = 0;
    ready_count_add(queue, thread, 1);
    if (thread->process->is_service)
        __atomic_fetch_add(&wanderers, 1, __ATOMIC_SEQ_CST);
}

void run_queue_remove(struct thread *thread)
{
    struct run_queue *queue = thread->schedule.queue;

    list_remove(&queue->levels[level_of(thread)], &thread->schedule.link);
    ready_count_add(queue, thread, -1U);
    if (thread->process->is_service)
        __atomic_fetch_sub(&wanderers, 1, __ATOMIC_SEQ_CST);
}

struct thread *run_queue_first(const struct run_queue *queue)
{
    for (unsigned level = 0; level < LEVELS; level++)
        if (queue->levels[level].first)
            return thread_of(queue->levels[level].first);
    return NULL;
}

/* Finds the first ready thread of a queue that may run on `cpu`, or, unless that is NULL, one of `cpus`. */
static struct thread *first_for(const struct run_queue *queue, const struct cpu_mask *cpus, unsigned cpu)
{
    for (unsigned level = 0; level < LEVELS; level++)
        for (struct list_link *link = queue->levels[level].first; link; link = link->next) {
            lock_work_step();
            const struct cpu_mask *own = &thread_of(link)->schedule.affinity;
            if (cpus ? cpu_mask_intersects(cpus, own) : cpu_mask_test(own, cpu))
                return thread_of(link);
        }
    return NULL;
}

struct thread *run_queue_first_for_idle(const struct run_queue *queue)
{
    const struct cpu_mask *idle = &queue->group->idle;

    return cpu_mask_is_empty(idle) ? NULL : first_for(queue, idle, 0);
}

/* Returns whether a thread computes on the CPU; else it is idle, or about to take what was queued there. */
static bool is_busy(const struct run_queue *queue)
{
    return queue->current && queue->current->schedule.state == THREAD_RUNNING;
}

struct thread *cpu_group_first(struct cpu_group *group, unsigned cpu)
{
    struct thread *found = NULL;

    CPU_MASK_EACH(busy, &group->movable) {
        struct run_queue *queue = run_queue_of((unsigned)busy);
        struct thread *other = queue->movable && is_busy(queue) ? first_for(queue, NULL, cpu) : NULL;

        if (!queue->movable) {
            queue->is_listed = false;
            cpu_mask_clear(&group->movable, queue->cpu);
        }

        if (other && (!found || other->schedule.rank > found->schedule.rank))
            found = other;
    }
    return found;
}

/* Returns whether a queue of the group may have a higher thread than the first one of a CPU's own queue,
 * `own` (NULL: it has none). */
static bool group_has_higher(const struct cpu_group *group, const struct thread *own)
{
    if (!own || own->schedule.rank == RANK_BACKGROUND)
        return group->ready > group->ready_at[LEVEL_BACKGROUND] || !own;
    return group->ready_at[LEVEL_PRIORITY] > (own->schedule.rank > RANK_ORDINARY);
}

struct thread *run_queue_take(struct run_queue *queue)
{
    if (!queue->group->ready)
        return NULL;

    struct thread *found = run_queue_first(queue);
    if (group_has_higher(queue->group, found)) {
        struct thread *other = cpu_group_first(queue->group, queue->cpu);

        if (other && (!found || other->schedule.rank > found->schedule.rank))
            found = other;
    }
    if (found)
        run_queue_remove(found);
    return found;
}

/* ---- Turns ---- */

/* Ends a turn. The timer may have been armed for an earlier thread's turn; or all that waited have gone. */
static void turn_expire(struct smart_timer *timer, uint64_t now_ns)
{
    struct run_queue *queue = LIST_OWNER(timer, run_queue, turn);

    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* first: the timer is not pending. Then: is a thread ready? */
    if (run_queue_ready(queue) == 0)
        queue->turn_end_ns = 0;
    queue->turn_is_over = queue->turn_end_ns && now_ns >= queue->turn_end_ns;
}

bool turn_is_armed(const struct run_queue *queue)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* first: a thread is ready. Then: is the timer pending? */
    return timer_is_pending(&queue->turn);
}

void turn_end(struct run_queue *queue)
{
    queue->turn_end_ns = 0;
    queue->turn_is_over = false;
}

bool takes_turns(const struct run_queue *queue, int rank)
{
    const struct thread *current = queue->current;

    return rotation_ns && current && current->schedule.rotates && current->schedule.rank == rank;
}

bool turn_keep(const struct run_queue *queue)
{
    uint64_t now_ns = queue->turn_end_ns ? clock_now_ns() : 0;

    if (queue->turn_end_ns > now_ns)
        queue->current->schedule.turn_left_ns = queue->turn_end_ns - now_ns;
    return queue->turn_end_ns >= now_ns;
}

void turn_update(struct run_queue *queue)
{
    const struct thread *first = run_queue_ready(queue) ? run_queue_first(queue) : NULL;
    bool waits = first && takes_turns(queue, first->schedule.rank);

    if (waits && !queue->turn_end_ns) {
        uint64_t left_ns = queue->current->schedule.turn_left_ns;

        queue->turn_end_ns = clock_now_ns() + (left_ns ? left_ns : rotation_ns);
    }
    if (queue->current)
        queue->current->schedule.turn_left_ns = 0;
    if (!waits) {
        turn_end(queue);
        if (queue->turn.pending)
            timer_cancel(&queue->turn);
    } else if (queue->turn.pending ? queue->turn.deadline_ns > queue->turn_end_ns : !queue->turn_is_over) {
        queue->turn.expire = turn_expire;
        timer_start(&queue->turn, queue->turn_end_ns, rotation_ns / TURN_BOUND_SHARE);
    }
}
