/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock_event.c: see clock_event.h. Owns the list of devices (changed by any CPU, under a lock, seldom) and
 * each CPU's queue (touched by that CPU alone).
 *
 * A change of ratings moves every CPU's armed deadline to the device that is on top now: the CPU that writes
 * does its own, the others are woken to do theirs.
 */
#include "time/clock_event.h"
#include "arch.h"
#include "time/clock.h"
#include "debug/console.h"
#include "smp/crosscall.h"
#include "lib/errno.h"
#include "debug/klog.h"
#include "lib/kstring.h"
#include "smp/spinlock.h"

#define LATENCY_BOUND_DEFAULT_NS 50000 /* Linux's default timer slack */
#define LATENCY_BOUND_MAX_NS     (10 * NS_PER_S)
#define LINE_BYTES               160

/* A device that is calibrated to some parts in a million interrupts a little too early after a long time.
 * That little is waited for: arming the device again would cost another interrupt. */
#define EARLY_NS 2000

static struct clock_event_device *devices[CLOCK_EVENT_DEVICES_MAX];
static unsigned device_count;
static struct spinlock lock;
static uint64_t latency_bound_ns = LATENCY_BOUND_DEFAULT_NS;

static struct cpu_timers {
    struct timer_queue queue;
    struct clock_event_device *device; /* that the queue's deadline is armed on */
} cpu_timers[ARCH_CPUS_MAX] __attribute__((aligned(64)));

/* ---- Devices ---- */

void clock_event_register(struct clock_event_device *device)
{
    if (device_count < CLOCK_EVENT_DEVICES_MAX)
        devices[device_count++] = device;
}

static struct clock_event_device *device_top(void)
{
    struct clock_event_device *top = NULL;

    for (unsigned i = 0; i < device_count; i++)
        if (devices[i]->rating > 0 && (!top || devices[i]->rating > top->rating))
            top = devices[i];
    return top;
}

static struct clock_event_device *device_find(const char *name, size_t bytes)
{
    for (unsigned i = 0; i < device_count; i++)
        if (strlen(devices[i]->name) == bytes && strncmp(devices[i]->name, name, bytes) == 0)
            return devices[i];
    return NULL;
}

/* Whether no other device is in use. */
static bool device_is_last(const struct clock_event_device *device)
{
    for (unsigned i = 0; i < device_count; i++)
        if (devices[i] != device && devices[i]->rating > 0)
            return false;
    return true;
}

uint64_t latency_bound_default_ns(void)
{
    return latency_bound_ns;
}

static int device_choose(const char *name, struct message *why)
{
    char known[80] = "none";
    size_t used = 0;

    for (unsigned i = 0; i < device_count; i++)
        used += format_text(known + used, sizeof(known) - used, "%s%s", i ? ", " : "", devices[i]->name);

    struct clock_event_device *device = device_find(name, strlen(name));
    if (!device)
        return message_set(why, -EINVAL,
                           "clockevent=%s: this machine has no such clock event device; it has: %s", name,
                           known);
    device->rating = CLOCK_EVENT_RATING_MAX;
    return 0;
}

int clock_event_configure(const struct command_line *line, struct message *why)
{
    const char *bound = command_line_option(line, "latency_bound");
    const char *device = command_line_option(line, "clockevent");
    int error = 0;

    if (bound)
        error = option_time("latency_bound", bound, 1, LATENCY_BOUND_MAX_NS, &latency_bound_ns, why);
    if (!error && device)
        error = device_choose(device, why);
    return error;
}

/* ---- This CPU's queue ---- */

static struct cpu_timers *timers_here(void)
{
    return &cpu_timers[arch_cpu_index()];
}

static void hardware_arm(void *context, uint64_t when_ns)
{
    struct cpu_timers *timers = context;

    klog(clockevent_arm, when_ns, 0);
    if (timers->device)
        timers->device->arm(when_ns);
}

static void hardware_disarm(void *context)
{
    struct cpu_timers *timers = context;

    klog(clockevent_disarm, 0, 0);
    if (timers->device)
        timers->device->disarm();
}

void timers_start_cpu(void)
{
    static struct timer_hardware hardware[ARCH_CPUS_MAX];
    struct cpu_timers *timers = timers_here();
    struct timer_hardware *mine = &hardware[arch_cpu_index()];

    *mine = (struct timer_hardware){ .arm = hardware_arm, .disarm = hardware_disarm, .context = timers };
    timers->device = device_top();
    timer_queue_initialise(&timers->queue, mine);
}

void clockevent_arm(struct smart_timer *timer, uint64_t deadline_ns, uint64_t bound_ns)
{
    timer_arm(&timers_here()->queue, timer, deadline_ns, bound_ns);
    klog(timer_arm, deadline_ns, timer->boundary_ns);
}

void clockevent_cancel(struct smart_timer *timer)
{
    timer_cancel(&timers_here()->queue, timer);
}

struct timer_counts clockevent_counts(void)
{
    return timers_here()->queue.counts;
}

void timer_interrupt_here(void)
{
    const struct timer_queue *queue = &timers_here()->queue;
    uint64_t now = clock_now_ns();

    while (now < queue->armed_ns && queue->armed_ns - now < EARLY_NS)
        now = clock_now_ns();
    timer_interrupt(&timers_here()->queue, now, true);
}

void clock_event_recheck(void)
{
    struct cpu_timers *timers = timers_here();
    struct clock_event_device *top = device_top();

    if (top == timers->device)
        return;
    if (timers->device)
        timers->device->disarm();
    timers->device = top;
    if (timers->queue.armed_ns != TIMER_NEVER)
        hardware_arm(timers, timers->queue.armed_ns);
}

int clock_event_rate(const char *text)
{
    const char *space = text;
    struct message why;
    uint64_t rating;

    while (*space && *space != ' ')
        space++;
    if (!*space || option_number("rating", space + 1, 0, CLOCK_EVENT_RATING_MAX, &rating, &why))
        return -EINVAL;

    spin_lock(&lock);
    struct clock_event_device *device = device_find(text, (size_t)(space - text));
    int error = !device ? -ENODEV : rating == 0 && device_is_last(device) ? -EBUSY : 0;
    if (!error)
        device->rating = (unsigned)rating;
    spin_unlock(&lock);
    if (error)
        return error;
    clock_event_recheck();
    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++)
        if (cpu != arch_cpu_index())
            arch_ipi_send(cpu);
    return 0;
}

void clockevent_wait(void)
{
    struct cpu_timers *timers = timers_here();

    if (timers->device || timers->queue.pending == 0) {
        arch_cpu_idle();
        return;
    }
    arch_pause();
    crosscall_serve();
    timer_interrupt(&timers->queue, clock_now_ns(), false);
}

/* ---- What /proc shows ---- */

__attribute__((format(printf, 2, 3))) static void line_add(struct text_sink *sink, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list arguments;

    va_start(arguments, format);
    format_va(line, sizeof(line), format, arguments);
    va_end(arguments);
    sink->add(sink, line);
}

void clock_event_devices_describe(struct text_sink *sink)
{
    for (unsigned i = 0; i < device_count; i++)
        line_add(sink, "%s %u%s  %s\n", devices[i]->name, devices[i]->rating,
                 devices[i] == device_top() ? " top" : "", devices[i]->description);
}

void timers_describe(struct text_sink *sink)
{
    line_add(sink, "latency_bound_ns %lu\n", latency_bound_ns);
    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++) {
        const struct cpu_timers *timers = &cpu_timers[cpu];
        const struct timer_counts *counts = &timers->queue.counts;

        line_add(sink, "cpu%u pending %lu armed_ns ", cpu, timers->queue.pending);
        if (timers->queue.armed_ns == TIMER_NEVER)
            line_add(sink, "none");
        else
            line_add(sink, "%lu", timers->queue.armed_ns);
        line_add(sink,
                 " device %s arms %lu interrupts %lu rearms %lu expired %lu expired_max %lu cancelled %lu\n",
                 timers->device ? timers->device->name : "none", counts->armed, counts->interrupts,
                 counts->rearms, counts->expired, counts->expired_max, counts->cancelled);
    }
}
