/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timer.h: what a timer costs, and a crowd of them.
 */
#ifndef COST_TIMER_H
#define COST_TIMER_H

#include <stdint.h>

struct timer_costs {
    /* timer_settime, the library's, that arms a timer which no other one precedes, and that disarms it: the
     * least of many. */
    uint64_t arm_ticks, disarm_ticks;
    /* What a timer that expires takes from a program that computes: the median of many interruptions, whose
     * signal is blocked. */
    uint64_t expire_ticks;
};

/* 0, or -errno. */
int timer_measure(struct timer_costs *costs);

/* Sleeps of one thread each, on one CPU, that end a nanosecond apart and within one latency bound. Tacet
 * wants the options threads=1024 and rotation=off. */
#define CROWD_SLEEPS 1000

/* How many of the timer's interrupts end them all. -ENOSYS if the system does not count them; -ERANGE if a
 * sleep ended too early; -ETIMEDOUT if in no attempt all slept in time; else another -errno. */
int crowd_measure(uint64_t *interrupts);

#endif
