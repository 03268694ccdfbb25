/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timer.c: see timer.h. Owns each CPU's queue. Interrupts off; a queue's lock is a leaf.
 */
#include "time/timer.h"
#include "arch.h"
#include "debug/klog.h"
#include "lib/format.h"
#include "smp/crosscall.h"
#include "smp/per_cpu.h"
#include "time/clock.h"

#define LATENCY_BOUND_DEFAULT_NS 50000 /* Linux's default timer slack */
#define LATENCY_BOUND_MAX_NS     (10 * NS_PER_S)

bool timer_background_used;
uint64_t latency_bound_default_ns = LATENCY_BOUND_DEFAULT_NS;

PER_CPU static struct timer_queue timers __attribute__((aligned(64)));

PER_CPU static struct smart_timer *exact_timer;

static struct timer_queue *queue_here(void)
{
    return PER_CPU_HERE(timers);
}

static void expire(struct timer_queue *queue, uint64_t now_ns, bool interrupted)
{
    SPIN_GUARD(&queue->lock);
    timer_queue_expire(queue, now_ns, interrupted);
}

int timer_configure(const struct command_line *line, struct message *why)
{
    return option_value(OPTION_TIME, "latency_bound", command_line_option(line, "latency_bound"), 1,
                        LATENCY_BOUND_MAX_NS, &latency_bound_default_ns, why);
}

void timer_cpu_start(void)
{
    timer_queue_initialise(queue_here(), clock_event_top);
}

void timer_start(struct smart_timer *timer, uint64_t deadline, uint64_t bound_ns)
{
    struct timer_queue *queue = queue_here();

    if (timer->is_background && !timer_background_used)
        timer_background_used = true;
    spin_lock(&queue->lock);
    /* Not before: a CPU that waits for the lock serves crosscalls, one of which may say that the clock has
     * stepped (timer_wall_check) while this timer is not there yet. */
    const uint64_t deadline_ns = deadline_wait_ns(deadline);
    timer->is_wall = deadline_is_wall(deadline);
    timer_queue_start(queue, timer, deadline_ns, bound_ns);
    spin_unlock(&queue->lock);
    klog(timer_arm, deadline_ns, timer->boundary_ns);
}

/* Makes the device interrupt for this CPU's exact timer, whatever else it does. */
static void exact_request(const struct timer_queue *queue)
{
    const struct smart_timer *timer = *PER_CPU_HERE(exact_timer);

    if (timer && timer->pending && queue->device && queue->device->arm_exact)
        queue->device->arm_exact(timer->deadline_ns);
}

void timer_start_exact(struct smart_timer *timer, uint64_t deadline_ns)
{
    timer_start(timer, deadline_ns, 1);
    *PER_CPU_HERE(exact_timer) = timer;
    exact_request(queue_here());
}

void timer_cancel(struct smart_timer *timer)
{
    struct timer_queue *queue = timer->queue;

    if (!timer_is_pending(timer))
        return;
    SPIN_GUARD(&queue->lock);
    timer_queue_cancel(queue, timer, queue == queue_here());
}

void timer_foreground_set(bool is_foreground)
{
    struct timer_queue *queue = queue_here();

    if (!queue->heaps[1]) { /* only this CPU can start one */
        queue->is_foreground = is_foreground;
        return;
    }
    SPIN_GUARD(&queue->lock);
    timer_queue_foreground_set(queue, is_foreground);
}

void timer_background_expire(void)
{
    struct timer_queue *queue = queue_here();

    if (!queue->heaps[1])
        return;
    SPIN_GUARD(&queue->lock);
    timer_queue_background_expire(queue, clock_now_ns());
}

void timer_serve(void)
{
    struct timer_queue *queue = queue_here();
    uint64_t now_ns = clock_now_ns();

    while (now_ns < queue->armed_ns && queue->armed_ns - now_ns < TIMER_EARLY_NS)
        now_ns = clock_now_ns();
    expire(queue, now_ns, true);
}

void timer_interrupt(void)
{
    const struct clock_event_device *device = queue_here()->device;

    if (!device || !device->local_fired || device->local_fired())
        timer_serve();
}

void timer_global_offset_set(uint64_t offset_ns)
{
    struct timer_queue *queue = queue_here();

    if (offset_ns - queue->global_offset_ns + GLOBAL_OFFSET_STEP_NS <= 2 * GLOBAL_OFFSET_STEP_NS)
        return;
    SPIN_GUARD(&queue->lock);
    timer_queue_rebuild(queue, offset_ns, false);
}

void timer_wall_check(void)
{
    struct timer_queue *queue = queue_here();
    const uint64_t steps = clock_wall_steps();

    if (queue->wall_steps == steps)
        return;
    queue->wall_steps = steps;
    SPIN_GUARD(&queue->lock);
    timer_queue_rebuild(queue, queue->global_offset_ns, true);
}

void timer_idle(void)
{
    struct timer_queue *queue = queue_here();

    if (queue->device || queue->pending == 0) {
        arch_cpu_idle();
        return;
    }
    arch_pause();
    crosscall_serve();
    expire(queue, clock_now_ns(), false);
}

static void device_follow(void)
{
    struct timer_queue *queue = queue_here();
    const struct clock_event_device *top = clock_event_top;

    SPIN_GUARD(&queue->lock);
    if (queue->device != top)
        timer_queue_device_set(queue, top);
    exact_request(queue);
}

int timer_device_rate(const char *text)
{
    int changed = clock_event_rate(text);

    if (changed <= 0) /* CPUs are interrupted only for a change */
        return changed;
    crosscall_all(device_follow);
    return 0;
}

void timers_describe(struct text_sink *sink)
{
    sink_print(sink, "latency_bound_ns %lu\n", latency_bound_default_ns);
    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++) {
        const struct timer_queue *queue = PER_CPU_OF(timers, cpu);
        const struct timer_counts *counts = &queue->counts;

        sink_print(sink, "cpu%u pending %lu armed_ns ", cpu, queue->pending);
        if (queue->armed_ns == TIMER_NEVER)
            sink_print(sink, "none");
        else
            sink_print(sink, "%lu", queue->armed_ns);
        sink_print(
            sink, " device %s arms %lu interrupts %lu rearms %lu expired %lu expired_max %lu cancelled %lu\n",
            queue->device ? queue->device->name : "none", counts->armed, counts->interrupts, counts->rearms,
            counts->expired, counts->expired_max, counts->cancelled);
    }
}
