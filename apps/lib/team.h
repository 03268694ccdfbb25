/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * team.h: measuring windows on one or several CPUs that open and close together.
 *
 * With one CPU there is no thread. With several, on Linux, one pinned thread runs on each; they meet at a
 * barrier of their own, which spins, and no thread ends (which would enter the kernel and may wake another
 * CPU) before every window is closed. On a Tacet node each rank is a process; ranks meet by the clock
 * (together.h).
 *
 * Around each window stand two readings of the kernel's entry counters and of the SMI counter. Between the
 * former and the window there is nothing but spinning.
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

/* One CPU: what it does and finds. */
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
    uint64_t start_ticks;   /* when ranks start, if the user said so; else 0 */
    uint64_t planned_ticks; /* how long a window should last */
    /* Walks once through everything that the window will execute, so that no page and no cache line is new in
     * it. */
    void (*rehearse)(struct team_member *member);
    /* The window. */
    void (*measure)(struct team_member *member, uint64_t origin_ticks);
    size_t count;
    struct team_member members[TEAM_MAX];
};

/* Opens and closes the windows of all members, once; may be called again. False, with a message, if a CPU
 * is not available. */
bool team_run(struct team *team);

#endif /* TEAM_H */
