/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_vdso.c: the vDSO's code on the build machine, with a page whose parameters change while it reads: no
 * time that it tells is made of two versions of them.
 */
#include "check.h"
#include <pthread.h>
#include <stdint.h>

/* Its names are the C library's. */
#define timespec      vdso_timespec
#define timeval       vdso_timeval
#define timezone      vdso_timezone
#define clock_gettime vdso_clock_gettime
#define clock_getres  vdso_clock_getres
#define gettimeofday  vdso_gettimeofday
#define time          vdso_time
#define getcpu        vdso_getcpu
#include "../../arch/common/vdso/vdso.c"

#define ROUNDS 200000UL

struct clock_page page = { .features = VDSO_RDTSCP };

#define SECOND 1000000000ULL

static void step(uint32_t *sequence)
{
    __atomic_fetch_add(sequence, 1, __ATOMIC_SEQ_CST);
}

static void pause_a_little(void)
{
    for (volatile int i = 0; i < 20; i++)
        ;
}

static void page_set(uint64_t base_ns, uint64_t offset_ns, int64_t slope, uint64_t tai_utc_ns)
{
    step(&page.wall.sequence);
    step(&page.sequence);
    page.base_ns = base_ns;
    pause_a_little();
    page.wall.offset_ns = offset_ns;
    page.wall.slope = slope;
    pause_a_little();
    page.wall.tai_utc_ns = tai_utc_ns;
    step(&page.sequence);
    step(&page.wall.sequence);
}

/* Changes the page between two versions of one time of day, 6 s, and TAI, 43 s; the clock stands still. */
static void *change(void *stop)
{
    while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED)) {
        page_set(1 * SECOND, 5 * SECOND, 0, 37 * SECOND);
        page_set(3 * SECOND, 0, 1LL << CLOCK_PAGE_SHIFT, 37 * SECOND);
    }
    return NULL;
}

TEST(a_change_is_seen_whole_or_not_at_all)
{
    struct vdso_timespec now = { 0, 0 };
    pthread_t writer;
    uint64_t monotonic[4] = { 0 }, rounds = 0, torn = 0;
    int stop = 0;

    page_set(1 * SECOND, 5 * SECOND, 0, 37 * SECOND);
    CHECK(pthread_create(&writer, NULL, change, &stop) == 0);
    /* On a busy machine the writer may begin late. */
    for (; rounds < ROUNDS || ((!monotonic[1] || !monotonic[3]) && rounds < 10000 * ROUNDS); rounds++) {
        __vdso_clock_gettime(CLOCK_ID_REALTIME, &now);
        torn += now.seconds != 6 || now.nanoseconds != 0;
        __vdso_clock_gettime(CLOCK_ID_TAI, &now);
        torn += now.seconds != 43 || now.nanoseconds != 0;
        __vdso_clock_gettime(CLOCK_ID_MONOTONIC, &now);
        monotonic[now.seconds & 3]++;
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(writer, NULL);
    CHECK_EQUAL(torn, 0);
    CHECK(monotonic[1] > 0 && monotonic[3] > 0 && monotonic[1] + monotonic[3] == rounds);
}

TEST(a_rate_and_a_base_give_the_time_of_a_tick)
{
    struct clock_page clock = { .base_ticks = 5000,
                                .base_ns = 70,
                                .ns_per_tick = 3ULL << (CLOCK_PAGE_SHIFT - 1) };

    CHECK_EQUAL(clock_page_ns(&clock, 5000), 70);
    CHECK_EQUAL(clock_page_ns(&clock, 5001), 71);
    CHECK_EQUAL(clock_page_ns(&clock, 5002), 73);
    /* A century of a fast clock does not wrap. */
    CHECK_EQUAL(clock_page_ns(&clock, 5000 + 10000000000000000000ULL), 70 + 15000000000000000000ULL);
}

TEST(wall_time_is_a_line_that_stands_still_at_its_floor)
{
    struct clock_wall wall = {
        .base_ns = 1000, .offset_ns = 50000, .slope = -(1LL << (CLOCK_PAGE_SHIFT - 2)), .floor_ns = 51030
    };

    CHECK_EQUAL(clock_wall_at(&wall, 1000), 51030);
    CHECK_EQUAL(clock_wall_at(&wall, 1040), 51030);
    CHECK_EQUAL(clock_wall_at(&wall, 1044), 51033);
    wall.floor_ns = 0;
    CHECK_EQUAL(clock_wall_at(&wall, 1000), 51000);
    CHECK_EQUAL(clock_wall_at(&wall, 996), 50997); /* a CPU's clock may be some ns later than another's */
    /* Beats were lost a century ago. */
    CHECK_EQUAL(clock_wall_at(&wall, 1000 + 4000000000000000000), 51000 + 3000000000000000000);
}

int main(void)
{
    RUN(a_change_is_seen_whole_or_not_at_all);
    RUN(a_rate_and_a_base_give_the_time_of_a_tick);
    RUN(wall_time_is_a_line_that_stands_still_at_its_floor);
    return check_report("vdso");
}
