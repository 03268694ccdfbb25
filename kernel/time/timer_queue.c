/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timer_queue.c: smart timers [Tsafrir05 §4.2] (timer_queue.h).
 *
 * The pending timers of a CPU are a pairing heap inside the timers themselves (Fredman, Sedgewick, Sleator,
 * Tarjan, "The pairing heap", 1986): starting one costs a comparison or two, taking the earliest one out
 * costs their logarithm on average. Every timer's children hang in one list: `child` is the first, `next` the
 * sibling to the right, `previous` the sibling to the left, or the parent for the first child. A parent is
 * never later than its children. Merging is iterative, because the kernel's stack is small and a heap may be
 * one long chain.
 *
 * Interrupts off, under the queue's lock; nothing is allocated.
 */
#include "time/timer_queue.h"
#include "debug/klog.h"
#include <stddef.h>

/* ---- The heap ---- */

static bool is_before(const struct smart_timer *left, const struct smart_timer *right)
{
    return left->boundary_ns != right->boundary_ns ? left->boundary_ns < right->boundary_ns
                                                   : left->deadline_ns < right->deadline_ns;
}

/* Melds two heaps, given by their roots: whatever `next` and `previous` these have is stale. */
static struct smart_timer *heap_meld(struct smart_timer *left, struct smart_timer *right)
{
    if (!left || !right)
        return left ? left : right;
    if (is_before(right, left)) {
        struct smart_timer *swapped = left;

        left = right;
        right = swapped;
    }
    right->previous = left;
    right->next = left->child;
    if (right->next)
        right->next->previous = right;
    left->child = right;
    return left;
}

/* Makes one heap of a list of siblings: melds them in pairs from the left, then the pairs from the right. */
static struct smart_timer *siblings_meld(struct smart_timer *first)
{
    struct smart_timer *pairs = NULL, *heap = NULL;

    while (first) {
        struct smart_timer *second = first->next;
        struct smart_timer *remaining = second ? second->next : NULL;
        struct smart_timer *pair = heap_meld(first, second);

        lock_work_step();
        pair->next = pairs;
        pairs = pair;
        first = remaining;
    }
    while (pairs) {
        struct smart_timer *left = pairs->next;

        lock_work_step();
        heap = heap_meld(heap, pairs);
        pairs = left;
    }
    return heap;
}

static struct smart_timer **heap_of(struct timer_queue *queue, const struct smart_timer *timer)
{
    return &queue->heaps[timer->is_background];
}

static void heap_insert(struct timer_queue *queue, struct smart_timer *timer)
{
    struct smart_timer **heap = heap_of(queue, timer);

    timer->child = NULL;
    *heap = heap_meld(*heap, timer);
}

static struct smart_timer *heap_pop(struct smart_timer **heap)
{
    struct smart_timer *first = *heap;

    *heap = siblings_meld(first->child);
    return first;
}

/* Returns the heap whose first timer may interrupt next. */
static struct smart_timer **heap_first(struct timer_queue *queue)
{
    struct smart_timer **heaps = queue->heaps;
    bool is_second = !queue->is_foreground && heaps[1] && (!heaps[0] || is_before(heaps[1], heaps[0]));

    return &heaps[is_second];
}

/* Takes a timer out of the heap, or out of the list of due ones, which has the form of a list of children. */
static void heap_remove(struct timer_queue *queue, struct smart_timer *timer)
{
    struct smart_timer *left = timer->previous, **heap = heap_of(queue, timer);

    if (timer == *heap) {
        heap_pop(heap);
        return;
    }
    if (left->child == timer)
        left->child = timer->next;
    else
        left->next = timer->next;
    if (timer->next)
        timer->next->previous = left;
    if (timer->child)
        *heap = heap_meld(*heap, siblings_meld(timer->child));
}

/* ---- Boundaries and the device ---- */

uint64_t timer_bound_round(uint64_t bound_ns)
{
    return 1ULL << (63 - __builtin_clzll(bound_ns | 1));
}

uint64_t timer_boundary(uint64_t deadline_ns, uint64_t bound_ns, uint64_t global_offset_ns)
{
    /* A power of two divides 2^64, so the remainder is right although global time wraps. */
    uint64_t wait_ns = -(deadline_ns + global_offset_ns) & (bound_ns - 1);

    return deadline_ns > TIMER_NEVER - wait_ns ? TIMER_NEVER : deadline_ns + wait_ns;
}

static void device_disarm(struct timer_queue *queue)
{
    queue->armed_ns = TIMER_NEVER;
    klog(clockevent_disarm, 0, 0);
    if (queue->device)
        queue->device->disarm();
}

static void device_arm(struct timer_queue *queue, uint64_t when_ns)
{
    queue->armed_ns = when_ns;
    queue->counts.armed++;
    klog(clockevent_arm, when_ns, 0);
    if (queue->device)
        queue->device->arm(when_ns);
}

/* Brings the device in line with the heaps. */
static void device_update(struct timer_queue *queue)
{
    const struct smart_timer *earliest = *heap_first(queue);
    uint64_t earliest_ns = earliest ? earliest->boundary_ns : TIMER_NEVER;

    if (earliest_ns == queue->armed_ns || queue->expiring)
        return;
    if (earliest_ns == TIMER_NEVER)
        device_disarm(queue);
    else
        device_arm(queue, earliest_ns);
}

void timer_queue_initialise(struct timer_queue *queue, const struct clock_event_device *device)
{
    *queue = (struct timer_queue){ .device = device, .armed_ns = TIMER_NEVER };
}

void timer_queue_device_set(struct timer_queue *queue, const struct clock_event_device *device)
{
    if (queue->armed_ns != TIMER_NEVER)
        device_disarm(queue);
    queue->device = device;
    device_update(queue);
}

/* ---- Timers ---- */

void timer_queue_start(struct timer_queue *queue, struct smart_timer *timer, uint64_t deadline_ns,
                       uint64_t bound_ns)
{
    if (timer->pending) {
        heap_remove(queue, timer);
    } else {
        queue->pending++;
        timer->queue = queue;
        timer->pending = true;
    }
    timer->deadline_ns = deadline_ns;
    timer->bound_ns = timer_bound_round(bound_ns);
    timer->boundary_ns = timer_boundary(deadline_ns, timer->bound_ns, queue->global_offset_ns);
    heap_insert(queue, timer);
    device_update(queue);
}

void timer_queue_cancel(struct timer_queue *queue, struct smart_timer *timer, bool is_here)
{
    if (!timer->pending)
        return;
    heap_remove(queue, timer);
    timer->pending = false;
    queue->pending--;
    queue->counts.cancelled++;
    if (is_here)
        device_update(queue);
}

static bool is_due(const struct smart_timer *timer, uint64_t now_ns)
{
    return timer && timer->boundary_ns <= now_ns && timer->boundary_ns != TIMER_NEVER;
}

/* Hangs all due timers below `due` as its children, in order, so that they can still be cancelled and moved
 * until it is their turn. */
static void due_collect(struct timer_queue *queue, uint64_t now_ns, struct smart_timer *due)
{
    struct smart_timer *last = NULL;

    while (is_due(*heap_first(queue), now_ns)) {
        struct smart_timer *timer = heap_pop(heap_first(queue));

        lock_work_step();
        timer->child = NULL;
        timer->next = NULL;
        timer->previous = last ? last : due;
        if (last)
            last->next = timer;
        else
            due->child = timer;
        last = timer;
    }
}

/* Serves what is due. A timer's memory is not touched once its `expire` has been called. */
static void due_expire(struct timer_queue *queue, uint64_t now_ns)
{
    struct smart_timer due = { .child = NULL };
    uint64_t expired_before = queue->counts.expired;

    due_collect(queue, now_ns, &due);
    queue->expiring = true;
    while (due.child) {
        struct smart_timer *timer = due.child;

        due.child = timer->next;
        if (due.child)
            due.child->previous = &due;
        void (*expire)(struct smart_timer *, uint64_t) = timer->expire;
        __atomic_store_n(&timer->pending, false, __ATOMIC_RELEASE);
        queue->pending--;
        queue->counts.expired++;
        spin_unlock(&queue->lock);
        expire(timer, now_ns);
        spin_lock(&queue->lock);
    }
    queue->expiring = false;

    uint64_t expired = queue->counts.expired - expired_before;
    if (expired > queue->counts.expired_max)
        queue->counts.expired_max = expired;
}

void timer_queue_expire(struct timer_queue *queue, uint64_t now_ns, bool interrupted)
{
    if (interrupted) {
        queue->counts.interrupts++;
        if (queue->armed_ns > now_ns && queue->armed_ns != TIMER_NEVER)
            queue->counts.rearms++;
        else if (!is_due(*heap_first(queue), now_ns))
            queue->counts.spurious++;
        queue->armed_ns = TIMER_NEVER; /* one-shot */
    }
    if (is_due(*heap_first(queue), now_ns))
        due_expire(queue, now_ns);
    device_update(queue);
}

void timer_queue_foreground_set(struct timer_queue *queue, bool is_foreground)
{
    queue->is_foreground = is_foreground;
    device_update(queue);
}

void timer_queue_background_expire(struct timer_queue *queue, uint64_t now_ns)
{
    const bool is_foreground = queue->is_foreground;

    queue->is_foreground = false;
    timer_queue_expire(queue, now_ns, false);
    timer_queue_foreground_set(queue, is_foreground);
}

/* Takes a heap apart breadth first: each timer's children go to the end of the list of those still to do. */
static void heap_rebuild(struct timer_queue *queue, struct smart_timer **heap, bool wall_is_due)
{
    struct smart_timer *remaining = *heap, *last = remaining;

    *heap = NULL;
    if (remaining)
        remaining->next = NULL;
    while (remaining) {
        struct smart_timer *timer = remaining;

        lock_work_step();
        last->next = timer->child;
        while (last->next)
            last = last->next;
        remaining = timer->next;
        if (wall_is_due && timer->is_wall)
            timer->deadline_ns = 0;
        timer->boundary_ns = timer_boundary(timer->deadline_ns, timer->bound_ns, queue->global_offset_ns);
        heap_insert(queue, timer);
    }
}

void timer_queue_rebuild(struct timer_queue *queue, uint64_t global_offset_ns, bool wall_is_due)
{
    queue->global_offset_ns = global_offset_ns;
    heap_rebuild(queue, &queue->heaps[0], wall_is_due);
    heap_rebuild(queue, &queue->heaps[1], wall_is_due);
    device_update(queue);
}
