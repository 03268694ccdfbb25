/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * witness.c: enters the kernel in every possible way, in a window that an outside observer can find, and
 * prints by how much the node's counters grew in it: "cpu C CAUSE COUNT"; CAUSE is system_calls, exception_V,
 * interrupt_V, or call_NAME (the number that this program has made).
 *
 * The window stands between two getcpu calls, which nothing else makes. `witness busy` also waits for a timer
 * in it and is woken from another CPU; `witness silent MS` computes so long and enters nothing. One line a
 * cause, all handed over in one write.
 */
#include "machine.h"
#include "promise.h"
#include "raw_call.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <tacet.h>
#include <time.h>
#include <unistd.h>

#define PAGE_FAULT MACHINE_PAGE_FAULT
#define WAKE       0xf0
#define GETPIDS    1234
#define FAULTS     7
#define SLEEPS     5

static uint32_t here, cpus;

static void others_wait(uint64_t faults)
{
    for (uint32_t cpu = 1; cpu < cpus; cpu++)
        while (tacet_counters(cpu)->exceptions[PAGE_FAULT] < faults)
            machine_relax();
}

/* Faults are the signal to the first CPU that this one's window is open: nothing else in this program makes
 * any. */
static void busy(const struct tacet_counters *before)
{
    static const char rating[] = MACHINE_TIMER " 101";
    const struct timespec moment = { 0, 1500000 };

    for (int i = 0; i < GETPIDS; i++)
        bare_call(SYS_getpid, 0, 0, 0);
    for (int i = 0; i < FAULTS; i++)
        bare_call(SYS_access, NOT_THERE, 0, 0);
    for (int i = 0; i < SLEEPS; i++)
        bare_call(SYS_nanosleep, (uint64_t)&moment, 0, 0);
    if (here > 0) {
        while (tacet_counters(here)->interrupts[WAKE] == before->interrupts[WAKE])
            machine_relax();
        return;
    }
    others_wait(FAULTS);
    long file = bare_call(SYS_open, (uint64_t) "/proc/tacet/clockevents", O_WRONLY, 0);
    long written = bare_call(SYS_write, (uint64_t)file, (uint64_t)rating, sizeof(rating) - 1);
    bare_call(SYS_close, (uint64_t)file, 0, 0);
    PROMISE(written == sizeof(rating) - 1, "clockevents is written: %ld", written);
}

static void silent(uint64_t ms)
{
    uint64_t end = machine_ticks() + ms * tacet_node()->clock_hz / 1000, work = 0;

    while (machine_ticks() < end)
        /* an emulator pays for looking at the clock, and for branches */
        machine_work(&work);
}

static void counters_copy(struct tacet_counters *copy)
{
    const volatile struct tacet_counters *now = tacet_counters(here);

    copy->system_calls = now->system_calls;
    for (int i = 0; i < TACET_EXCEPTIONS; i++)
        copy->exceptions[i] = now->exceptions[i];
    for (int i = 0; i < TACET_INTERRUPTS; i++)
        copy->interrupts[i] = now->interrupts[i];
}

int main(int argc, char **argv)
{
    static struct tacet_counters before, after; /* in memory that is there already */
    static char text[4096];
    bool is_busy = argc == 2 && !strcmp(argv[1], "busy");
    int used = 0;

    if (!tacet_node() || (!is_busy && argc != 3))
        return 2;
    cpus = tacet_node()->cpu_count;
    PROMISE(bare_call(SYS_getcpu, (uint64_t)&here, 0, 0) == 0, "getcpu");
    /* The start of the job wakes the others once; that is over before the window opens. */
    while (here > 0 && tacet_counters(here)->interrupts[WAKE] == 0)
        machine_relax();
    PROMISE(tacet_counters(here)->exceptions[PAGE_FAULT] == 0, "no page fault before the first");

    bare_call(SYS_getcpu, (uint64_t)&here, 0, 0);
    counters_copy(&before);
    if (is_busy)
        busy(&before);
    else
        silent((uint64_t)atoi(argv[2]));
    counters_copy(&after);
    bare_call(SYS_getcpu, (uint64_t)&here, 0, 0);

    used += snprintf(text + used, sizeof(text) - (size_t)used, "cpu %u system_calls %lu\n", here,
                     (unsigned long)(after.system_calls - before.system_calls));
    for (int i = 0; i < TACET_EXCEPTIONS; i++)
        if (after.exceptions[i] != before.exceptions[i])
            used += snprintf(text + used, sizeof(text) - (size_t)used, "cpu %u exception_%d %lu\n", here, i,
                             (unsigned long)(after.exceptions[i] - before.exceptions[i]));
    for (int i = 0; i < TACET_INTERRUPTS; i++)
        if (after.interrupts[i] != before.interrupts[i])
            used += snprintf(text + used, sizeof(text) - (size_t)used, "cpu %u interrupt_%d %lu\n", here, i,
                             (unsigned long)(after.interrupts[i] - before.interrupts[i]));
    if (is_busy)
        used += snprintf(text + used, sizeof(text) - (size_t)used,
                         "cpu %u call_getpid %d\ncpu %u call_access %d\ncpu %u call_nanosleep %d\n", here,
                         GETPIDS, here, FAULTS, here, SLEEPS);
    PROMISE(write(1, text, (size_t)used) == used, "the counts are written");
    return promises_broken ? 1 : 0;
}
