/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fwq.c: the fixed work quantum benchmark, in LLNL's terms: a sample is the time that 2^w turns of a fixed
 * loop take. If a sample takes longer than others, the system took the difference. See Sottile and Minnich,
 * "Analysis of microbenchmarks for performance tuning of clusters", 2004.
 *
 * One clock reading ends a sample and begins the next. The time to store it belongs to the next sample, so no
 * time goes unmeasured, and the running sum of the samples is the time since the window opened.
 *
 * The same ELF file runs on Tacet and on Linux. Between the two readings of the kernel's entry counters it
 * executes only the loop, clock readings, and stores into memory that was touched before.
 *
 * The data format is the public tool's: `PREFIX_T_times.dat` with '#' lines (unless -H is given), then one
 * line per sample, its ticks.
 */
#define _GNU_SOURCE
#include "analysis.h"
#include "bench.h"
#include "cycles.h"
#include "intervals.h"
#include "memory.h"
#include "parse.h"
#include "team.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BITS_MIN        3
#define BITS_MAX        30
#define BITS_DEFAULT    18 /* about a millisecond: a turn is longer than that of the public tool */
#define SAMPLES_MAX     10000000
#define SAMPLES_DEFAULT 10000

/* Warm-up: this number of samples, or as many as fit into this time, but at least two. */
#define WARM_UP_SAMPLES 1000
#define WARM_UP_NS      100000000

/* The shortest excess that counts by default, if the clock is fine enough: far above the tens of ns by which
 * a silent processor's samples differ, far below any interrupt of a general-purpose kernel. */
#define THRESHOLD_NS_DEFAULT 100

/* Results of one CPU: samples + 1 clock readings, and the same room for the analysis. */
struct measurement {
    uint64_t *times, *scratch;
};

static struct {
    struct bench bench;
    uint64_t samples;
    uint64_t work_bits;
    uint64_t threshold_ns; /* 0: the default */
    uint64_t threshold_ticks;
    bool header_left_away;
    struct team team;
    struct measurement measurements[TEAM_MAX];
} run;

static void window_rehearse(struct team_member *member)
{
    const struct measurement *m = member->data;
    const uint64_t end_ticks = cycles_now() + bench_ticks(&run.bench, WARM_UP_NS);

    for (unsigned i = 0; i < WARM_UP_SAMPLES && (i < 2 || cycles_now() < end_ticks); i++)
        intervals_measure(m->times, 1, UINT64_C(1) << run.work_bits);
    if (member->number == run.team.members->number)
        run.team.planned_ticks = (m->times[1] - m->times[0]) * run.samples;
}

static void window_measure(struct team_member *member, uint64_t origin_ticks)
{
    const struct measurement *m = member->data;
    uint64_t now_ticks;

    operations_until(origin_ticks, &now_ticks);
    intervals_measure(m->times, (size_t)run.samples, UINT64_C(1) << run.work_bits);
}

static void help_print(void)
{
    printf(
        "usage: fwq [-n SAMPLES] [-w BITS] [-d TIME] [-o PREFIX | -s] [-H] [-t THREADS] [-c CPUS]\n"
        "           [-T TICKS] [-b TIME] [-h]\n"
        "\n"
        "Fixed work quanta: measures how long 2^BITS turns of a fixed loop (%d instructions a turn) take,\n"
        "again and again without a gap. If a sample takes longer, the system took the time: noise.\n"
        "\n"
        "  -n SAMPLES  number of samples (default %d)\n"
        "  -w BITS     turns a sample as a power of two, %d to %d (default %d)\n"
        "  -d TIME     shortest excess that counts as a detour (default %dns, or what the clock resolves)\n"
        "  -H          no '#' lines before the data\n" BENCH_HELP "\n"
        "Data: '#' lines, then the ticks of each sample, a line each; samples follow without a gap.\n"
        "Summary: 'key: value' lines on standard error.\n",
        FIXED_WORK_INSTRUCTIONS, SAMPLES_DEFAULT, BITS_MIN, BITS_MAX, BITS_DEFAULT, THRESHOLD_NS_DEFAULT,
        BENCH_HELP_VALUES(&run.bench));
}

static void options_read(int argc, char **argv)
{
    struct bench *bench = &run.bench;
    int letter;

    bench_begin(bench, "fwq", "_times.dat");
    run.samples = SAMPLES_DEFAULT;
    run.work_bits = BITS_DEFAULT;
    while ((letter = getopt(argc, argv, ":n:w:d:H" BENCH_LETTERS)) != -1) {
        switch (letter) {
        case 'n':
            bench_value_check(bench, 'n', optarg, parse_count(optarg, 1, SAMPLES_MAX, &run.samples));
            break;
        case 'w':
            bench_value_check(bench, 'w', optarg, parse_count(optarg, BITS_MIN, BITS_MAX, &run.work_bits));
            break;
        case 'd':
            bench_value_check(bench, 'd', optarg, parse_time_ns(optarg, &run.threshold_ns));
            break;
        case 'H':
            run.header_left_away = true;
            break;
        case 'h':
            help_print();
            exit(0);
        default:
            bench_option(bench, letter);
        }
    }
    bench_options_check(bench, argc, argv);
}

/* Sets the threshold; at least what the clock can resolve: four readings back to back and two steps. */
static void threshold_decide(void)
{
    const uint64_t minimum_ticks = 4 * run.bench.grain.read_ticks + 2 * run.bench.grain.step_ticks;

    run.threshold_ticks =
        bench_ticks(&run.bench, (double)(run.threshold_ns ? run.threshold_ns : THRESHOLD_NS_DEFAULT));
    if (run.threshold_ticks >= minimum_ticks)
        return;
    if (run.threshold_ns) {
        fprintf(stderr, "fwq: -d %" PRIu64 "ns: the clock cannot tell that here: give at least %.0fns\n",
                run.threshold_ns, bench_ns(&run.bench, (double)minimum_ticks) + 1);
        exit(2);
    }
    run.threshold_ticks = minimum_ticks;
}

/* Prepares memory and output files. On failure prints a message and returns false. */
static bool team_prepare(void)
{
    const size_t times_bytes = ((size_t)run.samples + 1) * sizeof *run.measurements->times;

    if (!bench_team_prepare(&run.bench, &run.team))
        return false;
    run.team.rehearse = window_rehearse;
    run.team.measure = window_measure;
    for (size_t i = 0; i < run.team.count; i++) {
        struct measurement *m = &run.measurements[i];

        run.team.members[i].data = m;
        m->times = memory_ready(times_bytes);
        m->scratch = memory_ready(times_bytes);
        if (!m->times || !m->scratch) {
            fprintf(stderr, "fwq: no memory for %" PRIu64 " samples: give fewer with -n\n", run.samples);
            return false;
        }
    }
    return true;
}

static bool data_write(struct team_member *member)
{
    const struct measurement *m = member->data;
    FILE *out = member->output;

    if (!run.header_left_away) {
        fprintf(out, "# FWQ: ticks a sample; samples follow each other without a gap\n");
        fprintf(out, "# thread %zu, core %u\n", member->number, member->cpu);
        fprintf(out, "# ticks_per_ns %.9g\n", run.bench.ticks_per_ns);
        fprintf(out, "# work_bits %" PRIu64 "\n", run.work_bits);
        fprintf(out, "# work_instructions %" PRIu64 "\n", (uint64_t)FIXED_WORK_INSTRUCTIONS << run.work_bits);
        fprintf(out, "# threshold_ticks %" PRIu64 "\n", run.threshold_ticks);
        bench_machine_print(out);
    }
    for (uint64_t i = 0; i < run.samples; i++)
        fprintf(out, "%" PRIu64 "\n", m->times[i]);
    return bench_output_end(&run.bench, member);
}

static void ticks_print(const char *key, uint64_t ticks)
{
    fprintf(stderr, "%s: %" PRIu64 " ticks (%.1f ns)\n", key, ticks, bench_ns(&run.bench, (double)ticks));
}

static void summary_print(const struct team_member *member, const struct fwq_analysis *r)
{
    const double window_ns = bench_ns(&run.bench, (double)r->total);
    FILE *out = stderr;

    bench_place_print(&run.bench, member);
    fprintf(out, "samples: %" PRIu64 "\n", run.samples);
    fprintf(out, "work_bits: %" PRIu64 "\n", run.work_bits);
    fprintf(out, "work_instructions: %" PRIu64 "\n", (uint64_t)FIXED_WORK_INSTRUCTIONS << run.work_bits);
    fprintf(out, "window: %.0f ns\n", window_ns);
    bench_clock_print(&run.bench);
    ticks_print("threshold", run.threshold_ticks);
    ticks_print("minimum", r->minimum);
    ticks_print("nominal", r->nominal);
    ticks_print("disturbed_above", r->disturbed_above);
    fprintf(out, "separable: %s\n", r->separable ? "yes" : "no");
    ticks_print("median", r->median);
    fprintf(out, "mean: %.3f ticks\n", (double)r->total / (double)run.samples);
    ticks_print("maximum", r->maximum);
    fprintf(out, "maximum_at: %" PRIu64 "\n", r->maximum_at);
    fprintf(out, "disturbed_samples: %" PRIu64 "\n", r->disturbed);
    bench_detours_print(r->disturbed);
    fprintf(out, "detours_per_second: %.6f\n", (double)r->disturbed * 1e9 / window_ns);
    fprintf(out, "noise_ratio: %.9f (disturbed samples)\n", r->noise_ratio);
    fprintf(out, "raw_ratio: %.9f (all samples)\n", r->raw_ratio);
    if (!r->separable)
        fprintf(
            out,
            "note: undisturbed samples cannot be distinguished from disturbed ones here: there is no floor; "
            "only samples that took twice as long count as disturbed, and the figures are lower "
            "bounds\n");
    bench_entries_print(member);
}

int main(int argc, char **argv)
{
    int status = 0;

    options_read(argc, argv);
    if (!bench_clock_prepare(&run.bench))
        return 1;
    threshold_decide();
    if (!team_prepare() || !team_run(&run.team))
        return 1;
    for (size_t i = 0; i < run.team.count; i++) {
        struct team_member *member = &run.team.members[i];
        const struct measurement *m = member->data;
        struct fwq_analysis result;

        intervals_from_times(m->times, (size_t)run.samples);
        if (!data_write(member))
            status = 1;
        if (fwq_analyse(m->times, (size_t)run.samples, run.threshold_ticks, m->scratch, &result)) {
            summary_print(member, &result);
        } else {
            fprintf(stderr, "fwq: CPU %u: the work is shorter than a step of the clock: give more with -w\n",
                    member->cpu);
            status = 1;
        }
    }
    return status;
}
