/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sleep.c: see sleep.h. A sleep ends at an absolute time of the monotonic clock, so the way into the kernel
 * does not count. The lateness is the timer's, plus the way back to the program, plus one reading of the
 * clock.
 */
#define _GNU_SOURCE
#include "sleep.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#define SLEEPS   101
#define SLEEP_NS 1000000
#define NS_PER_S 1000000000L

static int lateness_compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int64_t now_ns(void)
{
    struct timespec time = { 0, 0 };

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * NS_PER_S + time.tv_nsec;
}

bool sleep_lateness_measure(unsigned long slack_ns, struct sleep_lateness *lateness)
{
    int64_t late_ns[SLEEPS];

    if (prctl(PR_SET_TIMERSLACK, slack_ns))
        return false;
    for (int i = 0; i < SLEEPS; i++) {
        int64_t deadline_ns = now_ns() + SLEEP_NS + i * 997; /* at varying places between two ticks */
        struct timespec deadline = { deadline_ns / NS_PER_S, deadline_ns % NS_PER_S };

        if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL))
            return false;
        late_ns[i] = now_ns() - deadline_ns;
    }
    qsort(late_ns, SLEEPS, sizeof *late_ns, lateness_compare);
    *lateness = (struct sleep_lateness){ late_ns[0], late_ns[SLEEPS / 2], late_ns[SLEEPS - 1] };
    return true;
}
