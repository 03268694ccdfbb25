/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ftq.c: the fixed time quantum benchmark, after the description in [Betti09 §VI-A] and Sottile and Minnich,
 * "Analysis of microbenchmarks for performance tuning of clusters", 2004. Time is cut into quanta on an
 * absolute grid. Each basic operation counts for the quantum in which it finished. The system took the time
 * of operations that are missing in a quantum.
 *
 * The same ELF file runs on Tacet and on Linux. With one CPU it starts no thread and takes no signal. Between
 * the two readings of the kernel's entry counters it executes only operations, and stores into memory that
 * was touched before (and locked if possible). With several CPUs one pinned thread runs on each, on one
 * common grid; they begin and end together.
 *
 * The data format is the public tool's: `PREFIX_T.dat` with `#` lines, then `ns count`. A quantum that was
 * lost whole is there with count 0.
 */
#define _GNU_SOURCE
#include "analysis.h"
#include "bench.h"
#include "calibrate.h"
#include "cycles.h"
#include "memory.h"
#include "options.h"
#include "team.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The shortfall ratio from which on the summary has a note: well above the floor of a 1 ms quantum. */
#define SHORTFALL_NOTED 0.0005

/* Results of one CPU: one count a quantum, and room for the analysis. */
struct measurement {
    uint64_t *counts, *scratch;
};

/* Shared by all CPUs. Written before the windows open. */
static struct {
    struct ftq_options options;
    double operation_ticks;
    uint64_t quantum_ticks;
    struct team team;
    struct measurement measurements[TEAM_MAX];
} run;

/*
 * Fills `counts` from the origin of the grid on. An operation that passes the end of a quantum finishes in a
 * later quantum and counts there; quanta that it skips stay 0.
 */
__attribute__((noinline)) static void grid_measure(uint64_t *counts, size_t samples, uint64_t origin_ticks,
                                                   uint64_t quantum_ticks)
{
    uint64_t end_ticks = origin_ticks + quantum_ticks, now_ticks;
    size_t i = 0;

    operations_until(origin_ticks, &now_ticks);
    for (;;) {
        while (now_ticks >= end_ticks) {
            if (++i == samples)
                return;
            end_ticks += quantum_ticks;
        }
        /* Of these the last finishes in a later quantum; instead, the last of the quantum before counts. */
        counts[i] = operations_until(end_ticks, &now_ticks);
    }
}

/* Rehearses before the window. */
static void window_rehearse(struct team_member *member)
{
    const struct measurement *m = member->data;
    size_t samples = run.options.samples < 16 ? run.options.samples : 16;

    grid_measure(m->counts, samples, cycles_now(), (uint64_t)(run.operation_ticks * 20) + 1);
    memset(m->counts, 0, samples * sizeof *m->counts);
}

/* Runs the measuring window of one CPU. */
static void window_measure(struct team_member *member, uint64_t origin_ticks)
{
    const struct measurement *m = member->data;

    grid_measure(m->counts, run.options.samples, origin_ticks, run.quantum_ticks);
}

/* Prepares memory and output files. On failure prints a message and returns false. */
static bool team_prepare(void)
{
    const size_t counts_bytes = (size_t)run.options.samples * sizeof *run.measurements->counts;

    if (!bench_team_prepare(&run.options.bench, &run.team))
        return false;
    run.team.rehearse = window_rehearse;
    run.team.measure = window_measure;
    run.team.planned_ticks = run.options.samples * run.quantum_ticks;
    for (size_t i = 0; i < run.team.count; i++) {
        struct measurement *m = &run.measurements[i];

        run.team.members[i].data = m;
        m->counts = memory_ready(counts_bytes);
        m->scratch = memory_ready(counts_bytes);
        if (!m->counts || !m->scratch) {
            fprintf(stderr, "ftq: no memory for %" PRIu64 " samples: give fewer with -n\n",
                    run.options.samples);
            return false;
        }
    }
    return true;
}

/* Writes the data of one CPU in the public tool's format. On failure prints a message and returns false. */
static bool data_write(struct team_member *member, const struct ftq_analysis *result)
{
    const double work_max = (double)result->maximum_count * (double)run.options.samples;
    const struct measurement *m = member->data;
    FILE *out = member->output;

    fprintf(out, "# Frequency %.9g\n", 1e9 / (double)run.options.quantum_ns);
    fprintf(out, "# Ticks per ns: %.9g\n", run.options.bench.ticks_per_ns);
    fprintf(out, "# Octave: x = load('ftq_0.dat'); stem(x(:,1) / 1e9, max(x(:,2)) - x(:,2))\n");
    fprintf(out, "# thread %zu, core %u\n", member->number, member->cpu);
    fprintf(out, "# Total count is %" PRIu64 "\n", result->total_count);
    fprintf(out, "# Max possible work is %.0f\n", work_max);
    fprintf(out, "# Fraction is %.9g\n", work_max > 0 ? (double)result->total_count / work_max : 0);
    fprintf(out, "# quantum_ns %" PRIu64 "\n", run.options.quantum_ns);
    fprintf(out, "# operation_instructions %d\n", OPERATION_INSTRUCTIONS);
    if (run.options.threshold_ns)
        fprintf(out, "# threshold_ns %" PRIu64 "\n", run.options.threshold_ns);
    bench_machine_print(out);
    for (uint64_t i = 0; i < run.options.samples; i++)
        fprintf(out, "%" PRIu64 " %" PRIu64 "\n", i * run.options.quantum_ns, m->counts[i]);
    return bench_output_end(&run.options.bench, member);
}

static const char *nominal_kind(const struct ftq_analysis *r)
{
    if (run.options.threshold_ns)
        return "half of the quanta reached it";
    if (r->disturbed_from == FTQ_DISTURBED_LOSS || !r->separable)
        return "one quantum in 20 reached it";
    return "the mode";
}

/* Returns a name for the quanta that reached the nominal count. */
static const char *nominal_quanta(void)
{
    return run.options.threshold_ns ? "better half of the" : "best";
}

/* Returns whether the quanta lack more than the floor, and more than the calibration's short runs may have
 * gained: the machine may move both their beginning and their end by up to the threshold. */
static bool shortfall_noted(double ratio)
{
    const double run_ns = CALIBRATE_OPERATIONS * bench_ns(&run.options.bench, run.operation_ticks);

    return ratio > SHORTFALL_NOTED && ratio * run_ns > 2 * (double)run.options.threshold_ns;
}

/* Prints the figures of one CPU as lines `key: value unit`; lab/ftq.py reads them. */
static void summary_print(const struct team_member *member, const struct ftq_analysis *r)
{
    const double capacity = (double)run.quantum_ticks / run.operation_ticks;
    const double shortfall = 1 - ((double)r->nominal_count + 1) / capacity;
    FILE *out = stderr;

    bench_place_print(&run.options.bench, member);
    fprintf(out, "samples: %" PRIu64 "\n", run.options.samples);
    fprintf(out, "quantum: %" PRIu64 " ns\n", run.options.quantum_ns);
    fprintf(out, "operation_instructions: %d\n", OPERATION_INSTRUCTIONS);
    fprintf(out, "operation: %.3f ns (mean of undisturbed quanta)\n", r->operation_ns);
    fprintf(out, "operation_minimum: %.3f ns (calibrated)\n",
            run.operation_ticks / run.options.bench.ticks_per_ns);
    bench_clock_print(&run.options.bench);
    fprintf(out, "nominal_count: %" PRIu64 " operations (%s)\n", r->nominal_count, nominal_kind(r));
    fprintf(out, "disturbed_from: %" PRIu64 " operations lost\n", r->disturbed_from);
    fprintf(out, "separable: %s\n", r->separable ? "yes" : "no");
    fprintf(out, "maximum_count: %" PRIu64 " operations\n", r->maximum_count);
    fprintf(out, "quantisation_floor: %.3f ns (one operation a quantum; no noise)\n", r->floor_ns);
    fprintf(out, "quantisation_floor_ratio: %.9f (at most)\n", r->floor_ratio);
    fprintf(out, "quantisation_floor_measured: %.9f (quanta one count short: %" PRIu64 ")\n",
            r->measured_floor_ratio, r->one_short_quanta);
    fprintf(out, "disturbed_quanta: %" PRIu64 " (lost at least that)\n", r->disturbed_quanta);
    fprintf(out, "lost_quanta: %" PRIu64 " (no operation at all)\n", r->lost_quanta);
    bench_detours_print(r->detours);
    fprintf(out, "detours_per_second: %.6f\n", r->detours_per_second);
    fprintf(out, "largest_loss: %" PRIu64 " operations\n", r->largest_loss);
    fprintf(out, "largest_loss_ns: %.0f ns\n", r->largest_loss_ns);
    if (r->detours)
        fprintf(out, "largest_loss_at: %" PRIu64 " ns\n", r->largest_loss_at * run.options.quantum_ns);
    fprintf(out, "noise_ratio: %.9f (disturbed quanta)\n", r->noise_ratio);
    fprintf(out, "raw_ratio: %.9f (all quanta, with the quantisation floor)\n", r->raw_ratio);
    fprintf(out, "shortfall_ratio: %.6f (%s quanta against the calibrated operation)\n",
            shortfall > 0 ? shortfall : 0, nominal_quanta());
    if (shortfall_noted(shortfall))
        fprintf(
            out,
            "note: even the %s quanta hold fewer operations than calibrated: either every quantum has noise, "
            "which the figures above cannot show (use a shorter quantum), or the processor changed its "
            "speed\n",
            nominal_quanta());
    if (!r->separable)
        fprintf(out,
                "note: undisturbed quanta cannot be distinguished from disturbed ones here: there is no "
                "floor; only quanta that lost half of the best count as disturbed, and the figures are lower "
                "bounds\n");
    if (ftq_floor_is_high(r))
        fprintf(
            out,
            "note: the floor is %.0f %% of a quantum: detours that take less of it are in no figure; use a "
            "longer quantum, or a CPU that runs nothing else\n",
            100 * (double)r->disturbed_from / (double)r->nominal_count);
    bench_entries_print(member);
}

/* Measures a tick and an operation, and sets the quantum in ticks. On failure prints a message, sets *status
 * and returns false. */
static bool clock_prepare(int *status)
{
    const double operations_min = 10;
    double operation_ns;

    *status = 1;
    if (!bench_clock_prepare(&run.options.bench))
        return false;
    run.operation_ticks = calibrate_operation_ticks();
    run.quantum_ticks = bench_ticks(&run.options.bench, (double)run.options.quantum_ns);
    operation_ns = bench_ns(&run.options.bench, run.operation_ticks);
    if ((double)run.options.quantum_ns < operations_min * operation_ns) {
        fprintf(stderr, "ftq: %s: an operation lasts %.1f ns here: give a quantum of at least %.0fns\n",
                run.options.quantum_text, operation_ns, ceil(operations_min * operation_ns));
        *status = 2;
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    int status = 0;

    ftq_options_read(argc, argv, &run.options);
    if (!clock_prepare(&status))
        return status;
    if (!team_prepare() || !team_run(&run.team))
        return 1;
    status = 0;
    for (size_t i = 0; i < run.team.count; i++) {
        struct team_member *member = &run.team.members[i];
        const struct measurement *m = member->data;
        struct ftq_analysis result;
        bool judged = ftq_analyse(m->counts, (size_t)run.options.samples, run.options.quantum_ns,
                                  run.options.threshold_ns, m->scratch, &result);

        if (!data_write(member, &result))
            status = 1;
        if (judged) {
            summary_print(member, &result);
        } else {
            fprintf(stderr, "ftq: CPU %u did next to nothing: fewer than two operations in the best quanta\n",
                    member->cpu);
            status = 1;
        }
    }
    return status;
}
