/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * job.h: a job that tries the library: threads with unequal work and a barrier, repeated.
 */
#ifndef BALANCE_JOB_H
#define BALANCE_JOB_H

#include "heuristic.h"
#include "model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOB_ITERATIONS_MAX 1000

struct job_settings {
    uint64_t work_ns[BALANCE_SIBLINGS_MAX]; /* work of each rank, alone on its core */
    size_t ranks;
    uint64_t iterations;
    const char *name; /* for balance_join; NULL: job.PID */
    struct model model;
    bool modelled; /* two ranks of one core sleep for as long as the model says that they run */
};

/* Runs the job, each rank pinned to a CPU, and prints the figures of each iteration and of the library.
 * Returns the exit status. */
int job_run(const struct job_settings *settings);

#endif
