/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * affinity.c: finds the CPUs and binds to one, with Linux's system calls, before the measuring window.
 */
#define _GNU_SOURCE
#include "affinity.h"

#include <errno.h>
#include <sched.h>

size_t affinity_allowed(uint32_t *cpus, size_t room)
{
    cpu_set_t set;
    size_t found = 0;

    CPU_ZERO(&set);
    if (!sched_getaffinity(0, sizeof set, &set)) {
        for (uint32_t cpu = 0; cpu < CPU_SETSIZE && found < room; cpu++) {
            if (CPU_ISSET(cpu, &set))
                cpus[found++] = cpu;
        }
    }
    if (!found)
        cpus[found++] = affinity_current();
    return found;
}

uint32_t affinity_current(void)
{
    int cpu = sched_getcpu();

    return cpu < 0 ? 0 : (uint32_t)cpu;
}

int affinity_pin(uint32_t cpu)
{
    uint32_t allowed[2];
    cpu_set_t set;

    if (cpu >= CPU_SETSIZE)
        return -EINVAL;
    if (affinity_allowed(allowed, 2) == 1 && allowed[0] == cpu)
        return 0;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (!sched_setaffinity(0, sizeof set, &set))
        return 0;
    /* A system without this call has no scheduler that moves threads. */
    return errno == ENOSYS && affinity_current() == cpu ? 0 : -errno;
}
