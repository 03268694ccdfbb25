/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * affinity.h: on which CPU a measurement runs. A benchmark that the scheduler may move measures nobody's CPU,
 * so every measurement is pinned unless there is only one CPU to be on; then no system call is made.
 */
#ifndef AFFINITY_H
#define AFFINITY_H

#include <stddef.h>
#include <stdint.h>

/* The CPUs that this process may use, rising, into `cpus` (room for `room`); the number found, at least 1.
 * Where the system does not say, that is the CPU it runs on. */
size_t affinity_allowed(uint32_t *cpus, size_t room);

/* The CPU that the caller runs on now; 0 where the system does not say. */
uint32_t affinity_current(void);

/* Binds the calling thread to `cpu`. 0, or a negative errno; 0 without a system call of its own if the thread
 * can be nowhere else. */
int affinity_pin(uint32_t cpu);

#endif /* AFFINITY_H */
