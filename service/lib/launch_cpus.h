/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * launch_cpus.h: which CPUs of a Linux node each rank gets. R ranks share C cores as on a Tacet node
 * (kernel/init/job.h): rank r gets C / R cores, from core r * (C / R), with all their hardware threads. If
 * there are more ranks than cores, each rank gets a hardware thread. If the job says how many CPUs each rank
 * has, CPUs of different cores are given out first.
 */
#ifndef TACET_SERVICE_LAUNCH_CPUS_H
#define TACET_SERVICE_LAUNCH_CPUS_H

#include <sched.h>
#include <stdbool.h>

/* The CPUs that this process may run on: the first hardware thread of every core, then the second ones, and
 * so on. CPU numbers are below 1,024 (CPU_SETSIZE). */
struct launch_cpus {
    unsigned count, cores;
    struct launch_cpu {
        unsigned cpu, core, thread; /* `core` counts from 0 in the order of CPUs; `thread` within its core */
    } order[CPU_SETSIZE];
};

/* Finds this process's CPUs and their cores. */
void launch_cpus_find(struct launch_cpus *cpus);

/* Sets the CPUs from `allowed`; first[c] is the first CPU of CPU c's core. */
void launch_cpus_set(struct launch_cpus *cpus, const cpu_set_t *allowed, const unsigned first[CPU_SETSIZE]);

/* Returns in *set the CPUs of a rank, `rank` of the node's `ranks`: `each` CPUs; if `each` is 0, its share of
 * all. Returns false if there are too few CPUs. */
bool launch_cpus_of(const struct launch_cpus *cpus, unsigned rank, unsigned ranks, unsigned each,
                    cpu_set_t *set);

#endif
