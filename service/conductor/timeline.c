/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timeline.c: see timeline.h. CLOCK_TAI equals CLOCK_REALTIME if no program has told the kernel by how much
 * TAI is ahead (clock_gettime(2), adjtimex(2)). Conductor time is then UTC, except for leap seconds to come.
 */
#include "service/conductor/timeline.h"
#include "service/lib/clock.h"
#include <sys/timex.h>

/* Returns TAI - UTC in seconds, as this machine's kernel knows it; 0: it does not. */
static uint32_t tai_utc_s(void)
{
    struct timex state = { .modes = 0 };

    return adjtimex(&state) < 0 || state.tai < 0 ? 0 : (uint32_t)state.tai;
}

void timeline_start(struct timeline *timeline)
{
    const uint64_t tai_ns = clock_read_ns(CLOCK_TAI);

    *timeline = (struct timeline){ .epoch_ns = tai_ns,
                                   .tai_ns = tai_ns,
                                   .boottime_ns = clock_read_ns(CLOCK_BOOTTIME) };
    timeline->is_tai = tai_utc_s() != 0;
}

uint32_t timeline_tai_utc_s(const struct timeline *timeline)
{
    return timeline->is_tai ? tai_utc_s() : 0;
}

uint64_t timeline_conductor_ns(const struct timeline *timeline, uint64_t boottime_ns)
{
    return timeline->tai_ns + (boottime_ns - timeline->boottime_ns);
}

uint64_t timeline_boottime_ns(const struct timeline *timeline, uint64_t conductor_ns)
{
    return timeline->boottime_ns + (conductor_ns - timeline->tai_ns);
}

static uint64_t multiple_after(uint64_t period_ns, uint64_t ns)
{
    return (ns / period_ns + 1) * period_ns;
}

void timeline_period_set(struct timeline *timeline, uint64_t period_ns, uint64_t conductor_ns)
{
    timeline->period_ns = period_ns;
    timeline->due_ns = period_ns ? multiple_after(period_ns, conductor_ns) : 0;
}

uint64_t timeline_advance(struct timeline *timeline, uint64_t conductor_ns)
{
    uint64_t passed_over, next = multiple_after(timeline->period_ns, timeline->due_ns);

    if (conductor_ns >= next)
        next = multiple_after(timeline->period_ns, conductor_ns);
    passed_over = (next - timeline->due_ns) / timeline->period_ns - 1;
    timeline->due_ns = next;
    return passed_over;
}
