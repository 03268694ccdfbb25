/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock.c: see clock.h. The clock's parameters stand on a page of their own (clock_page.h), which programs
 * see, too. The first CPU writes them, before programs run. Afterwards only the line of wall time is written,
 * by a CPU that has received a better one, interrupts off, one at a time.
 */
#include "time/clock.h"
#include "arch.h"

/* The most by which a bend moves wall time, unless the writer is held up. */
#define WALL_BEND_NS 1000

/* A wait by wall time that is longer is shortened by one part in 256, which is more than bends can change. */
#define WALL_WAIT_NS    (1ULL << 24)
#define WALL_WAIT_PARTS 256

static uint64_t wall_steps;
static bool waits_by_wall; /* a thread or timer has waited by wall time */

static union {
    struct clock_page clock;
    uint8_t bytes[CLOCK_PAGE_BYTES];
} page __attribute__((aligned(ARCH_PAGE)));

_Static_assert(ARCH_CPUS_MAX <= CLOCK_PAGE_CPUS, "each CPU has its place on the pages");

/* ---- Writing ---- */

/* Begins a change, with a full barrier after the number: a reader that sees any of the parameters that change
 * from here on sees that they do, and a reader that got the old ones read the clock before the writer does.
 * Being atomic, the addition alone orders nothing after it on POWER. */
static void change_begin(uint32_t *sequence)
{
    __atomic_fetch_add(sequence, 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void change_end(uint32_t *sequence)
{
    __atomic_fetch_add(sequence, 1, __ATOMIC_SEQ_CST);
}

void clock_start(void)
{
    uint64_t wall_ns = arch_wall_clock_s() * NS_PER_S, tick_ns = NS_PER_S / arch_clock_hz();

    change_begin(&page.clock.sequence);
    page.clock.features = arch_vdso_features();
    page.clock.base_ticks = arch_boot_ticks();
    page.clock.ns_per_tick = (NS_PER_S << CLOCK_PAGE_SHIFT) / arch_clock_hz();
    page.clock.resolution_ns = tick_ns ? tick_ns : 1;
    page.clock.wall.offset_ns = wall_ns - clock_page_ns(&page.clock, arch_ticks());
    change_end(&page.clock.sequence);
}

void clock_moved(unsigned from, unsigned to)
{
    if (page.clock.ticks_offset[from] != page.clock.ticks_offset[to])
        __atomic_fetch_add(&page.clock.sequence, 2, __ATOMIC_RELEASE);
}

void clock_offsets_set(void)
{
    change_begin(&page.clock.sequence);
    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++)
        page.clock.ticks_offset[cpu] = arch_clock_offset(cpu);
    change_end(&page.clock.sequence);
}

void clock_wall_offset_set(uint64_t offset_ns)
{
    change_begin(&page.clock.wall.sequence);
    page.clock.wall.offset_ns = offset_ns;
    change_end(&page.clock.wall.sequence);
}

bool clock_wall_line_set(uint64_t local_ns, uint64_t tai_ns, int64_t slope, uint64_t tai_utc_ns)
{
    struct clock_wall *wall = &page.clock.wall;
    const bool is_first = wall->base_ns == 0;

    change_begin(&wall->sequence);
    const uint64_t now_ns = clock_now_ns(), last_ns = clock_wall_at(wall, now_ns);
    const uint64_t last_tai_utc_ns = wall->tai_utc_ns;
    wall->base_ns = local_ns;
    wall->offset_ns = tai_ns - tai_utc_ns - local_ns;
    wall->slope = slope;
    wall->floor_ns = is_first ? 0 : last_ns + last_tai_utc_ns - tai_utc_ns;
    wall->tai_utc_ns = tai_utc_ns;
    const uint64_t moved_ns = clock_wall_at(wall, now_ns) - last_ns;
    change_end(&wall->sequence);
    if (moved_ns + WALL_BEND_NS <= 2 * WALL_BEND_NS && tai_utc_ns == last_tai_utc_ns)
        return false;
    __atomic_fetch_add(&wall_steps, 1, __ATOMIC_SEQ_CST);
    return __atomic_load_n(&waits_by_wall, __ATOMIC_SEQ_CST);
}

uint64_t clock_wall_steps(void)
{
    return __atomic_load_n(&wall_steps, __ATOMIC_RELAXED);
}

const struct clock_page *clock_page(void)
{
    return &page.clock;
}

/* ---- Reading ---- */

uint64_t clock_ticks_to_ns(uint64_t ticks)
{
    return clock_page_duration_ns(&page.clock, ticks);
}

uint64_t clock_now_ns(void)
{
    uint32_t number;
    uint64_t ns;

    do {
        number = clock_sequence_begin(&page.clock.sequence);
        ns = clock_page_ns(&page.clock, arch_ticks_ordered()); /* as the vDSO reads it */
    } while (clock_sequence_changed(&page.clock.sequence, number));
    return ns;
}

uint64_t clock_ticks_at(uint64_t ns)
{
    uint64_t part_ticks = (ns % NS_PER_S * arch_clock_hz() + NS_PER_S - 1) / NS_PER_S;
    uint64_t ticks;

    if (__builtin_mul_overflow(ns / NS_PER_S, arch_clock_hz(), &ticks) ||
        __builtin_add_overflow(ticks, part_ticks, &ticks))
        return UINT64_MAX;
    /* clock_ticks_to_ns rounds down: add what is still missing, one part in 2^32 or so. */
    while (clock_ticks_to_ns(ticks) < ns) {
        uint64_t missing_ns = ns - clock_ticks_to_ns(ticks);

        ticks +=
            missing_ns / NS_PER_S * arch_clock_hz() + missing_ns % NS_PER_S * arch_clock_hz() / NS_PER_S + 1;
    }
    return __builtin_add_overflow(ticks, arch_boot_ticks(), &ticks) ? UINT64_MAX : ticks;
}

uint64_t clock_wall_ns(uint64_t *tai_ns)
{
    const struct clock_wall *wall = &page.clock.wall;
    uint32_t number;
    uint64_t ns;

    do {
        number = clock_sequence_begin(&wall->sequence);
        ns = clock_wall_at(wall, clock_now_ns());
        if (tai_ns)
            *tai_ns = ns + wall->tai_utc_ns;
    } while (clock_sequence_changed(&wall->sequence, number));
    return ns;
}

/* ---- Deadlines ---- */

/* Returns local time in which at least that much wall time passes: its inverse, except the square of the
 * slope, which is less than 2^-18. */
static uint64_t wall_wait_ns(uint64_t left_ns, int64_t slope)
{
    if (slope == 0)
        return left_ns;
    if (left_ns > WALL_WAIT_NS)
        return left_ns - left_ns / WALL_WAIT_PARTS;
    return left_ns - (uint64_t)((int64_t)left_ns * slope >> CLOCK_PAGE_SHIFT) + (left_ns >> 18);
}

uint64_t deadline_wall_wait_ns(uint64_t deadline)
{
    const uint64_t until_ns = deadline & ~DEADLINE_TAI;
    const struct clock_wall *wall = &page.clock.wall;
    uint64_t now_ns, clock_ns, wait_ns;
    uint32_t number;

    __atomic_store_n(&waits_by_wall, true, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* now the line is read: its next step finds a wait */
    do {
        number = clock_sequence_begin(&wall->sequence);
        now_ns = clock_now_ns();
        /* The line goes on, also while time stands still. */
        clock_ns = clock_wall_line_at(wall, now_ns) + (deadline >= DEADLINE_TAI ? wall->tai_utc_ns : 0);
        wait_ns = until_ns > clock_ns ? wall_wait_ns(until_ns - clock_ns, wall->slope) : until_ns - clock_ns;
    } while (clock_sequence_changed(&wall->sequence, number));
    return until_ns > clock_ns || clock_ns - until_ns < now_ns ? now_ns + wait_ns : 0;
}

bool deadline_wall_is_over(uint64_t deadline)
{
    uint64_t tai_ns, wall_ns = clock_wall_ns(&tai_ns);

    return (deadline & ~DEADLINE_TAI) <= (deadline >= DEADLINE_TAI ? tai_ns : wall_ns);
}
