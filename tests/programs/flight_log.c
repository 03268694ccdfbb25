/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flight_log.c: gives the flight log something to record, one of these per run:
 *
 *   sleeps BOUND_NS US...     that timer slack, then a nanosleep of each length
 *   write TEXT...             writes each text to /proc/tacet/klog, and prints "TEXT: written" or "TEXT:
 *                             errno N"
 *   calls COUNT               COUNT times getppid, whose first argument counts up from 1
 *   await_nmi                 prints "ready", and sleeps until the first CPU has counted a non-maskable
 *                             interrupt
 *   read_busy COUNT           rank 0 reads the log COUNT times and looks for torn events, while other ranks
 *                             make such calls as fast as they can; the last file, or the torn one, goes to
 *                             standard output; wants klog_classes=syscall
 *   detour MS                 rank 0 computes for MS and prints its first detours; rank 1 changes a
 *                             clock event device's rating half-way, which involves every CPU
 */
#define _GNU_SOURCE
#include "clock.h"
#include "machine.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <tacet.h>
#include <time.h>
#include <unistd.h>

#define KLOG          "/proc/tacet/klog"
#define FILE_BYTES    (4 << 20)
#define DETOURS       20
#define DETOUR_MIN_NS 100
#define RING_CALLS    512 /* fill a ring: each is two events */

static unsigned rank_here(void)
{
    const char *text = getenv("TACET_RANK");

    return text ? (unsigned)atoi(text) : 0;
}

static void sleep_ns(uint64_t ns)
{
    const struct timespec length = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

    nanosleep(&length, NULL);
}

/* Opens, writes, closes; 0 or errno. */
static int file_write(const char *path, const char *text)
{
    int file = open(path, O_WRONLY);
    int error = file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text) ? errno : 0;

    if (file >= 0)
        close(file);
    return error;
}

static int sleeps(int count, char **words)
{
    if (prctl(PR_SET_TIMERSLACK, strtoul(words[0], NULL, 10)))
        return 1;
    for (int i = 1; i < count; i++)
        sleep_ns(strtoull(words[i], NULL, 10) * 1000);
    return 0;
}

static int write_all(int count, char **words)
{
    for (int i = 0; i < count; i++) {
        int error = file_write(KLOG, words[i]);

        if (error)
            printf("%s: errno %d\n", words[i], error);
        else
            printf("%s: written\n", words[i]);
        fflush(stdout);
    }
    return 0;
}

static int calls(long count)
{
    for (long i = 1; i <= count; i++)
        syscall(SYS_getppid, i);
    return 0;
}

/* Makes calls until this CPU is interrupted from outside. */
static int calls_until_interrupted(void)
{
    const volatile struct tacet_counters *counters = tacet_counters(rank_here());
    uint64_t before = 0, now = 0;

    if (!counters)
        return 1;
    for (long i = 1; now == before; i++) {
        syscall(SYS_getppid, i);
        now = 0;
        for (unsigned vector = 0; vector < TACET_INTERRUPTS; vector++)
            now += i % 1024 == 1 ? counters->interrupts[vector] : 0;
        if (i == 1)
            before = now;
        if (i % 1024 != 1)
            now = before;
    }
    return 0;
}

/* The file, as kernel/debug/klog.h has it. */
struct header {
    char magic[8];
    uint32_t version, cpu_count, kinds, event_bytes;
    uint64_t clock_hz, boot_ticks;
    char architecture[16];
};

struct kind {
    char name[24], class[16], words[40];
};

struct cpu_part {
    uint32_t cpu, count;
    uint64_t lost;
};

struct event {
    uint64_t ticks;
    uint32_t kind, cpu;
    uint64_t words[2];
};

#define OVERWRITTEN UINT32_MAX

/* Returns whether the events of a CPU that only runs calls() follow each other: a call, its end, the call
 * with the next argument. There are gaps if the CPU has overtaken the reader. */
static bool events_follow(const struct event *events, uint32_t count, uint32_t call, uint32_t end,
                          uint64_t *whole)
{
    const struct event *last = NULL, *last_call = NULL;

    for (const struct event *event = events; event < events + count; event++) {
        if (event->kind == OVERWRITTEN) {
            last = last_call = NULL; /* a gap */
            continue;
        }
        if (event->words[0] != SYS_getppid)
            continue; /* the program's start */
        if (event->kind != call && event->kind != end)
            return false;
        if (last && (last->kind == event->kind || last->ticks > event->ticks || last->cpu != event->cpu))
            return false;
        if (event->kind == end && event->words[1] != 0)
            return false;
        if (event->kind == call && last_call && last_call->words[1] + 1 != event->words[1])
            return false;
        last = event;
        last_call = event->kind == call ? event : last_call;
        ++*whole;
    }
    return true;
}

/* Returns whether all parts except the first CPU's are whole. */
static bool file_is_whole(const char *bytes, uint64_t length, uint64_t *whole)
{
    const struct header *header = (const struct header *)bytes;
    const struct kind *kinds = (const struct kind *)(header + 1);
    const char *at = (const char *)(kinds + header->kinds);
    uint32_t call = 0, end = 0;

    for (uint32_t i = 0; i < header->kinds; i++) {
        call = strcmp(kinds[i].name, "system_call") ? call : i;
        end = strcmp(kinds[i].name, "system_call_end") ? end : i;
    }
    for (uint32_t cpu = 0; cpu < header->cpu_count; cpu++) {
        const struct cpu_part *part = (const struct cpu_part *)at;
        const struct event *events = (const struct event *)(part + 1);

        at = (const char *)(events + part->count);
        if (at > bytes + length || part->cpu != cpu)
            return false;
        if (cpu != 0 && !events_follow(events, part->count, call, end, whole))
            return false;
    }
    return at == bytes + length;
}

static uint64_t file_read(char *bytes, uint64_t room)
{
    int file = open(KLOG, O_RDONLY);
    uint64_t length = 0;
    ssize_t got;

    while ((got = read(file, bytes + length, room - length)) > 0)
        length += (uint64_t)got;
    close(file);
    return length;
}

static int read_busy(int count)
{
    static char bytes[FILE_BYTES];
    uint64_t whole = 0, length = 0;
    int torn = 0;

    if (rank_here() != 0)
        return calls_until_interrupted();
    /* Until the others have filled their rings. */
    for (unsigned cpu = 1; cpu < tacet_node()->cpu_count; cpu++)
        while (tacet_counters(cpu)->system_calls < 2 * RING_CALLS)
            sleep_ns(1000000);
    for (int i = 0; i < count && !torn; i++) {
        length = file_read(bytes, sizeof(bytes));
        torn = !file_is_whole(bytes, length, &whole);
    }
    fwrite(bytes, 1, length, stdout);
    fflush(stdout);
    fprintf(stderr, "whole events: %" PRIu64 ", torn files: %d\n", whole, torn);
    return file_write(KLOG, "-syscall");
}

/* Sleeps, mostly, until a non-maskable interrupt comes. */
static int await_nmi(void)
{
    const volatile struct tacet_counters *counters = tacet_counters(rank_here());

    puts("ready");
    fflush(stdout);
    while (counters && counters->exceptions[2] == 0)
        sleep_ns(10000000);
    return counters ? 0 : 1;
}

static int detour(uint64_t ms)
{
    const struct tacet_node *node = tacet_node();

    if (!node)
        return 1;
    if (rank_here() == 1) {
        sleep_ns(ms * 500000);
        return file_write("/proc/tacet/clockevents", MACHINE_TIMER " 101");
    }

    sleep_ns(10000000); /* until the other rank sleeps, too */
    struct {
        uint64_t from, ticks;
    } found[DETOURS];
    unsigned count = 0;
    uint64_t start = now_ns();
    uint64_t last = machine_ticks(), end = last + node->clock_hz / 1000 * ms,
             minimum = node->clock_hz / 1000000 * DETOUR_MIN_NS / 1000;

    unsigned turn = 0;
    for (uint64_t now = last; now < end; last = now) {
        if (count == 0 && turn++ % 256 == 0)
            machine_relax(); /* under icount: gives the other rank its turn, until it has disturbed this one
                              */
        now = machine_ticks();
        if (now - last < minimum || count == DETOURS)
            continue;
        found[count].from = last;
        found[count++].ticks = now - last;
    }
    double ns_per_tick = 1e9 / (double)node->clock_hz;
    printf("computing from %" PRIu64 " ns; %u detours of %d ns and more:\n", start, count, DETOUR_MIN_NS);
    for (unsigned i = 0; i < count; i++)
        printf("  at %.0f ns: %.0f ns\n", (double)(found[i].from - node->boot_ticks) * ns_per_tick,
               (double)found[i].ticks * ns_per_tick);
    return 0;
}

int main(int argc, char **argv)
{
    const char *deed = argc > 1 ? argv[1] : "";

    if (argc > 2 && !strcmp(deed, "sleeps"))
        return sleeps(argc - 2, argv + 2);
    if (argc > 2 && !strcmp(deed, "write"))
        return write_all(argc - 2, argv + 2);
    if (argc > 2 && !strcmp(deed, "calls"))
        return calls(atol(argv[2]));
    if (argc > 1 && !strcmp(deed, "await_nmi"))
        return await_nmi();
    if (argc > 2 && !strcmp(deed, "read_busy"))
        return read_busy(atoi(argv[2]));
    if (argc > 2 && !strcmp(deed, "detour"))
        return detour(strtoull(argv[2], NULL, 10));
    fprintf(stderr, "flight_log: see the head of flight_log.c for what it can do\n");
    return 2;
}
