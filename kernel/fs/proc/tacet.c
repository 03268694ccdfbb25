/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc_tacet.c: /proc/tacet: counters, timers, clock event devices, the flight log. Makers and commands run
 * in system calls of the process that opens the file or writes to it.
 */
#include "arch.h"
#include "time/clock_event.h"
#include "time/timer.h"
#include "lib/errno.h"
#include "debug/klog.h"
#include "fs/proc/proc.h"

/* One line a cause that has happened: CPU, cause, count. */
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
    struct file_sink sink = text_sink_of(file);

    clock_event_devices_describe(&sink.sink);
}

static void timers_text(struct file *file)
{
    struct file_sink sink = text_sink_of(file);

    timers_describe(&sink.sink);
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

/* Pseudo files that take commands: a whole line a write. */
static int64_t command_write(uint64_t buffer, uint64_t bytes, int (*command)(const char *line))
{
    char line[80];
    int error;

    if (bytes >= sizeof(line))
        return -EINVAL;
    if (user_read(line, buffer, bytes))
        return -EFAULT;
    line[bytes] = '\0';
    if (bytes > 0 && line[bytes - 1] == '\n')
        line[bytes - 1] = '\0';
    error = command(line);
    return error ? error : (int64_t)bytes;
}

static int64_t clockevents_write(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    (void)file, (void)offset;
    return command_write(buffer, bytes, timer_device_rate);
}

static int64_t klog_command(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    (void)file, (void)offset;
    return command_write(buffer, bytes, klog_switch);
}

static const struct file_operations klog_operations = {
    .read = text_read, .write = klog_command, .size = text_size, .release = text_release
};

static const struct file_operations clockevents_operations = {
    .read = text_read, .write = clockevents_write, .size = text_size, .release = text_release
};

const struct proc_file proc_tacet_files[] = {
    { "/proc/tacet/counters", counters_text, NULL, NULL },
    { "/proc/tacet/clockevents", clockevents_text, NULL, &clockevents_operations },
    { "/proc/tacet/klog", klog_text, NULL, &klog_operations },
    { "/proc/tacet/timers", timers_text, NULL, NULL },
    { NULL, NULL, NULL, NULL },
};
