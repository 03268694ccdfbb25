/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * time_abi.h: times that programs hand to system calls, as the kernel's. sys_time.c
 */
#ifndef TACET_TIME_ABI_H
#define TACET_TIME_ABI_H

#include <stdint.h>

/* A struct timespec of the program's, in ns; what is longer than the clock runs is UINT64_MAX. -EFAULT, -EINVAL.
 */
int timespec_read(uint64_t address, uint64_t *ns);

/* The time, on the clock of clock_now_ns, that lies so far from now; saturates. */
uint64_t deadline_of(int64_t seconds, int64_t units, uint64_t unit_ns);
uint64_t deadline_of_ms(int64_t ms); /* negative: never */

/* A relative timeout of the program's, never for NULL. -EFAULT, -EINVAL. */
int deadline_read(uint64_t address, uint64_t *deadline_ns);

#endif
