/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_phase_distribution.c: holds apps/phase/distribution.c to [Tsafrir05 §2-3].
 *
 * With `--analyse` it reads durations from standard input instead and prints figures as `key value` lines, so
 * that the lab's tests can compare their own with these.
 */
#include "../../apps/phase/distribution.h"

#include "check.h"
#include "order.h"

#include <math.h>

#define MOST 8192

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b));
}

TEST(second_decile_is_the_mean_between_ten_and_twenty_percent)
{
    uint64_t sorted[100];

    for (size_t i = 0; i < 100; i++)
        sorted[i] = 1000 + i;
    CHECK(near(distribution_second_decile(sorted, 100), 1014.5));
    CHECK(near(distribution_second_decile(sorted, 1), 1000));
    CHECK(near(distribution_second_decile(sorted, 5), 1000));
    CHECK(near(distribution_second_decile(sorted, 10), 1001));
    CHECK(near(distribution_second_decile(sorted, 19), 1001.5));
}

TEST(tail_and_lucky_head_do_not_move_the_second_decile)
{
    uint64_t sorted[1000];

    for (size_t i = 0; i < 1000; i++)
        sorted[i] = i < 90 ? 10 : i < 500 ? 1000 : 1000000;
    CHECK(near(distribution_second_decile(sorted, 1000), 1000));
}

TEST(equal_durations_have_exactly_their_mean)
{
    static uint64_t sorted[MOST];

    for (size_t i = 0; i < MOST; i++)
        sorted[i] = 9007199254740993 >> 3;
    CHECK(distribution_mean(sorted, MOST) == (double)sorted[0]);
    CHECK(distribution_deviation(sorted, MOST) == 0);
    CHECK(distribution_expected_longest(sorted, MOST, 1000000) == (double)sorted[0]);
}

TEST(delayed_counts_what_is_longer_than_the_undisturbed_and_the_delay)
{
    const uint64_t sorted[] = { 1000, 1000, 1009, 1010, 1011, 1100, 1101, 2000, 2001, 50000 };

    CHECK_EQUAL(distribution_delayed(sorted, 10, 0, 0), 8);
    CHECK_EQUAL(distribution_delayed(sorted, 10, 0, 0.01), 6);
    CHECK_EQUAL(distribution_delayed(sorted, 10, 0, 0.10), 4);
    CHECK_EQUAL(distribution_delayed(sorted, 10, 0, 1.00), 2);
    CHECK_EQUAL(distribution_delayed(sorted, 10, 0, 100), 0);
}

TEST(spread_of_undisturbed_phases_is_no_delay)
{
    uint64_t sorted[1001];

    /* One lucky phase, 900 that differ by up to 40 ticks by themselves, 100 that a detour hit. */
    sorted[0] = 900;
    for (size_t i = 1; i <= 900; i++)
        sorted[i] = 1000 + (i - 1) * 40 / 899;
    for (size_t i = 901; i <= 1000; i++)
        sorted[i] = 1500;
    CHECK_EQUAL(distribution_delayed(sorted, 1001, 0, 0.01), 100);
    CHECK_EQUAL(distribution_delayed(sorted, 1001, 0, 0.40), 100);
    CHECK(distribution_separable(sorted, 1001, 0));
}

TEST(what_the_machine_moves_between_phases_is_no_delay)
{
    uint64_t sorted[1000];

    /* A tenth is longer by 15, a tenth by 25; some are shorter by 15. */
    for (size_t i = 0; i < 1000; i++)
        sorted[i] = i < 40 ? 985 : i < 800 ? 1000 : i < 900 ? 1015 : 1025;
    CHECK_EQUAL(distribution_delayed(sorted, 1000, 0, 0.01), 200);
    CHECK_EQUAL(distribution_delayed(sorted, 1000, 20, 0.01), 100);
    CHECK_EQUAL(distribution_delayed(sorted, 1000, 25, 0.01), 0);
    CHECK_EQUAL(distribution_floor(sorted, 1000, 20).mode, 1000);
    CHECK_EQUAL(distribution_floor(sorted, 1000, 20).reach, 20);
}

TEST(two_speeds_are_not_separable)
{
    uint64_t sorted[1000];

    for (size_t i = 0; i < 1000; i++)
        sorted[i] = i < 100 ? 1000 + i : 2000;
    CHECK(!distribution_separable(sorted, 1000, 0));
    CHECK(distribution_separable(sorted, 1000, 999));
}

TEST(longest_of_one_node_is_the_mean)
{
    const uint64_t sorted[] = { 100, 100, 150, 200, 1000 };

    CHECK(near(distribution_expected_longest(sorted, 5, 1), 310));
    CHECK(near(distribution_expected_longest(sorted, 5, 1), distribution_mean(sorted, 5)));
}

TEST(longest_of_many_nodes_nears_the_maximum_and_no_more)
{
    const uint64_t sorted[] = { 100, 100, 150, 200, 1000 };
    double before = 0;

    for (uint64_t nodes = 1; nodes <= 1000000; nodes *= 10) {
        double now = distribution_expected_longest(sorted, 5, nodes);

        CHECK(now >= before && now <= 1000);
        before = now;
    }
    CHECK(near(before, 1000));
}

TEST(bernoulli_delays_obey_the_noise_law)
{
    /* The paper's example: 1.5 ms with p = 1/100, else 1 ms [Tsafrir05 §2.4, Eq. 1 and 5]. */
    uint64_t sorted[100];

    for (size_t i = 0; i < 100; i++)
        sorted[i] = i < 99 ? 1000 : 1500;
    for (uint64_t nodes = 1; nodes < 5000; nodes = nodes * 3 + 1) {
        double d = 1 - pow(0.99, (double)nodes);

        CHECK(near(distribution_expected_longest(sorted, 100, nodes), 1000 * (1 - d) + 1500 * d));
    }
    CHECK(fabs(distribution_expected_longest(sorted, 100, 100) / 1000 - 1.32) < 0.005);
}

TEST(longest_of_two_is_what_counting_all_pairs_gives)
{
    const uint64_t sorted[] = { 3, 3, 7, 8, 8, 8, 20 };
    double sum = 0;

    for (size_t i = 0; i < 7; i++) {
        for (size_t k = 0; k < 7; k++)
            sum += (double)(sorted[i] > sorted[k] ? sorted[i] : sorted[k]);
    }
    CHECK(near(distribution_expected_longest(sorted, 7, 2), sum / 49));
}

static int analyse_input(uint64_t threshold)
{
    static uint64_t sorted[MOST];
    size_t count = 0;

    while (count < MOST && scanf("%" SCNu64, &sorted[count]) == 1)
        count++;
    if (count == 0)
        return EXIT_FAILURE;
    order_sort(sorted, count);
    printf("mean %.17g\n", distribution_mean(sorted, count));
    printf("separable %d\n", distribution_separable(sorted, count, threshold));
    printf("delayed_1 %zu\ndelayed_10 %zu\ndelayed_100 %zu\n",
           distribution_delayed(sorted, count, threshold, 0.01),
           distribution_delayed(sorted, count, threshold, 0.10),
           distribution_delayed(sorted, count, threshold, 1.00));
    for (uint64_t nodes = 1; nodes <= 100000; nodes *= 10)
        printf("longest_%" PRIu64 " %.17g\n", nodes, distribution_expected_longest(sorted, count, nodes));
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "--analyse"))
        return analyse_input(strtoull(argv[2], NULL, 10));
    RUN(second_decile_is_the_mean_between_ten_and_twenty_percent);
    RUN(tail_and_lucky_head_do_not_move_the_second_decile);
    RUN(equal_durations_have_exactly_their_mean);
    RUN(delayed_counts_what_is_longer_than_the_undisturbed_and_the_delay);
    RUN(spread_of_undisturbed_phases_is_no_delay);
    RUN(what_the_machine_moves_between_phases_is_no_delay);
    RUN(two_speeds_are_not_separable);
    RUN(longest_of_one_node_is_the_mean);
    RUN(longest_of_many_nodes_nears_the_maximum_and_no_more);
    RUN(bernoulli_delays_obey_the_noise_law);
    RUN(longest_of_two_is_what_counting_all_pairs_gives);
    return check_report("phase_distribution");
}
