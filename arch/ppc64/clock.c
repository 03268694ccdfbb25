/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock.c: the time base, alike on all CPUs, and the decrementer, which counts down at its rate and
 * interrupts at the step below 0 [Power ISA 3.0B III §6.5.11, §9]. The large one has up to 64 bits: it never
 * has to interrupt for the sake of its range. One of 32 bits does after 2^31 ticks, 4 s at 512 MHz, as on
 * BG/L after 6 s [Beckman06 §3.3]: such an interrupt is counted separately, and only sets the decrementer
 * again.
 */
#include "arch.h"
#include "arch/common/calendar.h"
#include "arch/interrupts.h"
#include "arch/setup.h"
#include "time/clock.h"
#include "time/clock_event.h"
#include "time/timer.h"
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

/* ---- The battery clock ---- */

/* Of RTAS [PAPR §7.3.1]: status, year, month, day, hour, minute, second, ns. */
#define TIME_ANSWERS 8

uint64_t arch_wall_clock_s(void)
{
    uint32_t out[TIME_ANSWERS];

    if (rtas_call(machine.get_time_of_day, 0, NULL, TIME_ANSWERS, out))
        return 0;
    return calendar_seconds(&(struct calendar_time){ out[1], out[2], out[3], out[4], out[5], out[6] });
}

/* ---- The decrementer ---- */

static uint64_t decrementer_max(void)
{
    return (1ULL << (machine.decrementer_bits - 1)) - 1;
}

static void decrementer_set(uint64_t ticks)
{
    __asm__ volatile("mtdec %0" : : "r"(ticks));
}

/* Sets the decrementer for the CPU's deadline, or as far as it can wait. It interrupts at the step from 0 to
 * -1, so a tick late at most. */
static void deadline_follow(void)
{
    const uint64_t at = cpu_this()->deadline, now = cpu_ticks(), max = decrementer_max();
    const uint64_t distance = at > now ? at - now : 0;

    decrementer_set(distance < max ? distance : max);
}

static void deadline_set(uint64_t ticks)
{
    cpu_this()->deadline = ticks;
    deadline_follow();
}

static void arm(uint64_t when_ns)
{
    deadline_set(clock_ticks_at(when_ns));
}

void decrementer_quiet(void)
{
    deadline_set(UINT64_MAX);
}

void decrementer_interrupt(void)
{
    struct cpu *cpu = cpu_this();

    if (cpu->deadline > cpu_ticks() || cpu->has_ended) {
        interrupt_note(INTERRUPT_RANGE);
        deadline_follow();
        return;
    }
    interrupt_note(INTERRUPT_TIMER);
    decrementer_quiet(); /* it interrupts for as long as it is below 0 */
    timer_interrupt();
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
