/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_apps_lib.c: holds the pure parts of apps/lib that the benchmarks share to their headers: order
 * statistics, the common start by the clock, lists of option values.
 */
#include "check.h"
#include "order.h"
#include "parse.h"
#include "together.h"

TEST(sorting_rises_and_keeps_everything)
{
    uint64_t values[257], state = 1, sum = 0;

    for (size_t i = 0; i < 257; i++) {
        values[i] = check_random(&state) >> (i % 64);
        sum += values[i];
    }
    order_sort(values, 257);
    for (size_t i = 0; i < 257; i++) {
        sum -= values[i];
        CHECK(i == 0 || values[i - 1] <= values[i]);
    }
    CHECK_EQUAL(sum, 0);
    order_sort(values, 0);
}

TEST(quantile_is_the_nearest_rank)
{
    const uint64_t values[] = { 10, 20, 30, 40, 50, 60, 70, 80, 90, 100 };

    CHECK_EQUAL(order_quantile(values, 10, 500000), 50);
    CHECK_EQUAL(order_quantile(values, 10, 500001), 60);
    CHECK_EQUAL(order_quantile(values, 10, 900000), 90);
    CHECK_EQUAL(order_quantile(values, 10, 999990), 100);
    CHECK_EQUAL(order_quantile(values, 10, 1000000), 100);
    CHECK_EQUAL(order_quantile(values, 10, 50000), 10);
    CHECK_EQUAL(order_quantile(values, 10, 0), 10);
    CHECK_EQUAL(order_quantile(values, 1, 500000), 10);
}

TEST(above_counts_strictly)
{
    const uint64_t values[] = { 1, 5, 5, 5, 9 };

    CHECK_EQUAL(order_above(values, 5, 0), 5);
    CHECK_EQUAL(order_above(values, 5, 4), 4);
    CHECK_EQUAL(order_above(values, 5, 5), 1);
    CHECK_EQUAL(order_above(values, 5, 9), 0);
    CHECK_EQUAL(order_above(values, 0, 9), 0);
}

TEST(start_is_a_multiple_since_boot_and_far_enough_ahead)
{
    uint64_t state = 7;

    CHECK_EQUAL(together_start_ticks(1000, 0, 100, 0), 1000);
    CHECK_EQUAL(together_start_ticks(1001, 0, 100, 0), 1100);
    CHECK_EQUAL(together_start_ticks(1000, 0, 100, 1), 1100);
    CHECK_EQUAL(together_start_ticks(1000, 30, 100, 20), 1030);
    CHECK_EQUAL(together_start_ticks(30, 30, 100, 0), 30);
    for (int i = 0; i < 10000; i++) {
        uint64_t base = check_random(&state) >> 20, now = base + (check_random(&state) >> 20);
        uint64_t interval = 1 + (check_random(&state) >> 40), lead = check_random(&state) >> 44;
        uint64_t start = together_start_ticks(now, base, interval, lead);

        CHECK_EQUAL((start - base) % interval, 0);
        CHECK(start >= now + lead && start < now + lead + interval);
    }
}

TEST(ranks_within_one_interval_agree)
{
    const uint64_t interval = 1000000, lead = 20000, base = 123;
    const uint64_t start = together_start_ticks(base + 5 * interval, base, interval, lead);

    /* A caller later than one lead before a border, and not later than one lead before the next. */
    for (uint64_t late = 0; late <= interval - lead; late += 7)
        CHECK_EQUAL(together_start_ticks(base + 5 * interval + late, base, interval, lead), start);
    CHECK_EQUAL(together_start_ticks(base + 6 * interval - lead + 1, base, interval, lead), start + interval);
}

TEST(end_lies_after_the_plan)
{
    CHECK_EQUAL(together_end_ticks(1000, 2000, 10), 1000 + 2000 + 100 + 10);
}

TEST(rank_and_size_come_together_and_make_sense)
{
    struct together_place place;

    CHECK(together_parse(NULL, NULL, &place) && place.rank == 0 && place.size == 1);
    CHECK(together_parse("0", "1", &place) && place.rank == 0 && place.size == 1);
    CHECK(together_parse("63", "64", &place) && place.rank == 63 && place.size == 64);
    CHECK(!together_parse("64", "64", &place));
    CHECK(!together_parse("1", NULL, &place));
    CHECK(!together_parse(NULL, "4", &place));
    CHECK(!together_parse("", "4", &place));
    CHECK(!together_parse("0", "0", &place));
    CHECK(!together_parse("-1", "4", &place));
    CHECK(!together_parse("1x", "4", &place));
    CHECK(!together_parse("0", "99999999999", &place));
}

TEST(time_lists_are_taken_whole_or_refused)
{
    uint64_t times[4];
    size_t count = 0;

    CHECK(!parse_time_list("1us,10us,1ms,2s", times, 4, &count));
    CHECK_EQUAL(count, 4);
    CHECK(times[0] == 1000 && times[1] == 10000 && times[2] == 1000000 && times[3] == 2000000000);
    CHECK(!parse_time_list("250", times, 4, &count) && count == 1 && times[0] == 250);
    CHECK(parse_time_list("1us,2us,3us,4us,5us", times, 4, &count));
    CHECK(parse_time_list("", times, 4, &count));
    CHECK(parse_time_list("1us,", times, 4, &count));
    CHECK(parse_time_list(",1us", times, 4, &count));
    CHECK(parse_time_list("1us,0", times, 4, &count));
    CHECK(parse_time_list("1us 2us", times, 4, &count));
    CHECK(parse_time_list("1min", times, 4, &count));
    CHECK(parse_time_list("3601s", times, 4, &count));
    CHECK(parse_time_list("99999999999999999999", times, 4, &count));
}

TEST(count_lists_keep_their_bounds)
{
    uint64_t values[3];
    size_t count = 0;

    CHECK(!parse_count_list("1,1000,5", 1, 1000, values, 3, &count));
    CHECK(count == 3 && values[0] == 1 && values[1] == 1000 && values[2] == 5);
    CHECK(parse_count_list("0", 1, 1000, values, 3, &count));
    CHECK(parse_count_list("1001", 1, 1000, values, 3, &count));
    CHECK(parse_count_list("1,2,3,4", 1, 1000, values, 3, &count));
    CHECK(parse_count_list("1,,2", 1, 1000, values, 3, &count));
    CHECK_CONTAINS(parse_count_list("x", 1, 1000, values, 3, &count), "from 1 to 1000");
}

TEST(durations_reach_thirty_days)
{
    uint64_t ns;

    CHECK(!parse_duration_ns("7200s", &ns) && ns == UINT64_C(7200000000000));
    CHECK(!parse_duration_ns("2592000s", &ns));
    CHECK(parse_duration_ns("2592001s", &ns));
    CHECK(parse_duration_ns("1us,2us", &ns));
    CHECK(parse_time_ns("3601s", &ns));
    CHECK(parse_time_ns("1us,2us", &ns));
}

int main(void)
{
    RUN(sorting_rises_and_keeps_everything);
    RUN(quantile_is_the_nearest_rank);
    RUN(above_counts_strictly);
    RUN(start_is_a_multiple_since_boot_and_far_enough_ahead);
    RUN(ranks_within_one_interval_agree);
    RUN(end_lies_after_the_plan);
    RUN(rank_and_size_come_together_and_make_sense);
    RUN(time_lists_are_taken_whole_or_refused);
    RUN(count_lists_keep_their_bounds);
    RUN(durations_reach_thirty_days);
    return check_report("apps_lib");
}
