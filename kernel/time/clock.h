/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock.h: time as the kernel and programs see it, from the architecture's clock source.
 */
#ifndef TACET_CLOCK_H
#define TACET_CLOCK_H

#include "time/clock_page.h"

void clock_start(void); /* after arch_initialise */

/* After arch_cpus_start: puts each CPU's offset on the page that programs read. */
void clock_offsets_set(void);

/* A thread that ran on one CPU goes on on the other: what it is reading of the page is not the other's. */
void clock_moved(unsigned from, unsigned to);

/* The page itself: a struct clock_page, and nothing else. */
const void *clock_page(void);

/* Nanoseconds since the kernel's first instruction; monotone. Any context. */
uint64_t clock_now_ns(void);

/* Nanoseconds in a number of the clock source's ticks. */
uint64_t clock_ticks_to_ns(uint64_t ticks);

/* The clock source's first reading at or after a time; saturates. */
uint64_t clock_ticks_at(uint64_t ns);

/* What to add for nanoseconds since 1970 UTC. */
uint64_t clock_wall_offset_ns(void);

/* Before programs run, on one CPU. */
void clock_wall_offset_set(uint64_t offset_ns);

/* The clock source's tick in ns, rounded up to at least 1. */
uint64_t clock_resolution_ns(void);

#endif
