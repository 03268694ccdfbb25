/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock.c: the clock source of x86_64 is the TSC; this finds its rate, once, at boot.
 *
 * In order of trust: CPUID leaf 0x15 (crystal and ratio), the hypervisor's timing leaf 0x40000010, a
 * measurement against a clock of known rate: HPET, ACPI PM timer, or channel 2 of the PIT. A leaf is read
 * only if the CPU says that it exists (TCG returns garbage above its last one); leaf 0x16 is not used: it is
 * rounded to MHz, and names the rate of the product, not of the TSC. Every measurement is bounded in steps,
 * so that a clock that does not count is detected, and the next one tried.
 *
 * How far a measurement may be off is known: by half the time that each of the two readings took, and by a
 * tick of the reference. It goes on until that is at most ERROR_PPM_AIM: for at least one millisecond, which
 * is enough if reading is quick, as in QEMU; for at most 50, or 30 with the PIT, whose counter comes round in
 * 55.
 *
 * Sources: Intel SDM 3A §18.7.3 (TSC frequency), 2A CPUID; IA-PC HPET Specification 1.0a §2.3; ACPI 6.5
 * §4.8.3.3; Intel 8254 datasheet.
 */
#include "arch.h"
#include "arch/local_apic.h"
#include "arch/io.h"
#include "arch/setup.h"
#include "debug/console.h"
#include "debug/stop.h"

#define HYPERVISOR_LEAVES 0x40000000
#define HYPERVISOR_TIMING 0x40000010

#define WINDOWS_PER_SECOND 1000 /* a measurement takes one window, at least */
#define WINDOWS_MAX        50
#define WINDOWS_MAX_PIT    30
#define APIC_WINDOWS       10 /* windows that measure the APIC timer by a TSC of known rate */
#define ERROR_PPM_AIM      25
#define READINGS           8         /* readings; the quickest one counts */
#define STEPS_MAX          10000000U /* reads of a reference clock before it counts as stopped */

#define HPET_PERIOD_FS_MAX 100000000ULL /* the specification's bound on a tick, femtoseconds */
#define PM_TIMER_HZ        3579545ULL
#define PIT_HZ             1193182ULL
#define PIT_CHANNEL2       0x42
#define PIT_COMMAND        0x43
#define PIT_GATE           0x61

extern uint64_t boot_ticks; /* entry.asm */

static uint64_t clock_hz, apic_hz;
static uint64_t clock_error_ppm; /* greatest error of a measured rate */
static const char *clock_origin;

/* A counter of known rate; wraps at `mask`. */
struct reference_clock {
    const char *name;
    uint64_t hz;
    uint64_t mask;
    unsigned windows_max;
    uint64_t (*read)(void);
};

static volatile uint32_t *hpet;

static uint64_t hpet_read(void)
{
    return hpet[0xf0 / 4];
}

static uint64_t pm_timer_read(void)
{
    return io_read32(acpi.pm_timer_port);
}

/* Counts down from 65535 without reload in mode 0; read as counting up. */
static uint64_t pit_read(void)
{
    io_write8(PIT_COMMAND, 0x80); /* latch channel 2 */
    uint64_t low = io_read8(PIT_CHANNEL2);

    return 0xffff - (low | (uint64_t)io_read8(PIT_CHANNEL2) << 8);
}

static bool hpet_find(struct reference_clock *clock)
{
    uint64_t address = acpi.hpet_address;

    hpet = address ? arch_device_map(address, 0x400) : NULL;
    if (!hpet)
        return false;

    uint64_t period_fs = hpet[1]; /* high half of the capabilities register */
    if (period_fs == 0 || period_fs > HPET_PERIOD_FS_MAX)
        return false;
    /* Run. Its comparators' interrupts stay as they are: off since reset, or masked at the 8259. */
    hpet[0x10 / 4] |= 1;
    *clock = (struct reference_clock){ "HPET", 1000000000000000ULL / period_fs, 0xffffffff, WINDOWS_MAX,
                                       hpet_read };
    return true;
}

static bool pm_timer_find(struct reference_clock *clock)
{
    *clock =
        (struct reference_clock){ "ACPI PM timer", PM_TIMER_HZ, acpi.pm_timer_32_bits ? 0xffffffff : 0xffffff,
                                  WINDOWS_MAX, pm_timer_read };
    return acpi.pm_timer_port != 0;
}

static bool pit_find(struct reference_clock *clock)
{
    io_write8(PIT_GATE, (io_read8(PIT_GATE) & ~2) | 1); /* gate of channel 2 open, speaker off */
    io_write8(PIT_COMMAND, 0xb0);                       /* channel 2, both bytes, mode 0 */
    io_write8(PIT_CHANNEL2, 0xff);
    io_write8(PIT_CHANNEL2, 0xff);
    *clock = (struct reference_clock){ "PIT", PIT_HZ, 0xffff, WINDOWS_MAX_PIT, pit_read };
    return true;
}

/* Both clocks, read at one instant: the reference between two reads of the TSC, which were `width` apart. */
struct instant {
    uint64_t ticks, reference, width;
};

static struct instant instant_read(const struct reference_clock *clock)
{
    struct instant best = { .width = UINT64_MAX };

    for (int i = 0; i < READINGS; i++) {
        uint64_t before = cpu_ticks_ordered();
        uint64_t value = clock->read();
        uint64_t after = cpu_ticks_ordered();

        if (after - before < best.width)
            best = (struct instant){ before + (after - before) / 2, value, after - before };
    }
    return best;
}

/* Returns by how many millionths a rate that two such readings give may be off. `widths` is the sum of
 * theirs. */
static uint64_t error_ppm(uint64_t ticks, uint64_t reference_ticks, uint64_t widths)
{
    return ((widths + 1) / 2 + ticks / reference_ticks + 1) * 1000000 / ticks + 1;
}

/* Starts the local APIC's timer, masked, which counts during every measurement; its rate follows from the
 * ratio. The TSC is read directly after each of the two accesses to the timer, so that their cost cancels
 * out: with a rate some millionths too low, each longer sleep would take two interrupts, the first of them
 * early. */
static uint64_t apic_timer_begin(void)
{
    if (local_apic_present())
        local_apic_timer_start(LOCAL_APIC_MASKED, UINT32_MAX);
    return cpu_ticks();
}

/* Returns the timer's ticks, and the TSC's in `*window_ticks`. */
static uint64_t apic_timer_end(uint64_t begin_ticks, uint64_t *window_ticks)
{
    uint64_t elapsed = local_apic_present() ? UINT32_MAX - local_apic_timer_left() : 0;

    *window_ticks = cpu_ticks() - begin_ticks;
    if (local_apic_present())
        local_apic_timer_start(LOCAL_APIC_MASKED, 0);
    return elapsed;
}

/* Returns the TSC's rate by this reference clock, or 0 if that does not count. */
static uint64_t clock_measure(const struct reference_clock *clock)
{
    uint64_t window = clock->hz / WINDOWS_PER_SECOND, elapsed = 0, apic_window;
    struct instant start = instant_read(clock);
    uint64_t apic_start_ticks = apic_timer_begin();

    for (unsigned steps = 0; elapsed < window || (elapsed < clock->windows_max * window &&
                                                  error_ppm(cpu_ticks() - start.ticks, elapsed,
                                                            2 * start.width) > ERROR_PPM_AIM);) {
        elapsed = (clock->read() - start.reference) & clock->mask;
        if (++steps > STEPS_MAX)
            return 0;
    }
    uint64_t apic_ticks = apic_timer_end(apic_start_ticks, &apic_window);
    struct instant end = instant_read(clock);
    uint64_t ticks = end.ticks - start.ticks;

    elapsed = (end.reference - start.reference) & clock->mask;
    if (elapsed < window) /* it has come round, or stopped */
        return 0;
    uint64_t hz = ticks * clock->hz / elapsed;
    clock_error_ppm = error_ppm(ticks, elapsed, start.width + end.width);
    apic_hz = apic_ticks * hz / apic_window;
    return hz;
}

/* Measures the APIC timer's rate by a TSC whose rate is known. */
static void apic_measure(void)
{
    uint64_t window = clock_hz / WINDOWS_PER_SECOND * APIC_WINDOWS, elapsed;
    uint64_t start = apic_timer_begin();

    while (cpu_ticks() - start < window)
        arch_pause();
    uint64_t ticks = apic_timer_end(start, &elapsed);
    apic_hz = ticks * clock_hz / elapsed;
}

static uint64_t hz_from_crystal(void)
{
    if (cpu_features.basic_leaves < 0x15)
        return 0;

    struct cpuid_result r = cpuid(0x15, 0); /* a: denominator, b: numerator, c: crystal in Hz */
    return r.a && r.b && r.c ? (uint64_t)r.c * r.b / r.a : 0;
}

static uint64_t hz_from_hypervisor(void)
{
    if (!cpu_features.hypervisor)
        return 0;

    uint32_t last = cpuid(HYPERVISOR_LEAVES, 0).a;
    if (last < HYPERVISOR_TIMING || last > HYPERVISOR_LEAVES + 0xffff)
        return 0;
    return (uint64_t)cpuid(HYPERVISOR_TIMING, 0).a * 1000; /* kHz */
}

void clock_initialise(void)
{
    bool (*const find[])(struct reference_clock *) = { hpet_find, pm_timer_find, pit_find };

    clock_hz = hz_from_crystal();
    clock_origin = "CPUID leaf 0x15";
    if (!clock_hz) {
        clock_hz = hz_from_hypervisor();
        clock_origin = "the hypervisor";
    }
    for (unsigned i = 0; i < sizeof(find) / sizeof(find[0]) && !clock_hz; i++) {
        struct reference_clock reference;

        if (!find[i](&reference))
            continue;
        clock_hz = clock_measure(&reference);
        clock_origin = reference.name;
        if (!clock_hz)
            kernel_print("the %s does not run; trying the next clock\n", reference.name);
    }
    if (!clock_hz)
        node_stop(STOP_BAD_INPUT,
                  "no clock: CPUID, HPET, ACPI PM timer and PIT all fail to give the TSC's rate");
    if (!apic_hz && local_apic_present())
        apic_measure();
    apic_timer_initialise(apic_hz);
    kernel_print("clock: TSC at %lu.%06lu MHz by %s", clock_hz / 1000000, clock_hz % 1000000, clock_origin);
    if (clock_error_ppm)
        kernel_print(", within %lu ppm", clock_error_ppm);
    kernel_print("%s\n", cpu_features.invariant_tsc ? "" : " (the CPU does not promise an invariant TSC)");
}

uint64_t arch_clock_hz(void)
{
    return clock_hz;
}

uint64_t arch_boot_ticks(void)
{
    return boot_ticks;
}
