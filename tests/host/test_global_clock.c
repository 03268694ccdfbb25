/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_global_clock.c: a node's global time compared with the conductor's, over clocks that differ and
 * networks that delay, lose and repeat: it never goes backwards, and equals the conductor's apart from the
 * least delay.
 */
#include "check.h"
#include "beat/global_clock.h"

static uint64_t seed = 11;

static uint64_t random_below(uint64_t limit)
{
    return check_random(&seed) % limit;
}

/* A world: the true time, the node's clock, and a network. */
struct world {
    int64_t drift_ppb; /* of the node's clock */
    uint64_t boot_ns;  /* true time at which the node's clock was zero */
    uint64_t period_ns;
    uint64_t delay_ns;  /* at least */
    uint64_t jitter_ns; /* the mean of what comes on top, as often small as large */
    unsigned lost_percent;
};

static uint64_t local_of(const struct world *world, uint64_t true_ns)
{
    uint64_t passed = true_ns - world->boot_ns;

    return (uint64_t)((__int128)passed * (1000000000 + world->drift_ppb) / 1000000000);
}

static uint64_t jitter(const struct world *world)
{
    uint64_t most = world->jitter_ns;

    while (most && random_below(2))
        most *= 2;
    return most ? random_below(most) : 0;
}

struct seen {
    uint64_t reads, backwards;
    int64_t error_max; /* once it has settled */
};

static struct seen run(struct global_clock *clock, const struct world *world, uint64_t begin, unsigned beats,
                       unsigned settle)
{
    struct seen seen = { 0 };
    uint64_t last = 0, last_local = 0;

    for (unsigned i = 0; i < beats; i++) {
        uint64_t sent = begin + i * world->period_ns;
        uint64_t arrival = local_of(world, sent + world->delay_ns + jitter(world));

        if (random_below(100) >= world->lost_percent && arrival >= last_local) {
            global_clock_update(clock, arrival, sent);
            last_local = arrival;
        }
        for (unsigned k = 0; k < 4 && clock->is_set; k++) {
            uint64_t now = sent + world->period_ns * (k + 1) / 5, local = local_of(world, now);

            if (local < last_local)
                continue;
            uint64_t global = global_line_at(&clock->line, local);
            int64_t error = (int64_t)(global - (now - world->delay_ns));

            seen.reads++;
            seen.backwards += global < last;
            last = global;
            last_local = local;
            if (i >= settle && (error < 0 ? -error : error) > seen.error_max)
                seen.error_max = error < 0 ? -error : error;
        }
    }
    return seen;
}

TEST(global_time_comes_to_the_conductor_s_and_never_goes_backwards)
{
    static const int64_t drifts[] = { 0, 20000, -20000, 100000, -100000 };
    static const uint64_t periods[] = { 1000000, 10000000, 100000000 };

    for (unsigned d = 0; d < 5; d++)
        for (unsigned p = 0; p < 3; p++) {
            struct world world = { .drift_ppb = drifts[d],
                                   .boot_ns = 1700000000000000000,
                                   .period_ns = periods[p],
                                   .delay_ns = 20000,
                                   .jitter_ns = 10000,
                                   .lost_percent = 1 };
            struct global_clock clock = { 0 };
            unsigned settle = (unsigned)(60000000000 / periods[p]);
            struct seen seen = run(&clock, &world, world.boot_ns + 5000000000, settle + 3000, settle);

            CHECK(seen.reads > 10000);
            CHECK_EQUAL(seen.backwards, 0);
            CHECK_EQUAL(clock.steps, 0);
            if (!CHECK(seen.error_max < 4 * (int64_t)world.jitter_ns))
                fprintf(stderr, "  %ld ns, drift %ld ppb, period %lu ns\n", seen.error_max, world.drift_ppb,
                        world.period_ns);
        }
}

TEST(a_network_without_jitter_is_followed_to_the_microsecond)
{
    struct world world = {
        .drift_ppb = 31250, .boot_ns = 1700000000000000000, .period_ns = 10000000, .delay_ns = 5000
    };
    struct global_clock clock = { 0 };
    struct seen seen = run(&clock, &world, world.boot_ns + 1000000000, 6000, 3000);

    CHECK_EQUAL(seen.backwards, 0);
    CHECK(seen.error_max < 1000);
    CHECK(clock.drift > -32 * GLOBAL_CLOCK_PPM && clock.drift < -30 * GLOBAL_CLOCK_PPM);
}

TEST(a_conductor_whose_time_jumps_moves_global_time_forward_at_once_and_never_back)
{
    struct world world = {
        .boot_ns = 1700000000000000000, .period_ns = 10000000, .delay_ns = 20000, .jitter_ns = 5000
    };
    struct global_clock clock = { 0 };
    uint64_t begin = world.boot_ns + 1000000000, before;

    run(&clock, &world, begin, 2000, 2000);
    before = global_line_at(&clock.line, local_of(&world, begin + 20000000000));
    for (int64_t jump = -3600000000000; jump <= 3600000000000; jump += 3600000000000) {
        uint64_t last = before;

        global_clock_restart(&clock);
        for (unsigned i = 0; i < 500; i++) {
            uint64_t now = begin + 20000000000 + i * world.period_ns;

            global_clock_update(&clock, local_of(&world, now + world.delay_ns), now + (uint64_t)jump);
            uint64_t global = global_line_at(&clock.line, local_of(&world, now + world.delay_ns));
            CHECK(global >= last);
            last = global;
        }
        CHECK(jump <= 0 || last - before > 3500000000000);
        clock = (struct global_clock){ 0 };
        run(&clock, &world, begin, 2000, 2000);
    }
}

int main(void)
{
    RUN(global_time_comes_to_the_conductor_s_and_never_goes_backwards);
    RUN(a_network_without_jitter_is_followed_to_the_microsecond);
    RUN(a_conductor_whose_time_jumps_moves_global_time_forward_at_once_and_never_back);
    return check_report("global_clock");
}
