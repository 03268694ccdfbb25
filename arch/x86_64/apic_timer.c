/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * apic_timer.c: the clock event devices of x86_64: the local APIC's one-shot timer, and the TSC deadline
 * if the CPU has one (exact to the TSC's tick, and without a range). Functions act on the calling CPU,
 * interrupts off.
 *
 * The APIC timer counts at a rate that must be measured, together with the TSC's (clock.c). Deadlines are
 * rounded up to its ticks, so that it is never early; a count of zero would never fire; a deadline that is
 * too far is clamped, and the timer queue arms the device again.
 *
 * Source: Intel SDM 3A §10.5.4.
 */
#include "arch/local_apic.h"
#include "arch/setup.h"
#include "arch/trap.h"
#include "time/clock.h"
#include "time/clock_event.h"
#include "debug/console.h"

static uint64_t apic_hz;

static void apic_arm(uint64_t when_ns)
{
    uint64_t now = clock_now_ns();
    uint64_t distance = when_ns > now ? when_ns - now : 0;
    uint64_t seconds = distance / NS_PER_S;
    uint64_t ticks =
        seconds > UINT32_MAX / apic_hz ? UINT32_MAX : (distance * apic_hz + NS_PER_S - 1) / NS_PER_S;

    if (ticks > UINT32_MAX)
        ticks = UINT32_MAX;
    local_apic_timer_start(VECTOR_TIMER, ticks ? (uint32_t)ticks : 1);
}

static void apic_disarm(void)
{
    local_apic_timer_start(VECTOR_TIMER, 0);
}

static void deadline_arm(uint64_t when_ns)
{
    uint64_t ticks = clock_ticks_at(when_ns) - cpu_this()->clock_offset;

    local_apic_deadline_set(VECTOR_TIMER, ticks ? ticks : 1);
}

static void deadline_disarm(void)
{
    local_apic_deadline_set(VECTOR_TIMER, 0);
}

static struct clock_event_device apic_device = { .name = "lapic",
                                                 .description = "local APIC timer, one-shot",
                                                 .rating = 100,
                                                 .arm = apic_arm,
                                                 .disarm = apic_disarm };
static struct clock_event_device deadline_device = { .name = "tsc-deadline",
                                                     .description = "local APIC, TSC deadline",
                                                     .rating = 150,
                                                     .arm = deadline_arm,
                                                     .disarm = deadline_disarm };

void apic_timer_initialise(uint64_t local_apic_hz)
{
    apic_hz = local_apic_hz;
    if (!local_apic_present())
        return;
    if (apic_hz)
        clock_event_register(&apic_device);
    if (cpuid(1, 0).c >> 24 & 1)
        clock_event_register(&deadline_device);
}
