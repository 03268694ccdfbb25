/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * launch_cpus.h: which CPUs of a Linux node each rank has. R ranks share C cores, as on a Tacet node
 * (kernel/init/job.h): rank r has the cores r * (C / R) and up, with all their hardware threads; more ranks
 * than cores share them by hardware threads. Where a job says how many CPUs each rank has, they get CPUs of
 * different cores first.
 */
#ifndef TACET_SERVICE_LAUNCH_CPUS_H
#define TACET_SERVICE_LAUNCH_CPUS_H

#include <sched.h>
#include <stdbool.h>

/* Those that this process may run on, first the first ones of all cores, then the second ones. CPUs have
 * numbers below 1,024 (CPU_SETSIZE). */
struct launch_cpus {
    unsigned count, cores;
    struct launch_cpu {
        unsigned cpu, core, thread; /* `core` from 0 on, by their first CPUs; `thread` in its core */
    } order[CPU_SETSIZE];
};

/* From Linux. */
void launch_cpus_find(struct launch_cpus *cpus);

/* From these, where `first` says of each one's core what its first CPU is. */
void launch_cpus_set(struct launch_cpus *cpus, const cpu_set_t *allowed, const unsigned first[CPU_SETSIZE]);

/* Those of a rank of the node. `each`: so many; 0: the ranks share all. False: there are not so many. */
bool launch_cpus_of(const struct launch_cpus *cpus, unsigned rank, unsigned ranks, unsigned each,
                    cpu_set_t *set);

#endif
