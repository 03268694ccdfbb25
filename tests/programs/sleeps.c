/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sleeps.c: what a program sees of the node's timers. The first argument says which part:
 *
 *   late SLACK COUNT   sleeps of all kinds with this bound (ns; 0: the node's own): never early; prints the
 *                      extremes of their lateness
 *   random THREADS ROUNDS   THREADS threads sleep until random times, with random bounds: never early; prints
 *                      by how much a sleep was later than its bound, at most
 *   bad                times and clocks that are none
 *   slack              the bound of a thread: PR_SET_TIMERSLACK, PR_GET_TIMERSLACK
 *   proc               /proc/tacet/timers and clockevents, read and written
 *   ratings            rank 1 writes a rating that there is, again and again, while rank 0 computes
 *   account            user, system and idle time
 *   quiet SECONDS      after the last timer, computes so long and counts the kernel's entries
 *   huge               rank r sleeps for one of several almost endless times; the last rank watches
 *   periodic           the first rank sleeps 1000 times a second; the others compute meanwhile and count
 *                      entries
 */
#define _GNU_SOURCE
#include "machine.h"
#include "promise.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <tacet.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S  1000000000L
#define NS_PER_MS 1000000L
#define TIMER     0xf1 /* the local timer's interrupt */

static int64_t clock_ns(clockid_t clock)
{
    struct timespec time = { -1, 0 };

    syscall(SYS_clock_gettime, clock, &time);
    return time.tv_sec * NS_PER_S + time.tv_nsec;
}

static int64_t now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

static struct timespec timespec_of(int64_t ns)
{
    return (struct timespec){ ns / NS_PER_S, ns % NS_PER_S };
}

/* Makes the raw call, as C libraries check some arguments; returns 0 or a negative errno. */
static long raw(long number, long a, long b, long c, long d)
{
    long result = syscall(number, a, b, c, d);

    return result < 0 ? -errno : result;
}

static unsigned here(void)
{
    unsigned cpu = 0;

    syscall(SYS_getcpu, &cpu, NULL, NULL);
    return cpu;
}

/* Computes for some ticks of the TSC without entering the kernel. */
static void compute_silently(uint64_t ticks)
{
    uint64_t work = 0, start = machine_ticks();

    while (machine_ticks() - start < ticks)
        machine_work(&work);
}

/* ---- late ---- */

enum kind { NANOSLEEP, RELATIVE, ABSOLUTE, ABSOLUTE_DAY, ABSOLUTE_BOOT, POLL, PPOLL, KINDS };

/* Waits at least `ns`; returns how much longer it was, by the clock that the wait is of. */
static int64_t wait_lateness(enum kind kind, int64_t ns)
{
    static const clockid_t clocks[KINDS] = {
        [ABSOLUTE_DAY] = CLOCK_REALTIME, [ABSOLUTE_BOOT] = CLOCK_BOOTTIME
    };
    clockid_t clock = kind == ABSOLUTE_DAY || kind == ABSOLUTE_BOOT ? clocks[kind] : CLOCK_MONOTONIC;
    struct timespec request = timespec_of(ns);
    int64_t start = clock_ns(clock);
    long result = -1;

    if (kind == POLL)
        ns = (ns + NS_PER_MS - 1) / NS_PER_MS * NS_PER_MS;
    if (kind == ABSOLUTE || kind == ABSOLUTE_DAY || kind == ABSOLUTE_BOOT)
        request = timespec_of(start + ns);
    switch (kind) {
    case NANOSLEEP:
        result = raw(SYS_nanosleep, (long)&request, 0, 0, 0);
        break;
    case RELATIVE:
        result = raw(SYS_clock_nanosleep, clock, 0, (long)&request, 0);
        break;
    case POLL:
        result = raw(SYS_poll, 0, 0, ns / NS_PER_MS, 0);
        break;
    case PPOLL:
        result = raw(SYS_ppoll, 0, 0, (long)&request, 0);
        break;
    default:
        result = raw(SYS_clock_nanosleep, clock, TIMER_ABSTIME, (long)&request, 0);
    }
    PROMISE(result == 0, "kind %d answers %ld", kind, result);
    return clock_ns(clock) - start - ns;
}

static void late(unsigned long slack_ns, int count)
{
    static const int64_t lengths_ns[] = { 1, 999, 10000, 50000, 123457, 1000000, 3000001, 20000000 };
    int64_t minimum = INT64_MAX, maximum = INT64_MIN, max_absolute = INT64_MIN;

    PROMISE(slack_ns == 0 || prctl(PR_SET_TIMERSLACK, slack_ns) == 0, "the slack is set");
    for (int i = 0; i < count; i++) {
        int64_t lateness = wait_lateness((enum kind)(i % KINDS), lengths_ns[i / KINDS % 8] + i);

        minimum = lateness < minimum ? lateness : minimum;
        maximum = lateness > maximum ? lateness : maximum;
        if (i % KINDS == ABSOLUTE)
            max_absolute = lateness > max_absolute ? lateness : max_absolute;
    }
    PROMISE(minimum >= 0, "a wait was %ld ns early", (long)-minimum);

    /* A sleep until a time in the past returns at once. */
    struct timespec past = timespec_of(now_ns() - 1000), zero = { 0, 0 };
    int64_t start = now_ns();
    PROMISE(raw(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, (long)&past, 0) == 0,
            "a time that is past");
    PROMISE(raw(SYS_clock_nanosleep, CLOCK_REALTIME, TIMER_ABSTIME, (long)&zero, 0) == 0, "1970");
    PROMISE(raw(SYS_poll, 0, 0, 0, 0) == 0 && raw(SYS_ppoll, 0, 0, (long)&zero, 0) == 0,
            "polls that do not wait");
    printf("late_min_ns %ld\nlate_max_ns %ld\nlate_absolute_max_ns %ld\npast_ns %ld\n", (long)minimum,
           (long)maximum, (long)max_absolute, (long)(now_ns() - start));
}

/* ---- random ---- */

#define SLEEPERS_MAX     200
#define RANDOM_LEAD_NS   100000 /* more than it takes to begin a sleep */
#define RANDOM_SPAN_NS   (4 * NS_PER_MS)
#define RANDOM_BOUND_MAX 20 /* bounds from 2^0 to 2^20 ns */

static struct sleeper {
    pthread_t thread;
    uint64_t state; /* of random numbers */
    unsigned long rounds;
    int64_t early, late_beyond_bound_max_ns;
} sleepers[SLEEPERS_MAX];

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void *sleep_at_random(void *of)
{
    struct sleeper *own = of;

    for (unsigned long i = 0; i < own->rounds; i++) {
        const int64_t lead_ns = RANDOM_LEAD_NS + (int64_t)(random_next(&own->state) % RANDOM_SPAN_NS);
        const int64_t deadline_ns = now_ns() + lead_ns;
        const int64_t bound_ns = 1L << random_next(&own->state) % (RANDOM_BOUND_MAX + 1);
        const struct timespec deadline = timespec_of(deadline_ns);

        prctl(PR_SET_TIMERSLACK, (unsigned long)bound_ns);
        raw(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, (long)&deadline, 0);
        const int64_t late_ns = now_ns() - deadline_ns;
        own->early += late_ns < 0;
        if (late_ns - bound_ns > own->late_beyond_bound_max_ns)
            own->late_beyond_bound_max_ns = late_ns - bound_ns;
    }
    return NULL;
}

static void random_times(unsigned long threads, unsigned long rounds)
{
    int64_t early = 0, late_ns = 0;

    for (unsigned long i = 0; i < threads; i++) {
        sleepers[i].state = 88172645463325252 + i;
        sleepers[i].rounds = rounds;
        PROMISE(pthread_create(&sleepers[i].thread, NULL, sleep_at_random, &sleepers[i]) == 0, "thread %lu",
                i);
    }
    for (unsigned long i = 0; i < threads; i++) {
        pthread_join(sleepers[i].thread, NULL);
        early += sleepers[i].early;
        if (sleepers[i].late_beyond_bound_max_ns > late_ns)
            late_ns = sleepers[i].late_beyond_bound_max_ns;
    }
    PROMISE(early == 0, "%ld sleeps were too short", (long)early);
    printf("random_sleeps %lu\nrandom_late_beyond_bound_max_ns %ld\n", threads * rounds, (long)late_ns);
}

/* ---- bad ---- */

static void bad(void)
{
    static const struct timespec wrong[] = {
        { -1, 0 },       { 0, -1 },         { 0, NS_PER_S },        { 1, LONG_MAX },  { LONG_MIN, 0 },
        { 0, LONG_MIN }, { -1, 999999999 }, { LONG_MAX, NS_PER_S }, { LONG_MAX, -1 },
    };
    const struct timespec right = { 0, 1000 };
    // clang-format off
    static const int refused[] = {
        CLOCK_THREAD_CPUTIME_ID, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE,
        CLOCK_MONOTONIC_COARSE, 12, 99, -1, INT_MAX, INT_MIN,
    };
    // clang-format on
    static const long nowhere[] = { 8, NOT_THERE, (long)KERNEL_IMAGE };
    struct pollfd unknown = { 77, POLLIN, 0 }, nobody = { -1, POLLIN, 0 };
    int64_t start = now_ns();

    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        long at = (long)&wrong[i];

        PROMISE(raw(SYS_nanosleep, at, 0, 0, 0) == -EINVAL, "nanosleep of time %u", i);
        PROMISE(raw(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, at, 0) == -EINVAL, "clock_nanosleep of time %u",
                i);
        PROMISE(raw(SYS_clock_nanosleep, CLOCK_REALTIME, TIMER_ABSTIME, at, 0) == -EINVAL, "until time %u",
                i);
        PROMISE(raw(SYS_ppoll, 0, 0, at, 0) == -EINVAL, "ppoll of time %u", i);
    }
    for (unsigned i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        long result = raw(SYS_clock_nanosleep, refused[i], 0, (long)&right, 0);

        PROMISE(result == -EINVAL || result == -EOPNOTSUPP, "a sleep by clock %d answers %ld", refused[i],
                result);
    }
    for (unsigned i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
        long address = nowhere[i];

        PROMISE(raw(SYS_nanosleep, address, 0, 0, 0) == -EFAULT, "nanosleep at %lx", address);
        PROMISE(raw(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, address, 0) == -EFAULT, "clock_nanosleep at %lx",
                address);
        PROMISE(raw(SYS_ppoll, 0, 0, address, 0) == -EFAULT, "ppoll at %lx", address);
        PROMISE(raw(SYS_poll, address, 1, 10, 0) == -EFAULT, "poll of a list at %lx", address);
    }
    PROMISE(raw(SYS_nanosleep, 0, 0, 0, 0) == -EFAULT, "nanosleep at 0");
    PROMISE(raw(SYS_poll, (long)&unknown, 1UL << 30, 0, 0) == -EINVAL, "a list without end");
    PROMISE(raw(SYS_poll, (long)&unknown, 1, -1, 0) == 1 && unknown.revents == POLLNVAL,
            "a descriptor that is not open is reported at once");
    PROMISE(raw(SYS_poll, (long)&nobody, 1, 5, 0) == 0 && nobody.revents == 0, "nobody to wait for");
    PROMISE(now_ns() - start >= 5 * NS_PER_MS, "that took its 5 ms");
}

static void slack(void)
{
    int node = prctl(PR_GET_TIMERSLACK);

    PROMISE(node > 0, "the node's own bound: %d", node);
    PROMISE(prctl(PR_SET_TIMERSLACK, 1UL) == 0 && prctl(PR_GET_TIMERSLACK) == 1, "exact");
    PROMISE(prctl(PR_SET_TIMERSLACK, 123456UL) == 0 && prctl(PR_GET_TIMERSLACK) == 123456, "as it was set");
    PROMISE(prctl(PR_SET_TIMERSLACK, 0UL) == 0 && prctl(PR_GET_TIMERSLACK) == node,
            "0 restores the node's own");
    printf("slack %d\n", node);
}

/* ---- proc ---- */

static char text[65536];

static void file_read(const char *path)
{
    int file = open(path, O_RDONLY);
    ssize_t got = read(file, text, sizeof(text) - 1);

    PROMISE(got > 0, "%s can be read", path);
    text[got > 0 ? got : 0] = 0;
    close(file);
}

static long file_write(const char *path, const char *words, size_t bytes)
{
    int file = open(path, O_WRONLY);
    long result;

    PROMISE(file >= 0, "%s can be opened", path);
    result = raw(SYS_write, file, (long)words, (long)bytes, 0);
    close(file);
    return result;
}

static uint64_t interrupts_of(uint32_t cpu)
{
    const volatile struct tacet_counters *counters = tacet_counters(cpu);
    uint64_t sum = 0;

    for (int i = 0; i < TACET_INTERRUPTS; i++)
        sum += counters->interrupts[i];
    return sum;
}

/* A line of the file of ratings: the device's own, and a lower one. */
#define AS_IT_IS MACHINE_TIMER " 100"
#define LOWER    MACHINE_TIMER " 7"

static void ratings(void)
{
    enum { WRITES = 1000 };
    const char *rank = getenv("TACET_RANK");

    if (rank && !strcmp(rank, "1")) {
        const long length = sizeof(AS_IT_IS) - 1;
        const long first = file_write("/proc/tacet/clockevents", AS_IT_IS, length);

        PROMISE(first == length || first == -EPERM, "the rating that it has: %ld", first);
        for (int i = 0; i < WRITES; i++)
            PROMISE(file_write("/proc/tacet/clockevents", AS_IT_IS, length) == first, "once more");
        return;
    }
    const volatile struct tacet_counters *others = tacet_counters(1);
    uint64_t before = interrupts_of(0);
    while (others->system_calls < 3 * WRITES) /* each write opens and closes */
        machine_relax();
    PROMISE(interrupts_of(0) == before, "%lu interrupts", (unsigned long)(interrupts_of(0) - before));
}

static void proc(void)
{
    static const char devices[] = "/proc/tacet/clockevents", timers[] = "/proc/tacet/timers";
    static const char *const wrong[] = { MACHINE_TIMER,
                                         MACHINE_TIMER " ",
                                         MACHINE_TIMER " x",
                                         MACHINE_TIMER " -1",
                                         MACHINE_TIMER " 1001",
                                         MACHINE_TIMER " 1 2",
                                         "hpet 5",
                                         " 5",
                                         MACHINE_TIMER "5",
                                         MACHINE_TIMER " 99999999999999999999",
                                         "LAPIC 5",
                                         "\n",
                                         MACHINE_TIMER " 5\n\n" };
    static char long_line[5000];

    file_read(devices);
    PROMISE(strstr(text, AS_IT_IS " top"), "the local timer is on top: %s", text);
    printf("%s", text);
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        long result = file_write(devices, wrong[i], strlen(wrong[i]));

        PROMISE(result == -EINVAL || result == -ENODEV, "'%s' answers %ld", wrong[i], result);
    }
    memset(long_line, 'x', sizeof(long_line));
    PROMISE(file_write(devices, long_line, sizeof(long_line)) == -EINVAL, "a line that is too long");
    PROMISE(file_write(devices, (const char *)NOT_THERE, 9) == -EFAULT, "a line that is nowhere");
    PROMISE(file_write(devices, MACHINE_TIMER " 7\0", sizeof(MACHINE_TIMER) + 2) < 0 || 1,
            "a NUL harms nobody");
    PROMISE(open(timers, O_WRONLY) < 0 || file_write(timers, "0", 1) < 0, "timers is for reading");

    /* Good values take effect, and timers go on. */
    PROMISE(file_write(devices, LOWER "\n", sizeof(LOWER)) == sizeof(LOWER), "a good line");
    file_read(devices);
    PROMISE(strstr(text, LOWER " top"), "the new rating: %s", text);
    PROMISE(wait_lateness(NANOSLEEP, NS_PER_MS) >= 0, "a sleep");
    PROMISE(file_write(devices, AS_IT_IS, sizeof(AS_IT_IS) - 1) == sizeof(AS_IT_IS) - 1, "back");

    file_read(timers);
    PROMISE(strstr(text, "latency_bound_ns ") == text, "timers begins with the bound: %s", text);
    PROMISE(strstr(text, "cpu0 pending 0 armed_ns none device " MACHINE_TIMER " arms "),
            "nothing pending, nothing armed: %s", text);
    printf("%s", text);
}

/* ---- account ---- */

struct times_of {
    int64_t wall, user, system, cpu, thread;
};

static struct times_of times_now(void)
{
    struct times_of now;
    struct rusage usage;

    PROMISE(getrusage(RUSAGE_SELF, &usage) == 0, "getrusage");
    now.user = usage.ru_utime.tv_sec * NS_PER_S + usage.ru_utime.tv_usec * 1000;
    now.system = usage.ru_stime.tv_sec * NS_PER_S + usage.ru_stime.tv_usec * 1000;
    now.cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    now.thread = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    now.wall = now_ns();
    return now;
}

static struct times_of since(const struct times_of *start)
{
    struct times_of now = times_now();

    return (struct times_of){ now.wall - start->wall, now.user - start->user, now.system - start->system,
                              now.cpu - start->cpu, now.thread - start->thread };
}

static bool near(int64_t a, int64_t b, int64_t within)
{
    return a - b <= within && b - a <= within;
}

static void account(void)
{
    const int64_t tolerance = 30000; /* these questions themselves, and microseconds cut off */
    struct times_of start = times_now(), asleep, computing, calling;
    struct timespec nap = { 0, 100 * NS_PER_MS };
    struct tms ticks;

    nanosleep(&nap, NULL);
    asleep = since(&start);
    PROMISE(asleep.wall >= 100 * NS_PER_MS, "slept %ld ns", (long)asleep.wall);
    PROMISE(asleep.user + asleep.system < tolerance, "asleep: user %ld, system %ld ns", (long)asleep.user,
            (long)asleep.system);
    PROMISE(asleep.cpu < tolerance && asleep.thread < tolerance, "asleep: clock %ld ns", (long)asleep.cpu);

    start = times_now();
    compute_silently(50 * tacet_node()->clock_hz / 1000);
    computing = since(&start);
    PROMISE(near(computing.user, 50 * NS_PER_MS, tolerance), "computed: user %ld ns", (long)computing.user);
    PROMISE(computing.system < tolerance, "computed: system %ld ns", (long)computing.system);
    PROMISE(near(computing.cpu, computing.wall, tolerance) &&
                near(computing.thread, computing.wall, tolerance),
            "clock %ld of %ld ns", (long)computing.cpu, (long)computing.wall);

    start = times_now();
    for (int i = 0; i < 1000; i++)
        now_ns();
    calling = since(&start);
    PROMISE(calling.system > calling.wall / 4, "in the kernel %ld of %ld ns", (long)calling.system,
            (long)calling.wall);
    PROMISE(near(calling.user + calling.system, calling.wall, tolerance), "calls: %ld + %ld of %ld ns",
            (long)calling.user, (long)calling.system, (long)calling.wall);

    struct times_of now = times_now();
    PROMISE(near(now.user + now.system, now.cpu, tolerance), "in all: user %ld + system %ld, clock %ld ns",
            (long)now.user, (long)now.system, (long)now.cpu);
    PROMISE(times(&ticks) >= 0 && near(ticks.tms_utime * 10 * NS_PER_MS, now.user, 11 * NS_PER_MS),
            "times: user %ld ticks", (long)ticks.tms_utime);
    PROMISE(near(ticks.tms_stime * 10 * NS_PER_MS, now.system, 11 * NS_PER_MS), "times: system %ld ticks",
            (long)ticks.tms_stime);
    PROMISE(near(clock() * 1000L, now.cpu, 2 * tolerance), "clock() %ld us", (long)clock());
    printf("asleep_user_ns %ld\nasleep_system_ns %ld\ncomputing_user_ns %ld\ncomputing_system_ns %ld\n",
           (long)asleep.user, (long)asleep.system, (long)computing.user, (long)computing.system);
}

/* ---- Silence ---- */

static void quiet(uint64_t seconds)
{
    struct timespec nap = { 0, 3 * NS_PER_MS };

    for (int i = 0; i < 10; i++)
        nanosleep(&nap, NULL);
    uint64_t timers = tacet_counters(0)->interrupts[TIMER], before = tacet_kernel_entries(0);
    compute_silently(seconds * tacet_node()->clock_hz);
    uint64_t after = tacet_kernel_entries(0);
    PROMISE(timers > 0, "there were timers before");
    PROMISE(after == before, "%lu entries into the kernel", (unsigned long)(after - before));
    printf("entries %lu\n", (unsigned long)(after - before));
}

static void huge(void)
{
    static const struct timespec endless[] = { { LONG_MAX, 999999999 },
                                               { 18446744073, 709551615 },
                                               { 18446744073, 709551616 },
                                               { 9223372036, 854775807 },
                                               { 100000000000, 0 } };
    unsigned rank = here(), last = tacet_node()->cpu_count - 1;

    if (rank < last) {
        long result = rank == 0   ? raw(SYS_poll, 0, 0, -1, 0)
                      : rank == 1 ? raw(SYS_ppoll, 0, 0, 0, 0)
                                  : raw(SYS_nanosleep, (long)&endless[rank % 5], 0, 0, 0);

        PROMISE(false, "rank %u woke up: %ld", rank, result);
        return;
    }
    wait_lateness(NANOSLEEP, NS_PER_S);
    file_read("/proc/tacet/timers");
    printf("%swatched\n", text);
}

static void periodic(void)
{
    unsigned rank = here();
    uint64_t beats = tacet_counters(0)->interrupts[TIMER];

    if (rank == 0) {
        /* Until all the others have seen enough; each signals that by a page fault: the program makes no
         * others. */
        for (uint32_t cpu = 1; cpu < tacet_node()->cpu_count; cpu++) {
            while (tacet_counters(cpu)->exceptions[MACHINE_PAGE_FAULT] == 0) {
                struct timespec at = timespec_of((now_ns() / NS_PER_MS + 1) * NS_PER_MS);

                raw(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, (long)&at, 0);
            }
        }
        return;
    }
    /* The window opens when the first rank sleeps already, and closes before it stops. */
    while (tacet_counters(0)->interrupts[TIMER] < beats + 20 || tacet_counters(rank)->interrupts[0xf0] == 0)
        machine_relax();
    uint64_t first = tacet_counters(0)->interrupts[TIMER], before = tacet_kernel_entries(rank);
    while (tacet_counters(0)->interrupts[TIMER] < first + 200)
        machine_relax();
    uint64_t after = tacet_kernel_entries(rank);
    raw(SYS_access, NOT_THERE, 0, 0, 0);
    PROMISE(after == before, "rank %u was disturbed %lu times", rank, (unsigned long)(after - before));
    printf("rank %u entries %lu\n", rank, (unsigned long)(after - before));
}

int main(int argc, char **argv)
{
    static char buffer[1 << 16];
    const char *part = argc > 1 ? argv[1] : "";
    unsigned long number = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

    setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
    if (!strcmp(part, "late"))
        late(number, argc > 3 ? atoi(argv[3]) : 56);
    else if (!strcmp(part, "random") && number <= SLEEPERS_MAX)
        random_times(number, argc > 3 ? strtoul(argv[3], NULL, 10) : 1);
    else if (!strcmp(part, "bad"))
        bad();
    else if (!strcmp(part, "slack"))
        slack();
    else if (!strcmp(part, "ratings"))
        ratings();
    else if (!strcmp(part, "proc"))
        proc();
    else if (!strcmp(part, "account"))
        account();
    else if (!strcmp(part, "quiet"))
        quiet(number);
    else if (!strcmp(part, "huge"))
        huge();
    else if (!strcmp(part, "periodic"))
        periodic();
    else
        return 98;
    return promises_broken ? 1 : 0;
}
