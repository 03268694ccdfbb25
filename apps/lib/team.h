/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * team.h: measuring windows on one or several CPUs that open and close together.
 *
 * With one CPU no thread is started. With several, on Linux, one pinned thread runs on each. They meet at a
 * barrier that spins. No thread ends before every window is closed, because that would enter the kernel and
 * might wake another CPU. On a Tacet node each rank is a process; ranks meet by the clock (together.h).
 *
 * The kernel's entry counters and the SMI counter are read before and after each window. Between the readings
 * of the entry counters and the window there is nothing but spinning.
 */
#ifndef TEAM_H
#define TEAM_H

#include "counters.h"
#include "smi.h"
#include "together.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define TEAM_MAX 256

/* One CPU, with its measurement and results. */
struct team_member {
    struct team *team;
    size_t number; /* thread, or rank */
    uint32_t cpu;
    uint32_t cpu_after; /* where it was when the window closed */
    int pin_error;      /* negative errno, or 0 */
    struct counters_snapshot *before, *after;
    struct smi_reading smi_before, smi_after;
    uint64_t origin_ticks; /* when the window opened */
    FILE *output;
    char path[256];
    void *data; /* the program's own */
    pthread_t handle;
};

struct team {
    const char *program; /* for messages */
    double ticks_per_ns;
    bool pin_required;
    struct together_place place;
    uint64_t start_ticks;   /* when ranks start, if the user gave it; else 0 */
    uint64_t planned_ticks; /* how long a window should last */
    /* Runs once everything that the window will execute, so that the window meets no new page or cache
     * line. */
    void (*rehearse)(struct team_member *member);
    /* Runs the window. */
    void (*measure)(struct team_member *member, uint64_t origin_ticks);
    size_t count;
    struct team_member members[TEAM_MAX];
};

/* Opens and closes the windows of all members once; may be called again. If a CPU is not available, prints a
 * message and returns false. */
bool team_run(struct team *team);

#endif /* TEAM_H */
