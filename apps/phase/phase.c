/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * phase.c: the micro benchmark of [Tsafrir05 §3.1]. A computation phase is an empty loop, calibrated to last
 * a grain. Very many phases run one after the other; their real durations give the distribution D. From D
 * follow p, the probability that a phase is delayed, and the slowdown of a job of n nodes, because a phase of
 * the job lasts as long as the longest phase of its nodes [Tsafrir05 §2.4].
 *
 * Calibration is the paper's: runs of a loop of fixed length are timed, sorted, and averaged over the second
 * decile. The same with loops of one turn gives a phase's cost outside its loop. A phase is a whole number of
 * turns, so it lasts only nearly the grain; its calibrated length is the G of E(Y)/G. The calibration's loops
 * are short, so most of them escape the noise. So G is the noiseless length of a phase even if every phase of
 * that grain suffers noise, which the shortest of D would hide.
 *
 * One clock reading ends a phase and begins the next, so no time goes unmeasured. The readings go into an
 * array that was touched before; its size is bounded, whatever the grain. The same ELF file runs on Tacet and
 * on Linux.
 *
 * Data: for each grain '#' lines, then a line `ticks<TAB>phases` for each duration that occurred, rising: the
 * whole empirical distribution.
 */
#define _GNU_SOURCE
#include "bench.h"
#include "cycles.h"
#include "distribution.h"
#include "intervals.h"
#include "memory.h"
#include "order.h"
#include "parse.h"
#include "team.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GRAINS_MAX       32
#define NODES_MAX        32
#define PHASES_MAX       10000000
#define PHASES_DEFAULT   1000000               /* the paper's */
#define LIMIT_NS_DEFAULT UINT64_C(10000000000) /* a grain */
#define GRAIN_NS_MIN     UINT64_C(100)
#define GRAIN_NS_MAX     UINT64_C(100000000000)

/* The calibration's loop, in turns, and how often it runs: a thousandth of the paper's, which lasts a
 * minute. */
#define BASE_ITERATIONS 2000
#define BASE_RUNS       2000

/* Results of one CPU: phases + 1 clock readings. */
struct measurement {
    uint64_t *times;
};

static struct {
    struct bench bench;
    uint64_t grains_ns[GRAINS_MAX];
    size_t grain_count;
    uint64_t nodes[NODES_MAX];
    size_t node_count;
    uint64_t phases_max;
    uint64_t limit_ns;     /* time limit for one grain */
    uint64_t threshold_ns; /* time that the machine itself moves between phases */
    uint64_t threshold_ticks;
    /* The grain that runs. */
    struct grain {
        uint64_t ns; /* as requested */
        uint64_t iterations, phases;
        double calibrated_ticks; /* length of a phase without noise */
    } grain;
    struct team team;
    struct measurement measurements[TEAM_MAX];
} run;

/* Returns the second decile's mean of durations of a phase of `iterations`, in ticks. */
static double phase_ticks_calibrate(uint64_t *scratch, uint64_t iterations)
{
    intervals_measure(scratch, BASE_RUNS, iterations);
    intervals_from_times(scratch, BASE_RUNS);
    order_sort(scratch, BASE_RUNS);
    return distribution_second_decile(scratch, BASE_RUNS);
}

/* Returns how many phases of a grain to run: those that fit into the limits, at least one. */
static uint64_t phases_of(uint64_t grain_ns)
{
    uint64_t fitting = run.limit_ns / grain_ns;

    fitting = fitting ? fitting : 1;
    return fitting < run.phases_max ? fitting : run.phases_max;
}

/* Calibrates the turns of a phase of each grain. If a grain is shorter than a phase of one turn, prints a
 * message and returns false. */
static bool grains_calibrate(struct grain *grains)
{
    static uint64_t scratch[BASE_RUNS + 1];
    double base_ticks, empty_ticks, turn_ticks;

    phase_ticks_calibrate(scratch, 1); /* warms up */
    empty_ticks = phase_ticks_calibrate(scratch, 1);
    base_ticks = phase_ticks_calibrate(scratch, BASE_ITERATIONS + 1);
    turn_ticks = (base_ticks - empty_ticks) / BASE_ITERATIONS;
    if (!(turn_ticks > 0)) {
        fprintf(stderr, "phase: the clock did not advance during the calibration\n");
        return false;
    }
    for (size_t i = 0; i < run.grain_count; i++) {
        double grain_ticks = (double)run.grains_ns[i] * run.bench.ticks_per_ns;

        if (grain_ticks < empty_ticks + turn_ticks) {
            fprintf(stderr,
                    "phase: -g: %" PRIu64 " ns: an empty phase lasts %.0f ns here: give at least %.0fns\n",
                    run.grains_ns[i], bench_ns(&run.bench, empty_ticks),
                    ceil(bench_ns(&run.bench, empty_ticks + turn_ticks)));
            return false;
        }
        grains[i].ns = run.grains_ns[i];
        grains[i].iterations = 1 + (uint64_t)llround((grain_ticks - empty_ticks) / turn_ticks);
        grains[i].phases = phases_of(run.grains_ns[i]);
        grains[i].calibrated_ticks = empty_ticks + (double)(grains[i].iterations - 1) * turn_ticks;
    }
    return true;
}

static void window_rehearse(struct team_member *member)
{
    const struct measurement *m = member->data;

    intervals_measure(m->times, run.grain.phases < 16 ? (size_t)run.grain.phases : 16, 1);
}

static void window_measure(struct team_member *member, uint64_t origin_ticks)
{
    const struct measurement *m = member->data;
    uint64_t now_ticks;

    operations_until(origin_ticks, &now_ticks);
    intervals_measure(m->times, (size_t)run.grain.phases, run.grain.iterations);
}

static void help_print(void)
{
    printf(
        "usage: phase [-g GRAINS] [-n PHASES] [-l TIME] [-N NODES] [-o PREFIX | -s] [-t THREADS] [-c CPUS]\n"
        "             [-T TICKS] [-b TIME] [-d TIME] [-h]\n"
        "\n"
        "Computation phases: runs phases calibrated to last a grain, and shows how long they really took:\n"
        "the distribution D, the probability p of a delay, and the slowdown of n nodes [Tsafrir05 §2-3].\n"
        "\n"
        "  -g GRAINS   grains with commas (default 1us,10us,100us,1ms,10ms,100ms)\n"
        "  -n PHASES   most phases to run for each grain (default %d)\n"
        "  -l TIME     longest time to run each grain (default 10s)\n"
        "  -d TIME     shortest delay that counts, for machines that themselves move time between phases\n"
        "              (default: the spread of undisturbed phases)\n"
        "  -N NODES    numbers of nodes with commas (default 1,10,100,1000,10000,100000)\n" BENCH_HELP "\n"
        "Data: for each grain '#' lines, then 'ticks phases' for each duration that occurred.\n"
        "Summary: 'key: value' lines on standard error, a block a grain.\n",
        PHASES_DEFAULT, BENCH_HELP_VALUES(&run.bench));
}

static void grains_check(const char *text)
{
    for (size_t i = 0; i < run.grain_count; i++) {
        if (run.grains_ns[i] < GRAIN_NS_MIN || run.grains_ns[i] > GRAIN_NS_MAX)
            bench_value_check(&run.bench, 'g', text, "give grains from 100ns to 100s");
        if (i && run.grains_ns[i] <= run.grains_ns[i - 1])
            bench_value_check(&run.bench, 'g', text, "give rising grains, each once");
    }
}

static void options_read(int argc, char **argv)
{
    struct bench *bench = &run.bench;
    const char *grains = "1us,10us,100us,1ms,10ms,100ms", *nodes = "1,10,100,1000,10000,100000";
    int letter;

    bench_begin(bench, "phase", ".dat");
    run.phases_max = PHASES_DEFAULT;
    run.limit_ns = LIMIT_NS_DEFAULT;
    while ((letter = getopt(argc, argv, ":g:n:l:d:N:" BENCH_LETTERS)) != -1) {
        switch (letter) {
        case 'g':
            grains = optarg;
            break;
        case 'n':
            bench_value_check(bench, 'n', optarg, parse_count(optarg, 1, PHASES_MAX, &run.phases_max));
            break;
        case 'l':
            bench_value_check(bench, 'l', optarg, parse_duration_ns(optarg, &run.limit_ns));
            break;
        case 'd':
            bench_value_check(bench, 'd', optarg, parse_time_ns(optarg, &run.threshold_ns));
            break;
        case 'N':
            nodes = optarg;
            break;
        case 'h':
            help_print();
            exit(0);
        default:
            bench_option(bench, letter);
        }
    }
    bench_options_check(bench, argc, argv);
    bench_value_check(bench, 'g', grains,
                      parse_time_list(grains, run.grains_ns, GRAINS_MAX, &run.grain_count));
    grains_check(grains);
    bench_value_check(bench, 'N', nodes,
                      parse_count_list(nodes, 1, 1000000000, run.nodes, NODES_MAX, &run.node_count));
}

/* Prepares memory and output files. On failure prints a message and returns false. */
static bool team_prepare(void)
{
    uint64_t maximum = 16;

    if (!bench_team_prepare(&run.bench, &run.team))
        return false;
    run.team.rehearse = window_rehearse;
    run.team.measure = window_measure;
    for (size_t i = 0; i < run.grain_count; i++)
        maximum = phases_of(run.grains_ns[i]) > maximum ? phases_of(run.grains_ns[i]) : maximum;
    for (size_t i = 0; i < run.team.count; i++) {
        struct measurement *m = &run.measurements[i];

        run.team.members[i].data = m;
        m->times = memory_ready(((size_t)maximum + 1) * sizeof *m->times);
        if (!m->times) {
            fprintf(stderr, "phase: no memory for %" PRIu64 " phases: give fewer with -n\n", maximum);
            return false;
        }
    }
    return true;
}

static void data_write(const struct team_member *member)
{
    const struct measurement *m = member->data;
    FILE *out = member->output;

    fprintf(out, "# Phase durations\n");
    fprintf(out, "# thread %zu, core %u\n", member->number, member->cpu);
    fprintf(out, "# grain_ns %" PRIu64 "\n", run.grain.ns);
    fprintf(out, "# calibrated_ns %.3f\n", bench_ns(&run.bench, run.grain.calibrated_ticks));
    fprintf(out, "# iterations %" PRIu64 "\n", run.grain.iterations);
    fprintf(out, "# phases %" PRIu64 "\n", run.grain.phases);
    fprintf(out, "# ticks_per_ns %.9g\n", run.bench.ticks_per_ns);
    if (run.threshold_ticks)
        fprintf(out, "# threshold_ticks %" PRIu64 "\n", run.threshold_ticks);
    fprintf(out, "# ticks\tphases\n");
    for (uint64_t i = 0, next; i < run.grain.phases; i = next) {
        for (next = i + 1; next < run.grain.phases && m->times[next] == m->times[i];)
            next++;
        fprintf(out, "%" PRIu64 "\t%" PRIu64 "\n", m->times[i], next - i);
    }
}

static void ticks_print(const char *key, double ticks)
{
    fprintf(stderr, "%s: %.1f ns\n", key, bench_ns(&run.bench, ticks));
}

static void delays_print(const uint64_t *sorted)
{
    static const unsigned percents[] = { 1, 10, 100 };

    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++) {
        size_t delayed =
            distribution_delayed(sorted, (size_t)run.grain.phases, run.threshold_ticks, percents[i] / 100.0);

        fprintf(stderr, "p_%u_percent: %.9f (%zu of %" PRIu64 " phases)\n", percents[i],
                (double)delayed / (double)run.grain.phases, delayed, run.grain.phases);
    }
    if (!distribution_separable(sorted, (size_t)run.grain.phases, run.threshold_ticks))
        fprintf(stderr,
                "note: undisturbed phases cannot be distinguished from delayed ones here: p means little\n");
    if ((double)run.bench.grain.step_ticks >= 0.01 * (double)sorted[0])
        fprintf(stderr,
                "note: the clock's step is at least 1 %% of this grain: it distorts p at +1 %%\n");
}

/* Prints the figures of one CPU and one grain; lab/phase.py reads them. */
static void summary_print(const struct team_member *member)
{
    struct order_floor floor;
    double
        noiseless_ticks; /* G; if the machine moves time, the calibration's short runs have gained some */
    const uint64_t *sorted = ((const struct measurement *)member->data)->times;
    const size_t count = (size_t)run.grain.phases;
    FILE *out = stderr;

    fprintf(out, "grain: %" PRIu64 " ns\n", run.grain.ns);
    bench_place_print(&run.bench, member);
    fprintf(out, "iterations: %" PRIu64 "\n", run.grain.iterations);
    fprintf(out, "phases: %" PRIu64 "\n", run.grain.phases);
    fprintf(out, "window: %.0f ns\n",
            bench_ns(&run.bench, distribution_mean(sorted, count) * (double)run.grain.phases));
    bench_clock_print(&run.bench);
    ticks_print("calibrated", run.grain.calibrated_ticks);
    ticks_print("minimum", (double)sorted[0]);
    floor = distribution_floor(sorted, count, run.threshold_ticks);
    ticks_print("undisturbed", (double)floor.mode);
    ticks_print("reach", (double)floor.reach);
    ticks_print("second_decile", distribution_second_decile(sorted, count));
    ticks_print("median", (double)order_quantile(sorted, count, 500000));
    ticks_print("mean", distribution_mean(sorted, count));
    ticks_print("deviation", distribution_deviation(sorted, count));
    ticks_print("maximum", (double)sorted[count - 1]);
    delays_print(sorted);
    noiseless_ticks = run.threshold_ticks ? (double)floor.mode : run.grain.calibrated_ticks;
    for (size_t i = 0; i < run.node_count; i++) {
        double expected = distribution_expected_longest(sorted, count, run.nodes[i]);

        fprintf(out, "slowdown_%" PRIu64 "_nodes: %.6f (E(Y) %.1f ns)\n", run.nodes[i],
                expected / noiseless_ticks, bench_ns(&run.bench, expected));
    }
    bench_entries_print(member);
}

int main(int argc, char **argv)
{
    static struct grain grains[GRAINS_MAX];
    int status = 0;

    options_read(argc, argv);
    if (!bench_clock_prepare(&run.bench))
        return 1;
    run.threshold_ticks = bench_ticks(&run.bench, (double)run.threshold_ns);
    if (!grains_calibrate(grains))
        return 2;
    if (!team_prepare())
        return 1;
    for (size_t i = 0; i < run.grain_count; i++) {
        run.grain = grains[i];
        run.team.planned_ticks = (uint64_t)(run.grain.calibrated_ticks * (double)run.grain.phases);
        if (!team_run(&run.team))
            return 1;
        for (size_t k = 0; k < run.team.count; k++) {
            struct team_member *member = &run.team.members[k];
            struct measurement *m = member->data;

            intervals_from_times(m->times, (size_t)run.grain.phases);
            order_sort(m->times, (size_t)run.grain.phases);
            data_write(member);
            summary_print(member);
        }
    }
    for (size_t i = 0; i < run.team.count; i++) {
        if (!bench_output_end(&run.bench, &run.team.members[i]))
            status = 1;
    }
    return status;
}
