/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * limits.h: the resource limits of a process (getrlimit(2)), and how many processes there are.
 */
#ifndef TACET_LIMITS_H
#define TACET_LIMITS_H

#include "lib/linux_abi.h"
#include <stdint.h>

#define FILE_DESCRIPTORS_MAX 256 /* open at a time, and the limit of their numbers: RLIMIT_NOFILE */

/* Gets a limit of this CPU's process by Linux's RLIMIT_ number, soft and hard alike; -EINVAL for unknown
 * numbers. */
int process_limit(uint64_t resource, struct linux_rlimit *limit);

/* The ranks of the job, each of which is one process. Set once at boot, before the first process exists. */
extern unsigned process_rank_count;

#endif
