/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock.c: the time base, alike on all CPUs, and the decrementer, which counts down at its rate and
 * interrupts at the step below 0 [Power ISA 3.0B III §6.5.11, §9]. The large one has up to 64 bits: it never
 * has to interrupt for the sake of its range. One of 32 bits does after 4 s; the timer queue arms it again.
 */
#include "arch.h"
#include "arch/setup.h"
#include "time/clock.h"
#include "time/clock_event.h"
#include <stddef.h>

uint64_t boot_ticks;

uint64_t arch_clock_hz(void)
{
    return machine.timebase_hz;
}

uint64_t arch_boot_ticks(void)
{
    return boot_ticks;
}

uint64_t arch_clock_offset(unsigned cpu)
{
    (void)cpu;
    return 0;
}

static uint64_t decrementer_max(void)
{
    return (1ULL << (machine.decrementer_bits - 1)) - 1;
}

static void decrementer_set(uint64_t ticks)
{
    __asm__ volatile("mtdec %0" : : "r"(ticks));
}

/* It interrupts at the step from 0 to -1, so a tick late at most. */
static void arm(uint64_t when_ns)
{
    const uint64_t at = clock_ticks_at(when_ns), now = cpu_ticks(), max = decrementer_max();
    const uint64_t distance = at > now ? at - now : 0;

    decrementer_set(distance < max ? distance : max);
}

void decrementer_quiet(void)
{
    decrementer_set(decrementer_max());
}

static struct clock_event_device decrementer = { .name = "decrementer",
                                                 .description = "the CPU's decrementer",
                                                 .rating = 100,
                                                 .arm = arm,
                                                 .disarm = decrementer_quiet };

void decrementer_initialise(void)
{
    decrementer_quiet();
    clock_event_register(&decrementer);
}
