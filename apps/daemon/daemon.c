/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * daemon.c: a stand-in for a daemon: it wakes up every period, computes for a while, and goes to sleep again,
 * as what a node's Linux has beside the application does. On a Tacet node it runs as the service
 * (service=/sbin/daemon), where SCHED_IDLE is its class by default and disturbs nobody [Betti09 §IV, Fig. 4].
 *
 * With -s daemons of several nodes whose clocks agree wake together, or apart, as their seeds say, in each
 * run at the same times: noise to order, co-scheduled or not [Tsafrir05 §2].
 *
 * How often it has computed stands in a file, as a line "rounds N", so that others can see it at work.
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
    "usage: daemon [-p PERIOD] [-w WORK] [-s SEED] [-r] [-f FILE] [-h]\n"
    "\n"
    "A stand-in for a daemon: every PERIOD it computes for WORK.\n"
    "\n"
    "  -p PERIOD  10ms, 500us, or ns without a unit (default 1ms)\n"
    "  -w WORK    the same (default 100us)\n"
    "  -s SEED    it wakes at multiples of PERIOD of the monotonic clock, and a time later that SEED "
    "determines\n"
    "  -r         it has the CPU as soon as it wakes (SCHED_FIFO)\n"
    "  -f FILE    where it writes how often it has computed (default /dev/shm/daemon)\n"
    "  -h         this text\n";

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

static uint64_t seed_read(const char *text)
{
    uint64_t seed;
    const char *fault = parse_count(text, 1, UINT32_MAX, &seed);

    if (fault)
        refuse("-s", text, fault);
    return seed;
}

static uint64_t now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* A number that looks random, the same for the same seed: splitmix64's output function. */
static uint64_t random_of(uint64_t seed)
{
    uint64_t mixed = seed * UINT64_C(0x9e3779b97f4a7c15);

    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

/* The first time after now at which it wakes. */
static uint64_t first_ns(uint64_t period_ns, uint64_t seed)
{
    const uint64_t phase_ns = seed ? random_of(seed) % period_ns : 0;

    return seed ? (now_ns() / period_ns + 1) * period_ns + phase_ns : now_ns() + period_ns;
}

static void run_first(void)
{
    const struct sched_param param = { .sched_priority = 1 };

    /* By the system call: musl has no such function for a process. */
    if (syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &param)) {
        fprintf(stderr, "daemon: -r: SCHED_FIFO: %s\n", strerror(errno));
        exit(2);
    }
}

int main(int count, char **words)
{
    uint64_t period_ns = PERIOD_NS_DEFAULT, work_ns = WORK_NS_DEFAULT, seed = 0;
    bool runs_first = false;
    const char *path = FILE_DEFAULT;
    int option;

    while ((option = getopt(count, words, "p:w:s:rf:h")) != -1) {
        if (option == 'p')
            period_ns = time_read("-p", optarg);
        else if (option == 'w')
            work_ns = time_read("-w", optarg);
        else if (option == 's')
            seed = seed_read(optarg);
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
    for (uint64_t rounds = 1, next_ns = first_ns(period_ns, seed);; rounds++, next_ns += period_ns) {
        const struct timespec next = { (time_t)(next_ns / 1000000000), (long)(next_ns % 1000000000) };
        char line[32];

        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL))
            ;
        for (uint64_t end_ns = now_ns() + work_ns; now_ns() < end_ns;)
            ;
        int bytes = snprintf(line, sizeof(line), "rounds %" PRIu64 "\n", rounds);
        if (pwrite(file, line, (size_t)bytes, 0) != bytes)
            refuse("cannot write", path, strerror(errno));
    }
}
