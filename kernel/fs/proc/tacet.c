/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tacet.c: /proc/tacet: counters, timers, clock event devices, the flight log. All of it runs in system calls
 * of the process that opens a file or writes to it.
 */
#include "arch.h"
#include "time/clock_event.h"
#include "time/timer.h"
#include "debug/klog.h"
#include "fs/proc/proc.h"

/* One line for each cause that has occurred: CPU, cause, count. */
static void counters_text(struct file *file)
{
    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++) {
        const struct tacet_counters *counters = arch_counters(cpu);

        text_add(file, "cpu%u system_calls %lu\n", cpu, counters->system_calls);
        for (unsigned i = 0; i < TACET_EXCEPTIONS; i++) {
            if (!counters->exceptions[i])
                continue;
            const char *name = arch_exception_name(i);
            text_add(file, "cpu%u exception %u %lu %s\n", cpu, i, counters->exceptions[i], name ? name : "?");
        }
        for (unsigned i = 0; i < TACET_INTERRUPTS; i++)
            if (counters->interrupts[i])
                text_add(file, "cpu%u interrupt %u %lu\n", cpu, i, counters->interrupts[i]);
    }
}

static void clockevents_text(struct file *file)
{
    clock_event_devices_describe(&file->text.sink);
}

static void timers_text(struct file *file)
{
    timers_describe(&file->text.sink);
}

/* The flight log as a file; binary. */
static void klog_add(void *context, const void *bytes, uint64_t count)
{
    text_add_bytes(context, bytes, count);
}

static void klog_text(struct file *file)
{
    klog_file_write(klog_add, file);
}

const struct proc_file proc_tacet_files[] = {
    { "/proc/tacet/counters", .make = counters_text },
    { "/proc/tacet/clockevents", .make = clockevents_text, .command = timer_device_rate },
    { "/proc/tacet/klog", .make = klog_text, .command = klog_switch },
    { "/proc/tacet/timers", .make = timers_text },
    { .path = NULL },
};
