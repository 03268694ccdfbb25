/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock.h: time as the kernel and programs see it, from the architecture's clock source.
 */
#ifndef TACET_CLOCK_H
#define TACET_CLOCK_H

#include "arch/platform.h"
#include "time/clock_page.h"

/* The whole pages in which the clock's parameters stand. */
#define CLOCK_PAGE_BYTES ((sizeof(struct clock_page) + ARCH_PAGE - 1) / ARCH_PAGE * ARCH_PAGE)

void clock_start(void); /* after arch_initialise */

/* Puts each CPU's offset on the page that programs read. After arch_cpus_start. */
void clock_offsets_set(void);

/* Makes a thread that moves from one CPU to the other read the page again, if the CPUs' offsets differ. */
void clock_moved(unsigned from, unsigned to);

/* Returns the page itself, which has nothing else. */
const struct clock_page *clock_page(void);

/* Returns nanoseconds since the kernel's first instruction; monotone. Any context. */
uint64_t clock_now_ns(void);

/* Returns the nanoseconds in a number of the clock source's ticks. */
uint64_t clock_ticks_to_ns(uint64_t ticks);

/* Returns the clock source's first reading at or after a time; saturates. */
uint64_t clock_ticks_at(uint64_t ns);

/* Returns CLOCK_REALTIME, nanoseconds since 1970 UTC; *tai_ns, unless NULL: CLOCK_TAI at the same moment. */
uint64_t clock_wall_ns(uint64_t *tai_ns);

/* Sets wall time to this offset from clock_now_ns. Before programs run, on one CPU. */
void clock_wall_offset_set(uint64_t offset_ns);

/* Makes wall time follow a line from now on: CLOCK_TAI was `tai_ns` at `local_ns`, which has passed and is
 * not 0, and gains slope / 2^32 from there on; CLOCK_REALTIME is `tai_utc_ns` less. The first time, both step
 * to the line. Afterwards CLOCK_TAI never goes back: if the line does, it stands still until the line is
 * there. Returns true if a clock has stepped, by more than a bend moves it, and threads may be waiting by it:
 * then each CPU has to call timer_wall_check. Interrupts off; callers are serialised. */
bool clock_wall_line_set(uint64_t local_ns, uint64_t tai_ns, int64_t slope, uint64_t tai_utc_ns);

/* Returns how often a clock has stepped in that way. */
uint64_t clock_wall_steps(void);

/* ---- Deadlines ----
 * A deadline is a time of clock_now_ns, which stays below 2^63; or, with one of these in its highest bits, a
 * time of CLOCK_REALTIME or CLOCK_TAI, which stay below 2^62; or UINT64_MAX: never. */
#define DEADLINE_WALL (2ULL << 62)
#define DEADLINE_TAI  (3ULL << 62)

static inline uint64_t deadline_by(uint64_t clock, uint64_t ns)
{
    return ns < 1ULL << 62 ? clock | ns : UINT64_MAX;
}

static inline bool deadline_is_wall(uint64_t deadline)
{
    return deadline >> 63 && deadline != UINT64_MAX;
}

/* Returns until when to wait on clock_now_ns for a deadline by wall time, as far as is known now;
 * deadline_wall_is_over: whether it is over then. If the line may still be bent, the first wait of two or
 * three is a little too short. */
uint64_t deadline_wall_wait_ns(uint64_t deadline);
bool deadline_wall_is_over(uint64_t deadline);

/* Returns the same for any deadline. One of clock_now_ns is what it is, and over after the wait. */
static inline uint64_t deadline_wait_ns(uint64_t deadline)
{
    return deadline_is_wall(deadline) ? deadline_wall_wait_ns(deadline) : deadline;
}

static inline bool deadline_is_over(uint64_t deadline)
{
    return !deadline_is_wall(deadline) || deadline_wall_is_over(deadline);
}

#endif
