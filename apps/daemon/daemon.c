/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * daemon.c: a stand-in for a daemon: it wakes up every period, computes for a while, and sleeps again, like
 * the daemons of a Linux node next to the application. On a Tacet node it runs as the service
 * (service=/sbin/daemon). The service's default class is SCHED_IDLE, so it disturbs no other thread [Betti09
 * §IV, Fig. 4].
 *
 * With -s, daemons of several nodes whose clocks agree wake together (same seed) or apart (different seeds),
 * at the same times in each run: noise on demand, co-scheduled or not [Tsafrir05 §2].
 *
 * A file holds how often it has computed, as a line "rounds N", so that others can see that it works.
 */
#define _GNU_SOURCE
#include "parse.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_NS_DEFAULT 1000000
#define WORK_NS_DEFAULT   100000
#define FILE_DEFAULT      "/dev/shm/daemon"

static const char usage[] =
    "usage: daemon [-p PERIOD] [-w WORK] [-n ROUNDS] [-s SEED] [-r] [-f FILE] [-h]\n"
    "\n"
    "A stand-in for a daemon: every PERIOD it computes for WORK.\n"
    "\n"
    "  -p PERIOD  such as 10ms or 500us; without a unit, ns (default 1ms)\n"
    "  -w WORK    such as 10ms or 500us; without a unit, ns (default 100us)\n"
    "  -n ROUNDS  ends after this number of rounds (default: runs forever)\n"
    "  -s SEED    wakes at multiples of PERIOD of the monotonic clock, plus a time from SEED\n"
    "  -r         gets the CPU as soon as it wakes (SCHED_FIFO)\n"
    "  -f FILE    file to write how often it has computed (default /dev/shm/daemon)\n"
    "  -h         this text\n";

static struct {
    uint64_t period_ns, work_ns, rounds;
    uint64_t seed; /* of its phase; 0: the phase is that of its start */
} given = { .period_ns = PERIOD_NS_DEFAULT, .work_ns = WORK_NS_DEFAULT, .rounds = UINT64_MAX };

_Noreturn static void refuse(const char *what, const char *value, const char *right)
{
    fprintf(stderr, "daemon: %s %s: %s\n", what, value, right);
    exit(2);
}

static uint64_t time_read(const char *option, const char *text)
{
    uint64_t time_ns;
    const char *fault = parse_time_ns(text, &time_ns);

    if (fault)
        refuse(option, text, fault);
    return time_ns;
}

static uint64_t count_read(const char *option, const char *text)
{
    uint64_t count;
    const char *fault = parse_count(text, 1, UINT32_MAX, &count);

    if (fault)
        refuse(option, text, fault);
    return count;
}

static uint64_t now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Returns a number that looks random, the same for the same seed: splitmix64's output function. */
static uint64_t random_of(uint64_t seed)
{
    uint64_t mixed = seed * UINT64_C(0x9e3779b97f4a7c15);

    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

/* Returns the first time after now at which the daemon wakes. */
static uint64_t first_ns(uint64_t period_ns, uint64_t seed)
{
    const uint64_t phase_ns = seed ? random_of(seed) % period_ns : 0;

    return seed ? (now_ns() / period_ns + 1) * period_ns + phase_ns : now_ns() + period_ns;
}

static void run_first(void)
{
    const struct sched_param param = { .sched_priority = 1 };

    /* A system call, as musl has no such function for a process. */
    if (syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &param)) {
        fprintf(stderr, "daemon: -r: SCHED_FIFO: %s\n", strerror(errno));
        exit(2);
    }
}

/* Wakes each period and computes, `rounds` times. */
static void serve(int file, const char *path, uint64_t rounds)
{
    uint64_t next_ns = first_ns(given.period_ns, given.seed);

    for (uint64_t round = 1; round <= rounds; round++, next_ns += given.period_ns) {
        const struct timespec next = { (time_t)(next_ns / 1000000000), (long)(next_ns % 1000000000) };
        char line[32];

        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL))
            ;
        for (uint64_t end_ns = now_ns() + given.work_ns; now_ns() < end_ns;)
            ;
        int bytes = snprintf(line, sizeof(line), "rounds %" PRIu64 "\n", round);
        if (pwrite(file, line, (size_t)bytes, 0) != bytes)
            refuse("cannot write", path, strerror(errno));
    }
}

int main(int count, char **words)
{
    const char *path = FILE_DEFAULT;
    bool runs_first = false;
    int option;

    while ((option = getopt(count, words, "p:w:n:s:rf:h")) != -1) {
        if (option == 'p')
            given.period_ns = time_read("-p", optarg);
        else if (option == 'w')
            given.work_ns = time_read("-w", optarg);
        else if (option == 'n')
            given.rounds = count_read("-n", optarg);
        else if (option == 's')
            given.seed = count_read("-s", optarg);
        else if (option == 'r')
            runs_first = true;
        else if (option == 'f')
            path = optarg;
        else if (option == 'h')
            return fputs(usage, stdout) < 0;
        else
            return fputs(usage, stderr), 2;
    }

    if (runs_first)
        run_first();
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file < 0)
        refuse("-f", path, strerror(errno));
    serve(file, path, given.rounds);
    return 0;
}
