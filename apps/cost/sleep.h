/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sleep.h: how late a program wakes up from a sleep of a millisecond.
 */
#ifndef SLEEP_H
#define SLEEP_H

#include <stdint.h>

/* Lateness over many sleeps until an absolute time, ns. By POSIX never below 0. */
struct sleep_lateness {
    int64_t min_ns, median_ns, max_ns;
};

/* Sleeps with timer slack `slack_ns`: 1 is exact, 0 the system's default. Returns false if the slack cannot
 * be set or a sleep failed. */
_Bool sleep_lateness_measure(unsigned long slack_ns, struct sleep_lateness *lateness);

#endif /* SLEEP_H */
