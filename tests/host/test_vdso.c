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
#include "../../arch/x86_64/vdso/vdso.c"

#define ROUNDS 200000UL

struct clock_page page = { .features = VDSO_RDTSCP };

static void page_set(uint64_t base_ns, uint64_t wall_offset_ns)
{
    __atomic_store_n(&page.sequence, page.sequence + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    page.base_ns = base_ns;
    for (volatile int i = 0; i < 20; i++)
        ;
    page.wall_offset_ns = wall_offset_ns;
    __atomic_store_n(&page.sequence, page.sequence + 1, __ATOMIC_RELEASE);
}

/* The clock stands still, and both versions give the same time of day: 3 s. */
static void *change(void *stop)
{
    while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED)) {
        page_set(1000000000, 2000000000);
        page_set(3000000000, 0);
    }
    return NULL;
}

TEST(a_change_is_seen_whole_or_not_at_all)
{
    struct vdso_timespec now = { 0, 0 };
    pthread_t writer;
    uint64_t monotonic[4] = { 0 }, rounds = 0, torn = 0;
    int stop = 0;

    page_set(1000000000, 2000000000);
    CHECK(pthread_create(&writer, NULL, change, &stop) == 0);
    /* On a busy machine the writer may begin late. */
    for (; rounds < ROUNDS || ((!monotonic[1] || !monotonic[3]) && rounds < 10000 * ROUNDS); rounds++) {
        __vdso_clock_gettime(CLOCK_ID_REALTIME, &now);
        torn += now.seconds != 3 || now.nanoseconds != 0;
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

int main(void)
{
    RUN(a_change_is_seen_whole_or_not_at_all);
    RUN(a_rate_and_a_base_give_the_time_of_a_tick);
    return check_report("vdso");
}
