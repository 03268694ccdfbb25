/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * launch_cpus.c: see launch_cpus.h.
 */
#include "service/lib/launch_cpus.h"
#include <stdio.h>

void launch_cpus_set(struct launch_cpus *cpus, const cpu_set_t *allowed, const unsigned first[CPU_SETSIZE])
{
    unsigned core_of[CPU_SETSIZE], threads[CPU_SETSIZE] = { 0 };
    struct launch_cpu found[CPU_SETSIZE];

    cpus->count = cpus->cores = 0;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        const unsigned of = first[cpu];

        if (!CPU_ISSET(cpu, allowed))
            continue;
        if (threads[of] == 0)
            core_of[of] = cpus->cores++;
        found[cpus->count++] =
            (struct launch_cpu){ .cpu = cpu, .core = core_of[of], .thread = threads[of]++ };
    }
    unsigned at = 0;
    for (unsigned thread = 0; at < cpus->count; thread++)
        for (unsigned i = 0; i < cpus->count; i++)
            if (found[i].thread == thread)
                cpus->order[at++] = found[i];
}

/* Returns the first CPU of a CPU's core; the CPU itself if Linux does not say. */
static unsigned core_first(unsigned cpu)
{
    char path[96];
    unsigned first = cpu;

    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu);
    FILE *file = fopen(path, "re");
    if (!file)
        return cpu;
    if (fscanf(file, "%u", &first) != 1 || first >= CPU_SETSIZE)
        first = cpu;
    fclose(file);
    return first;
}

void launch_cpus_find(struct launch_cpus *cpus)
{
    unsigned first[CPU_SETSIZE];
    cpu_set_t allowed;

    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof(allowed), &allowed))
        CPU_SET(0, &allowed);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
        first[cpu] = CPU_ISSET(cpu, &allowed) ? core_first(cpu) : cpu;
    launch_cpus_set(cpus, &allowed, first);
}

bool launch_cpus_of(const struct launch_cpus *cpus, unsigned rank, unsigned ranks, unsigned each,
                    cpu_set_t *set)
{
    CPU_ZERO(set);
    if ((unsigned long)ranks * (each ? each : 1) > cpus->count)
        return false;
    for (unsigned i = 0; i < cpus->count; i++) {
        const unsigned whose = each                  ? i / each
                               : ranks > cpus->cores ? i
                                                     : cpus->order[i].core / (cpus->cores / ranks);

        if (whose == rank)
            CPU_SET(cpus->order[i].cpu, set);
    }
    return true;
}
