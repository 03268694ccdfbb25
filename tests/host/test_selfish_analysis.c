/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_selfish_analysis.c: holds apps/selfish/analysis.c to its stated definitions.
 */
#include "../../apps/selfish/analysis.h"

#include "check.h"

TEST(no_detour_is_all_zero)
{
    struct selfish_analysis r;

    selfish_analyse(NULL, 0, &r);
    CHECK(r.minimum == 0 && r.maximum == 0 && r.mean == 0 && r.quantiles[0] == 0);
}

TEST(quantiles_are_of_the_detours)
{
    static uint64_t lengths[100000];
    struct selfish_analysis r;

    for (size_t i = 0; i < 100000; i++)
        lengths[i] = 100000 - i;
    selfish_analyse(lengths, 100000, &r);
    CHECK(r.minimum == 1 && r.maximum == 100000 && r.mean == 50000.5);
    CHECK_EQUAL(r.quantiles[0], 50000);
    CHECK_EQUAL(r.quantiles[1], 90000);
    CHECK_EQUAL(r.quantiles[2], 99000);
    CHECK_EQUAL(r.quantiles[3], 99900);
    CHECK_EQUAL(r.quantiles[4], 99990);
    CHECK_EQUAL(r.quantiles[5], 99999);
}

TEST(threshold_is_absolute_where_the_clock_is_fine)
{
    /* 100 ns at 2.6 GHz, a loop of 24 ticks, a clock that steps by one. */
    CHECK_EQUAL(selfish_threshold_ticks(260, 24, 1), 260);
    CHECK_EQUAL(selfish_threshold_ticks(5000, 24, 1), 5000);
}

TEST(threshold_stands_above_the_steps_of_a_coarse_clock)
{
    /* Steps of 10 ns: reads of an undisturbed loop lie one step apart, now and then two. */
    const uint64_t threshold = selfish_threshold_ticks(30, 26, 26);

    CHECK_EQUAL(threshold, 26 + 4 * 26);
    CHECK(threshold > 2 * 26);
    CHECK_EQUAL(selfish_threshold_ticks(260, 26, 26), 260);
}

TEST(threshold_grows_with_the_length_of_an_instruction)
{
    for (unsigned shift = 2; shift <= 10; shift++) {
        const uint64_t loop = UINT64_C(11) << shift, step = UINT64_C(3) << shift;

        const uint64_t entry = UINT64_C(63) << shift; /* shortest kernel entry */

        CHECK_EQUAL(selfish_threshold_ticks(1, (double)loop, step), UINT64_C(44) << shift);
        CHECK(selfish_threshold_ticks(1, (double)loop, step) < loop + entry);
    }
}

int main(void)
{
    RUN(no_detour_is_all_zero);
    RUN(quantiles_are_of_the_detours);
    RUN(threshold_is_absolute_where_the_clock_is_fine);
    RUN(threshold_stands_above_the_steps_of_a_coarse_clock);
    RUN(threshold_grows_with_the_length_of_an_instruction);
    return check_report("selfish_analysis");
}
