/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * job.h: a job that tries the library: threads with unequal work and a barrier, again and again.
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
    uint64_t work_ns[BALANCE_SIBLINGS_MAX]; /* of each rank, alone on its core */
    size_t ranks;
    uint64_t iterations;
    const char *name; /* for balance_join; NULL: job.PID */
    struct model model;
    bool modelled; /* two ranks of one core that work for as long as the model says, and do nothing */
};

/* Runs it, each rank pinned to a CPU, and prints what each iteration was, and the library's figures. The
 * exit status. */
int job_run(const struct job_settings *settings);

#endif
