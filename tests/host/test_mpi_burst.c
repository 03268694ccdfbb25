/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_mpi_burst.c: of the two ways of large messages, the one that takes less time is taken, for each size,
 * and the other is tried now and then, so that what changes is noticed.
 */
#include "check.h"
#include "apps/mpi-lite/src/message/burst.h"

#define MESSAGES 16

static uint64_t now_ns;
static uint64_t copied_ns, through_ns; /* what a message takes */

uint64_t clock_ns(void);
uint64_t clock_ns(void)
{
    return now_ns;
}

/* Sends a burst of messages of a size and returns whether they are copied. */
static bool burst_of(size_t bytes)
{
    const bool is_copied = burst_copies(bytes);

    for (unsigned i = 1; i < MESSAGES; i++)
        CHECK(burst_copies(bytes) == is_copied);
    now_ns += MESSAGES * (is_copied ? copied_ns : through_ns);
    burst_end();
    return is_copied;
}

static unsigned copied_of(unsigned bursts, size_t bytes)
{
    unsigned copied = 0;

    for (unsigned i = 0; i < bursts; i++)
        copied += burst_of(bytes);
    return copied;
}

static void times_set(uint64_t copied, uint64_t through)
{
    copied_ns = copied;
    through_ns = through;
}

TEST(at_first_the_ways_take_turns)
{
    times_set(3000, 1000);
    CHECK(copied_of(8, 16 << 10) == 4);
}

TEST(then_the_faster_one_is_taken_and_the_other_tried_once_in_64)
{
    CHECK(copied_of(640, 16 << 10) == 10);
}

TEST(each_size_has_its_own)
{
    times_set(1000, 3000);
    copied_of(8, 256 << 10);
    CHECK(copied_of(640, 256 << 10) == 630);
    times_set(3000, 1000);
    CHECK(copied_of(64, 16 << 10) == 1);
}

TEST(a_way_that_becomes_slow_is_left)
{
    times_set(1000, 8000);
    copied_of(192, 16 << 10);
    CHECK(copied_of(64, 16 << 10) == 63);
}

/* A receiver that comes late makes a burst long, whatever its way. */
TEST(a_late_receiver_changes_nothing)
{
    for (unsigned i = 0; i < 8; i++) {
        now_ns += 1000000;
        times_set(1000000, 1000000);
        burst_of(16 << 10);
        times_set(1000, 8000);
        copied_of(7, 16 << 10);
    }
    CHECK(copied_of(64, 16 << 10) == 63);
}

TEST(an_end_without_a_burst_is_none)
{
    burst_end();
    burst_end();
    CHECK(copied_of(64, 16 << 10) == 63);
}

int main(void)
{
    RUN(at_first_the_ways_take_turns);
    RUN(then_the_faster_one_is_taken_and_the_other_tried_once_in_64);
    RUN(each_size_has_its_own);
    RUN(a_way_that_becomes_slow_is_left);
    RUN(a_late_receiver_changes_nothing);
    RUN(an_end_without_a_burst_is_none);
    return check_report("mpi_burst");
}
