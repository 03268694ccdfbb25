/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tacet.c: /proc/tacet: counters, threads, their hardware priorities, iterations, timers, clock event
 * devices, heartbeats, the flight log. Runs in system calls of the process that opens a file or writes to it.
 */
#include "arch.h"
#include "beat/nettick.h"
#include "time/clock_event.h"
#include "time/timer.h"
#include "debug/console.h"
#include "debug/klog.h"
#include "fs/proc/proc.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "process/process.h"
#include "smp/crosscall.h"

/* Writes a line for each cause that has occurred: CPU, cause, count. */
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

static void threads_text(struct file *file)
{
    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++) {
        const struct tacet_counters *counters = arch_counters(cpu);

        text_add(file, "cpu%u switches %lu rotations %lu wake_ipis %lu ready %u\n", cpu, counters->switches,
                 counters->rotations, counters->wake_ipis, counters->ready);
    }
}

/* Writes a line for each process: its last iteration, and the sum of all. */
static void iterations_text(struct file *file)
{
    PROCESSES_EACH(process) {
        const struct process_iterations done = iterations_of(process);

        text_add(file,
                 "%s iterations %lu running_ns %lu waiting_ns %lu sum_running_ns %lu sum_waiting_ns %lu\n",
                 process->title, done.count, done.last.running_ns, done.last.waiting_ns, done.sum.running_ns,
                 done.sum.waiting_ns);
    }
}

static int iterations_command(const char *line)
{
    if (strcmp(line, "mark") != 0)
        return -EINVAL;
    iteration_mark();
    return 0;
}

/* Writes the line of the first thread with a tid of `lowest` or above; returns its tid, or 0 if there is
 * none. */
static uint32_t thread_priority_text(struct file *file, struct process *process, uint32_t lowest)
{
    unsigned cpu = 0, priority = 0;
    uint32_t tid = 0;

    spin_lock(&process->lock);
    const struct thread *thread = thread_from(process, lowest);
    if (thread) {
        tid = thread->tid;
        cpu = thread->schedule.cpu;
        priority = arch_priority(&thread->context);
    }
    spin_unlock(&process->lock);
    if (thread)
        text_add(file, "%s thread %u cpu %u priority %u\n", process->title, tid, cpu, priority);
    return tid;
}

/* Writes a line for each thread. */
static void priorities_text(struct file *file)
{
    if (!ARCH_PRIORITY_MAX) {
        text_add(file, "hardware priorities: none\n");
        return;
    }
    PROCESSES_EACH(process)
        for (uint32_t tid = 0; (tid = thread_priority_text(file, process, tid + 1));)
            crosscall_serve();
}

static int priorities_command(const char *line)
{
    static bool logged;

    if (!ARCH_PRIORITY_MAX) {
        if (!__atomic_exchange_n(&logged, true, __ATOMIC_RELAXED))
            kernel_print("/proc/tacet/priorities: this machine's CPUs have no hardware priorities\n");
        return -EOPNOTSUPP;
    }
    if (line[0] < '1' || line[0] > (char)('0' + ARCH_PRIORITY_MAX) || line[1])
        return -EINVAL;
    arch_priority_set((unsigned)(line[0] - '0'));
    return 0;
}

/* Fills a file with the text that its `describe` writes; that function belongs to another folder. */
static void described_text(struct file *file)
{
    const struct proc_file *kind = file->inode->data;

    kind->describe(&file->text.sink);
}

/* Writes the flight log, as a binary file. */
static void klog_text(struct file *file)
{
    klog_file_write(text_add_bytes, file);
}

const struct proc_file proc_tacet_files[] = {
    { "counters", .make = counters_text },
    { "clockevents", .make = described_text, .describe = clock_event_devices_describe,
      .command = timer_device_rate },
    { "iterations", .make = iterations_text, .command = iterations_command },
    { "klog", .make = klog_text, .command = klog_switch },
    { "nettick", .make = described_text, .describe = nettick_describe },
    { "priorities", .make = priorities_text, .command = priorities_command },
    { "threads", .make = threads_text },
    { "timers", .make = described_text, .describe = timers_describe },
    { .path = NULL },
};
