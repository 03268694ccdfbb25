/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timer.h: the cost of a timer, and of a crowd of timers.
 */
#ifndef COST_TIMER_H
#define COST_TIMER_H

#include <stdint.h>

struct timer_costs {
    /* The library's timer_settime, to arm a timer that is earlier than all others, and to disarm it: the
     * least of many calls. */
    uint64_t arm_ticks, disarm_ticks;
    /* The time that an expiring timer, whose signal is blocked, takes from a program that computes: the
     * median of many. */
    uint64_t expire_ticks;
};

/* Measures the costs of a timer. Returns 0, or -errno. */
int timer_measure(struct timer_costs *costs);

/* Sleeps in the crowd: of one thread each, on one CPU, ending a nanosecond apart within one latency bound.
 * Tacet needs the options threads=1024 and rotation=off. */
#define CROWD_SLEEPS 1000

/* Counts the timer's interrupts that end all sleeps. Returns 0, or -errno: -ENOSYS if the system does not
 * count interrupts; -ERANGE if a sleep ended too early; -ETIMEDOUT if in no attempt all slept in time. */
int crowd_measure(uint64_t *interrupts);

#endif
