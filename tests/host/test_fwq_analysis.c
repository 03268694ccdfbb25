/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_fwq_analysis.c: holds apps/fwq/analysis.c to its stated definitions.
 *
 * With `--analyse THRESHOLD_TICKS` it reads samples from standard input instead and prints the analysis as
 * `key value` lines, so that the lab's tests can compare their own figures with these.
 */
#include "../../apps/fwq/analysis.h"

#include "check.h"

#define MOST 4096

static struct fwq_analysis analyse(const uint64_t *samples, size_t count, uint64_t threshold_ticks)
{
    static uint64_t scratch[MOST];
    struct fwq_analysis result;

    CHECK(fwq_analyse(samples, count, threshold_ticks, scratch, &result));
    return result;
}

static void fill(uint64_t *samples, size_t count, uint64_t ticks)
{
    for (size_t i = 0; i < count; i++)
        samples[i] = ticks;
}

TEST(equal_samples_are_silence)
{
    uint64_t samples[1000];
    struct fwq_analysis r;

    fill(samples, 1000, 5000);
    r = analyse(samples, 1000, 0);
    CHECK(r.minimum == 5000 && r.nominal == 5000 && r.median == 5000 && r.maximum == 5000);
    CHECK(r.disturbed == 0 && r.raw_excess == 0 && r.noise_ratio == 0 && r.raw_ratio == 0);
    CHECK_EQUAL(r.total, 5000000);
}

TEST(longer_by_more_than_the_threshold_is_disturbed)
{
    uint64_t samples[100];
    struct fwq_analysis r;

    fill(samples, 100, 1000);
    samples[10] = 1100; /* exactly the threshold: not yet */
    samples[20] = 1101;
    samples[30] = 9000;
    samples[40] = 9000;
    r = analyse(samples, 100, 100);
    CHECK_EQUAL(r.disturbed, 3);
    CHECK_EQUAL(r.disturbed_excess, 101 + 8000 + 8000);
    CHECK_EQUAL(r.raw_excess, 100 + 101 + 8000 + 8000);
    CHECK_EQUAL(r.maximum, 9000);
    CHECK_EQUAL(r.maximum_at, 30);
    CHECK(r.noise_ratio == (double)r.disturbed_excess / (double)r.total);
}

TEST(one_lucky_sample_does_not_set_the_nominal_length)
{
    uint64_t samples[1000];
    struct fwq_analysis r;

    fill(samples, 1000, 1000);
    samples[500] = 400;
    r = analyse(samples, 1000, 100);
    CHECK(r.minimum == 400 && r.nominal == 1000 && r.disturbed == 0);
}

TEST(what_undisturbed_samples_differ_by_is_no_noise)
{
    uint64_t samples[1000];
    struct fwq_analysis r;

    for (size_t i = 0; i < 1000; i++)
        samples[i] = 100000 + 2000 * (i % 10) / 10;
    for (size_t i = 0; i < 50; i++)
        samples[20 * i] += 30000;
    r = analyse(samples, 1000, 100);
    CHECK(r.separable && r.disturbed == 50);
    CHECK(r.nominal > 100300 && r.nominal < 101700 && r.disturbed_above > 1000);
    /* A threshold above that reach holds. */
    CHECK_EQUAL(analyse(samples, 1000, 40000).disturbed, 0);
}

TEST(two_speeds_have_no_floor)
{
    uint64_t samples[100];
    struct fwq_analysis r;

    fill(samples, 100, 1500);
    fill(samples, 4, 1000);
    CHECK(analyse(samples, 100, 100).separable);
    CHECK_EQUAL(analyse(samples, 100, 100).nominal, 1500);
    for (size_t i = 0; i < 30; i++)
        samples[i] = 1000 + 10 * i;
    samples[99] = 2080;
    samples[98] = 2081;
    r = analyse(samples, 100, 100);
    CHECK(!r.separable && r.nominal == 1040 && r.disturbed == 1);
    CHECK_EQUAL(r.disturbed_above, 1040);
}

TEST(one_sample_is_its_own_floor)
{
    uint64_t sample = 1000;

    CHECK_EQUAL(analyse(&sample, 1, 100).nominal, 1000);
    /* As long as no clock counts: too long for a floor. */
    sample = (uint64_t)1 << 48;
    CHECK(!analyse(&sample, 1, 100).separable);
}

TEST(nothing_to_judge_is_said)
{
    uint64_t samples[3] = { 0, 0, 0 }, scratch[3];
    struct fwq_analysis r;

    CHECK(!fwq_analyse(samples, 0, 1, scratch, &r));
    CHECK(!fwq_analyse(samples, 3, 1, scratch, &r));
}

static int analyse_input(const char *threshold)
{
    static uint64_t samples[MOST], scratch[MOST];
    struct fwq_analysis r;
    size_t count = 0;

    while (count < MOST && scanf("%" SCNu64, &samples[count]) == 1)
        count++;
    if (!fwq_analyse(samples, count, strtoull(threshold, NULL, 10), scratch, &r))
        return EXIT_FAILURE;
    printf("minimum %" PRIu64 "\nnominal %" PRIu64 "\nmedian %" PRIu64 "\nmaximum %" PRIu64 "\n", r.minimum,
           r.nominal, r.median, r.maximum);
    printf("maximum_at %" PRIu64 "\ntotal %" PRIu64 "\ndisturbed %" PRIu64 "\n", r.maximum_at, r.total,
           r.disturbed);
    printf("disturbed_excess %" PRIu64 "\nraw_excess %" PRIu64 "\n", r.disturbed_excess, r.raw_excess);
    printf("disturbed_above %" PRIu64 "\nseparable %d\n", r.disturbed_above, r.separable);
    printf("noise_ratio %.17g\nraw_ratio %.17g\n", r.noise_ratio, r.raw_ratio);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "--analyse"))
        return analyse_input(argv[2]);
    RUN(equal_samples_are_silence);
    RUN(longer_by_more_than_the_threshold_is_disturbed);
    RUN(one_lucky_sample_does_not_set_the_nominal_length);
    RUN(what_undisturbed_samples_differ_by_is_no_noise);
    RUN(two_speeds_have_no_floor);
    RUN(one_sample_is_its_own_floor);
    RUN(nothing_to_judge_is_said);
    return check_report("fwq_analysis");
}
