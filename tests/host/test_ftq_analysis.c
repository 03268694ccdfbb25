/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ftq_analysis.c: holds apps/ftq/analysis.c and the option parsers and counters of apps/lib to their
 * stated definitions [Betti09 §VI-A]. Runs on the host, with ASan and UBSan.
 *
 * With `--analyse QUANTUM_NS THRESHOLD_NS` it reads counts from standard input instead and prints the
 * analysis as `key value` lines, so that the lab's tests can compare their own figures with these.
 */
#include "analysis.h"
#include "check.h"
#include "counters.h"
#include "parse.h"
#include "tacet.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MILLISECOND_NS 1000000
#define MOST           4096

static struct ftq_analysis analyse(const uint64_t *counts, size_t samples)
{
    static uint64_t scratch[MOST];
    struct ftq_analysis result;

    CHECK(ftq_analyse(counts, samples, MILLISECOND_NS, 0, scratch, &result));
    return result;
}

static void fill(uint64_t *counts, size_t samples, uint64_t count)
{
    for (size_t i = 0; i < samples; i++)
        counts[i] = count;
}

static bool near(double a, double b)
{
    double difference = a > b ? a - b : b - a;

    return difference <= 1e-12 * (a > b ? a : b);
}

TEST(silent_core_has_no_disturbed_quantum)
{
    uint64_t counts[1000];
    struct ftq_analysis result;

    /* 40 % of the quanta are one short: the beat of grid and loop. */
    for (size_t i = 0; i < 1000; i++)
        counts[i] = i % 5 < 2 ? 15624 : 15625;
    result = analyse(counts, 1000);
    CHECK(result.nominal_count == 15625);
    CHECK(result.disturbed_quanta == 0 && result.detours == 0 && result.largest_loss == 0);
    CHECK(result.noise_ratio == 0);
    CHECK(result.one_short_quanta == 400);
    CHECK(near(result.raw_ratio, 400.0 / (15625.0 * 1000)));
    CHECK(near(result.measured_floor_ratio, result.raw_ratio));
    CHECK(result.raw_ratio <= result.floor_ratio);
    CHECK(near(result.operation_ns, 1e6 * 1000 / (15625.0 * 1000 - 400)));
}

TEST(beat_never_reaches_two_counts)
{
    /* Operations of d ticks, and o more ticks at every edge of the grid: all phases of a small model. */
    for (uint64_t d = 3; d < 40; d++) {
        for (uint64_t o = 0; o < d; o++) {
            const uint64_t quantum = 1009;
            uint64_t counts[500] = { 0 }, now = 0;
            struct ftq_analysis result;

            for (size_t i = 0; i < 500;) {
                now += d;
                if (now < (i + 1) * quantum) {
                    counts[i]++;
                    continue;
                }
                if (++i < 500)
                    counts[i]++;
                now += o;
            }
            result = analyse(counts, 500);
            CHECK(result.disturbed_quanta == 0);
        }
    }
}

TEST(one_lucky_sample_does_not_set_the_nominal_count)
{
    uint64_t counts[1000];
    struct ftq_analysis result;

    fill(counts, 1000, 15625);
    counts[0] = 15999;
    result = analyse(counts, 1000);
    CHECK(result.nominal_count == 15625 && result.maximum_count == 15999);
    CHECK(result.disturbed_quanta == 0 && result.raw_ratio == 0);
}

TEST(nominal_count_is_what_one_in_twenty_reached)
{
    uint64_t counts[100];

    fill(counts, 100, 500);
    fill(counts, 4, 501);
    CHECK(analyse(counts, 100).nominal_count == 500);
    counts[4] = 501;
    CHECK(analyse(counts, 100).nominal_count == 501);
    CHECK(analyse(counts + 4, 1).nominal_count == 501);
}

TEST(loss_of_two_disturbs_and_loss_of_one_does_not)
{
    uint64_t counts[100];
    struct ftq_analysis result;

    fill(counts, 100, 1000);
    counts[7] = 999;
    counts[20] = 998;
    counts[21] = 990;
    result = analyse(counts, 100);
    CHECK(result.disturbed_quanta == 2 && result.detours == 2);
    CHECK(result.one_short_quanta == 1);
    CHECK(result.disturbed_loss == 12 && result.raw_loss == 13);
    CHECK(result.largest_loss == 10 && result.largest_loss_at == 21);
    CHECK(near(result.noise_ratio, 12.0 / 100000));
    CHECK(near(result.detours_per_second, 20));
}

TEST(spread_of_undisturbed_quanta_is_no_loss)
{
    uint64_t counts[1000];
    struct ftq_analysis result;

    /* Undisturbed quanta differ by up to 1000 counts by themselves; each tenth lost 20 000. */
    for (size_t i = 0; i < 1000; i++)
        counts[i] = i % 10 == 3 ? 40000 : 60000 - i * 7919 % 1001;
    result = analyse(counts, 1000);
    CHECK(result.separable && result.disturbed_from > 1000);
    CHECK(result.nominal_count > 59000 && result.nominal_count <= 60000);
    CHECK(result.disturbed_quanta == 100 && result.detours == 100);
}

TEST(two_speeds_are_no_floor)
{
    uint64_t counts[1000];
    struct ftq_analysis result;

    /* One quantum in five at full speed, the others at some 60 %, each tenth hit. */
    for (size_t i = 0; i < 1000; i++)
        counts[i] = i % 10 == 3 ? 9000 : (i % 5 == 0 ? 30000 : 18000) - i * 7919 % 301;
    result = analyse(counts, 1000);
    CHECK(!result.separable);
    CHECK(result.disturbed_quanta == 100);
}

TEST(alike_quanta_keep_the_sharp_floor_whatever_share_is_disturbed)
{
    uint64_t counts[1000];

    for (size_t i = 0; i < 1000; i++)
        counts[i] = i % 10 == 0 ? 15625 : 15600 - i % 7;
    CHECK(analyse(counts, 1000).disturbed_quanta == 900);
    CHECK(analyse(counts, 1000).disturbed_from == FTQ_DISTURBED_LOSS);
}

TEST(with_a_threshold_the_median_is_nominal)
{
    static uint64_t counts[1000], scratch[1000];
    struct ftq_analysis r;

    /* Every fourth quantum holds more by a neighbour's rest; a few lost 5, a few 6 of 5859 operations. */
    for (size_t i = 0; i < 1000; i++)
        counts[i] = i % 4 ? 5859 : 5862 + i % 8;
    for (size_t i = 1; i < 200; i += 20)
        counts[i] = i % 40 == 1 ? 5854 : 5853;
    CHECK(ftq_analyse(counts, 1000, MILLISECOND_NS, 1000, scratch, &r));
    CHECK(r.nominal_count == 5859 && r.disturbed_from == 6 && r.separable);
    CHECK(r.disturbed_quanta == 5 && r.largest_loss == 6);
    CHECK(ftq_analyse(counts, 1000, MILLISECOND_NS, 1, scratch, &r));
    CHECK(r.disturbed_from == FTQ_DISTURBED_LOSS && r.disturbed_quanta == 10);
}

TEST(wholly_lost_quanta_merge_into_one_detour)
{
    uint64_t counts[100];
    struct ftq_analysis result;

    fill(counts, 100, 1000);
    counts[10] = 400;
    counts[11] = counts[12] = counts[13] = 0;
    counts[14] = 700;
    counts[15] = 990;
    result = analyse(counts, 100);
    CHECK(result.disturbed_quanta == 6 && result.lost_quanta == 3);
    CHECK(result.detours == 2);
    CHECK(result.largest_loss == 600 + 3000 + 300 && result.largest_loss_at == 10);
    CHECK(result.largest_loss_ns == 3.9 * MILLISECOND_NS);
}

TEST(loss_is_its_share_of_the_quantum)
{
    uint64_t counts[1000];
    struct ftq_analysis result;

    /* Undisturbed quanta differ, and their mean is below the mode: a quantum lost whole is a quantum all the
     * same, and the noise is no more than all losses together. */
    for (size_t i = 0; i < 1000; i++)
        counts[i] = i % 2 ? 60000 + i * 7919 % 601 : 59900 - i * 7919 % 1201;
    counts[499] = counts[501] = 60300;
    counts[500] = 0;
    result = analyse(counts, 1000);
    CHECK(result.separable && result.largest_loss_at == 500);
    CHECK(result.largest_loss_ns == MILLISECOND_NS);
    CHECK(result.operation_ns * (double)result.nominal_count > 1.001 * MILLISECOND_NS);
    CHECK(result.noise_ratio <= result.raw_ratio);
    CHECK(near(result.floor_ns, result.floor_ratio * MILLISECOND_NS));
}

TEST(floor_above_a_tenth_of_the_quantum_is_high)
{
    uint64_t counts[100];
    struct ftq_analysis result;

    fill(counts, 100, 20);
    result = analyse(counts, 100);
    CHECK(result.disturbed_from == 2 && !ftq_floor_is_high(&result));
    fill(counts, 100, 19);
    result = analyse(counts, 100);
    CHECK(ftq_floor_is_high(&result));
    result.separable = false; /* without a floor another note is due */
    CHECK(!ftq_floor_is_high(&result));
}

TEST(lost_quanta_at_the_ends_are_detours_too)
{
    uint64_t counts[100];
    struct ftq_analysis result;

    fill(counts, 100, 1000);
    counts[0] = counts[1] = 0;
    counts[2] = 999; /* the detour ended on the edge; one short is the floor */
    counts[99] = 0;
    result = analyse(counts, 100);
    CHECK(result.detours == 2 && result.disturbed_quanta == 3);
    CHECK(result.largest_loss == 2000 && result.largest_loss_at == 0);
}

TEST(nothing_to_judge_is_said)
{
    uint64_t counts[3] = { 1, 1, 1 }, scratch[3];
    struct ftq_analysis result;

    CHECK(!ftq_analyse(counts, 0, MILLISECOND_NS, 0, scratch, &result));
    CHECK(!ftq_analyse(counts, 3, 0, 0, scratch, &result));
    CHECK(!ftq_analyse(counts, 3, MILLISECOND_NS, 0, scratch, &result));
}

TEST(option_values_are_taken_whole_or_refused)
{
    static const char *bad_times[] = { "",
                                       "ms",
                                       "0",
                                       "0ms",
                                       "-1ms",
                                       "1.5ms",
                                       "1 ms",
                                       "1m",
                                       "3601s",
                                       "99999999999999999999",
                                       "18446744073709551615s" };
    static const char *bad_lists[] = {
        "", ",", "0,", "0-", "-1", "3-2", "0,0", "1-3,2", "0 1", "a", "70000"
    };
    uint64_t value = 7;
    double number = 7;
    uint32_t cpus[8];
    size_t count = 0;

    CHECK(!parse_time_ns("1ms", &value) && value == 1000000);
    CHECK(!parse_time_ns("500us", &value) && value == 500000);
    CHECK(!parse_time_ns("250000", &value) && value == 250000);
    CHECK(!parse_time_ns("12ns", &value) && value == 12);
    CHECK(!parse_time_ns("3600s", &value) && value == UINT64_C(3600000000000));
    for (size_t i = 0; i < sizeof bad_times / sizeof *bad_times; i++) {
        CHECK(parse_time_ns(bad_times[i], &value));
        CHECK(value == UINT64_C(3600000000000));
    }
    CHECK(!parse_count("12", 1, 12, &value) && value == 12);
    CHECK(parse_count("13", 1, 12, &value) && parse_count("0", 1, 12, &value) &&
          parse_count("1x", 1, 12, &value));
    CHECK(!parse_positive("2.6", 10, &number) && number == 2.6);
    CHECK(parse_positive("0", 10, &number) && parse_positive("nan", 10, &number) &&
          parse_positive("-1", 10, &number) && parse_positive("11", 10, &number) &&
          parse_positive("", 10, &number));
    CHECK(!parse_cpu_list("0,2-3", cpus, 8, &count) && count == 3);
    CHECK(cpus[0] == 0 && cpus[1] == 2 && cpus[2] == 3);
    CHECK(!parse_cpu_list("5,1", cpus, 8, &count) && count == 2 && cpus[0] == 5 && cpus[1] == 1);
    CHECK(parse_cpu_list("0-8", cpus, 8, &count));
    for (size_t i = 0; i < sizeof bad_lists / sizeof *bad_lists; i++)
        CHECK(parse_cpu_list(bad_lists[i], cpus, 8, &count));
}

TEST(interrupts_are_counted_in_this_cpus_column)
{
    static const char before_text[] = "           CPU0       CPU2       \n"
                                      "  1:          9          4   IO-APIC   1-edge      i8042\n"
                                      "LOC:        100        200   Local timer interrupts\n"
                                      "ERR:          3\n";
    static const char after_text[] = "           CPU0       CPU2       \n"
                                     "  1:          9          5   IO-APIC   1-edge      i8042\n"
                                     "NMI:          0          7   Non-maskable interrupts\n"
                                     "LOC:        100        450   Local timer interrupts\n"
                                     "ERR:          4\n";
    static struct counters_snapshot before, after;
    char *text = NULL;
    size_t length = 0;
    FILE *out;

    counters_parse_interrupts(&before, 2, before_text);
    counters_parse_interrupts(&after, 2, after_text);
    CHECK(before.source == COUNTERS_PROC_INTERRUPTS && before.row_count == 2);
    CHECK(counters_difference(&before, &after) == 1 + 7 + 250);
    out = open_memstream(&text, &length);
    counters_print(out, &before, &after);
    fclose(out);
    CHECK(strstr(text, "kernel_entries: 258\n"));
    CHECK(strstr(text, "kernel_entries_LOC: 250 (Local timer interrupts)\n"));
    CHECK(strstr(text, "kernel_entries_1: 1 (IO-APIC 1-edge i8042)\n"));
    free(text);

    counters_parse_interrupts(&after, 1, after_text);
    CHECK(after.source == COUNTERS_NONE);
    out = open_memstream(&text, &length);
    counters_print(out, &before, &after);
    fclose(out);
    CHECK(!strcmp(text, "kernel_entries: not available\n"));
    free(text);

    counters_parse_interrupts(&after, 0, "");
    CHECK(after.source == COUNTERS_NONE);
    counters_parse_interrupts(&after, 0, "CPU0\n:::\nLOC\nLOC: \nLOC: x\nLOC:99999999999999999999999999");
    CHECK(after.row_count == 1);
}

TEST(rows_of_one_name_are_told_apart)
{
    /* POWER's two kinds of timer interrupts. */
    static const char before_text[] = "           CPU0\n"
                                      "LOC:        100   for timer event device\n"
                                      "LOC:         40   for others\n";
    static const char after_text[] = "           CPU0\n"
                                     "LOC:        350   for timer event device\n"
                                     "LOC:         41   for others\n";
    static struct counters_snapshot before, after;
    char *text = NULL;
    size_t length = 0;
    FILE *out;

    counters_parse_interrupts(&before, 0, before_text);
    counters_parse_interrupts(&after, 0, after_text);
    CHECK(counters_difference(&before, &after) == 250 + 1);
    out = open_memstream(&text, &length);
    counters_print(out, &before, &after);
    fclose(out);
    CHECK(strstr(text, "kernel_entries_LOC: 250 (for timer event device)\n"));
    CHECK(strstr(text, "kernel_entries_LOC_1: 1 (for others)\n"));
    free(text);
}

#define FAKE_PAGE 4096

/* A Tacet node of two CPUs, as the kernel maps it; there is one while `node_present`. */
static struct {
    _Alignas(FAKE_PAGE) struct tacet_node node;
    struct {
        _Alignas(FAKE_PAGE) struct tacet_counters counters;
    } cpus[2];
} fake_node;
static bool node_present;

/* Stands before the C library's function of this name. */
unsigned long getauxval(unsigned long type)
{
    if (type == AT_PAGESZ)
        return FAKE_PAGE;
    return type == AT_TACET_NODE && node_present ? (unsigned long)&fake_node : 0;
}

TEST(tacet_counters_are_differenced_by_cause)
{
    static struct counters_snapshot before, after;
    struct tacet_counters *counters = &fake_node.cpus[1].counters;
    char *text = NULL;
    size_t length = 0;
    FILE *out;

    node_present = true;
    fake_node.node.layout = TACET_LAYOUT;
    fake_node.node.cpu_count = 2;
    counters->system_calls = 100;
    counters->exceptions[14] = 3;
    counters_read(&before, 1);
    CHECK(before.source == COUNTERS_TACET);
    counters_read(&after, 1);
    CHECK(counters_difference(&before, &after) == 0);
    counters->system_calls += 2;
    counters->exceptions[14] += 1;
    counters->interrupts[255] += 4;
    fake_node.cpus[0].counters.system_calls += 50; /* the neighbour's */
    counters_read(&after, 1);
    CHECK(counters_difference(&before, &after) == 7);
    out = open_memstream(&text, &length);
    counters_print(out, &before, &after);
    fclose(out);
    CHECK_CONTAINS(text, "kernel_entries: 7\n");
    CHECK_CONTAINS(text, "kernel_entries_system_call: 2\n");
    CHECK_CONTAINS(text, "kernel_entries_exception_14: 1\n");
    CHECK_CONTAINS(text, "kernel_entries_interrupt_255: 4\n");
    free(text);
    counters_read(&after, 2);
    CHECK(after.source ==
          COUNTERS_NONE); /* no such CPU; and a Tacet node has no /proc/interrupts to turn to */
    node_present = false;
}

/* Analyses standard input: the other use of this program, for the lab's tests. */
static int analyse_standard_input(uint64_t quantum_ns, uint64_t threshold_ns)
{
    static uint64_t counts[1 << 20], scratch[1 << 20];
    struct ftq_analysis r;
    size_t samples = 0;

    while (samples < sizeof counts / sizeof *counts && scanf("%" SCNu64, &counts[samples]) == 1)
        samples++;
    if (!ftq_analyse(counts, samples, quantum_ns, threshold_ns, scratch, &r))
        return 1;
    printf("nominal_count %" PRIu64 "\nmaximum_count %" PRIu64 "\ntotal_count %" PRIu64 "\n", r.nominal_count,
           r.maximum_count, r.total_count);
    printf("disturbed_from %" PRIu64 "\nseparable %d\nfloor_is_high %d\n", r.disturbed_from, r.separable,
           ftq_floor_is_high(&r));
    printf("one_short_quanta %" PRIu64 "\ndisturbed_quanta %" PRIu64 "\nlost_quanta %" PRIu64 "\n",
           r.one_short_quanta, r.disturbed_quanta, r.lost_quanta);
    printf("detours %" PRIu64 "\ndisturbed_loss %" PRIu64 "\nraw_loss %" PRIu64 "\n", r.detours,
           r.disturbed_loss, r.raw_loss);
    printf("largest_loss %" PRIu64 "\nlargest_loss_at %" PRIu64 "\n", r.largest_loss, r.largest_loss_at);
    printf("operation_ns %.17g\nlargest_loss_ns %.17g\ndetours_per_second %.17g\n", r.operation_ns,
           r.largest_loss_ns, r.detours_per_second);
    printf(
        "noise_ratio %.17g\nraw_ratio %.17g\nfloor_ns %.17g\nfloor_ratio %.17g\nmeasured_floor_ratio %.17g\n",
        r.noise_ratio, r.raw_ratio, r.floor_ns, r.floor_ratio, r.measured_floor_ratio);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "--analyse"))
        return analyse_standard_input(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));

    RUN(silent_core_has_no_disturbed_quantum);
    RUN(beat_never_reaches_two_counts);
    RUN(one_lucky_sample_does_not_set_the_nominal_count);
    RUN(nominal_count_is_what_one_in_twenty_reached);
    RUN(loss_of_two_disturbs_and_loss_of_one_does_not);
    RUN(spread_of_undisturbed_quanta_is_no_loss);
    RUN(two_speeds_are_no_floor);
    RUN(alike_quanta_keep_the_sharp_floor_whatever_share_is_disturbed);
    RUN(with_a_threshold_the_median_is_nominal);
    RUN(wholly_lost_quanta_merge_into_one_detour);
    RUN(loss_is_its_share_of_the_quantum);
    RUN(floor_above_a_tenth_of_the_quantum_is_high);
    RUN(lost_quanta_at_the_ends_are_detours_too);
    RUN(nothing_to_judge_is_said);
    RUN(option_values_are_taken_whole_or_refused);
    RUN(interrupts_are_counted_in_this_cpus_column);
    RUN(rows_of_one_name_are_told_apart);
    RUN(tacet_counters_are_differenced_by_cause);
    return check_report("ftq_analysis");
}
