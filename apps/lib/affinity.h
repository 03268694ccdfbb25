/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * affinity.h: the CPU on which a measurement runs. A thread that the scheduler moves measures several CPUs
 * mixed, so every measurement is pinned. With a single CPU there is no need, and no system call is made.
 */
#ifndef AFFINITY_H
#define AFFINITY_H

#include <stddef.h>
#include <stdint.h>

/* Writes the CPUs that this process may use to `cpus` (room for `room`), in rising order, and returns their
 * number, at least 1. If the system does not tell, that is the current CPU. */
size_t affinity_allowed(uint32_t *cpus, size_t room);

/* Returns the CPU that the caller runs on now; 0 if the system does not tell. */
uint32_t affinity_current(void);

/* Binds the calling thread to `cpu`. Returns 0, or a negative errno. If `cpu` is the only CPU that the thread
 * may use, returns 0 and does not bind. */
int affinity_pin(uint32_t cpu);

#endif /* AFFINITY_H */
