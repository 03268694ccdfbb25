/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * selfish.c: the selfish detour benchmark [Beckman06 §3.2]: a loop reads the clock and does nothing else. Two
 * reads that are further apart than a threshold enclose a detour. Its length is their distance less the
 * loop's own time.
 *
 * It runs for a fixed time, so that it ends on a silent kernel too. The threshold is absolute: if the clock
 * advances in steps, a multiple of the smallest distance would turn every step into noise. If the clock or
 * the loop is too coarse for the threshold, it is raised, and the summary says so. The record of detours was
 * touched before. The time to record a detour belongs to the next distance, so no time goes unmeasured.
 *
 * The same ELF file runs on Tacet and on Linux. Between the two readings of the kernel's entry counters there
 * is no system call, except those that -k requests: they test the method, which must see each of them.
 *
 * The data format is that of netgauge's noise benchmark: '#' lines, then `start<TAB>duration` in ns for each
 * detour, then the overhead and the period.
 */
#define _GNU_SOURCE
#include "analysis.h"
#include "bench.h"
#include "cycles.h"
#include "memory.h"
#include "parse.h"
#include "team.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define RUNTIME_NS_DEFAULT   UINT64_C(10000000000)
#define THRESHOLD_NS_DEFAULT 100
#define RECORDS_DEFAULT      100000
#define RECORDS_MAX          10000000

struct detour {
    uint64_t start_ticks; /* the read before it, from the first read of the window */
    uint64_t gap_ticks;   /* time from that read to the next */
};

/* Results of one CPU. */
struct measurement {
    struct detour *detours;
    uint64_t *lengths;
    uint64_t first_ticks, last_ticks; /* first and last read of the window */
    uint64_t reads;
    uint64_t found;         /* detours, also those for which there was no room */
    uint64_t gap_sum_ticks; /* sum of all gaps found */
    uint64_t gap_max_ticks;
    uint64_t backwards; /* reads below the one before */
    uint64_t controls;  /* system calls made for -k */
};

static struct {
    struct bench bench;
    uint64_t runtime_ns;
    uint64_t threshold_ns; /* 0: the default */
    uint64_t control_ns;   /* 0: none */
    uint64_t records;
    uint64_t threshold_ticks;
    uint64_t control_ticks;
    double loop_ticks; /* time of one undisturbed turn */
    struct team team;
    struct measurement measurements[TEAM_MAX];
} run;

static void detour_record(struct measurement *m, uint64_t previous_ticks, uint64_t gap_ticks)
{
    if (m->found < run.records) {
        m->detours[m->found].start_ticks = previous_ticks - m->first_ticks;
        m->detours[m->found].gap_ticks = gap_ticks;
    }
    m->found++;
    m->gap_sum_ticks += gap_ticks;
    if (gap_ticks > m->gap_max_ticks)
        m->gap_max_ticks = gap_ticks;
}

/* Watches for `runtime_ticks`. From the first reading on, no time goes unmeasured. */
__attribute__((noinline)) static void window_watch(struct measurement *m, uint64_t runtime_ticks)
{
    const uint64_t control_ticks = run.control_ticks ? run.control_ticks : UINT64_MAX / 2;
    uint64_t previous_ticks, now_ticks = cycles_now();
    const uint64_t end_ticks = now_ticks + runtime_ticks;
    uint64_t control_at_ticks = now_ticks + control_ticks;

    m->first_ticks = now_ticks;
    do {
        uint64_t stop_ticks = control_at_ticks < end_ticks ? control_at_ticks : end_ticks;

        m->reads += clock_watch(stop_ticks, run.threshold_ticks, &previous_ticks, &now_ticks);
        if (now_ticks < previous_ticks)
            m->backwards++;
        else if (now_ticks - previous_ticks > run.threshold_ticks)
            detour_record(m, previous_ticks, now_ticks - previous_ticks);
        if (now_ticks >= control_at_ticks && now_ticks < end_ticks) {
            cycles_around_system_call(SYS_getpid); /* clock_watch times it; the result here is ignored */
            m->controls++;
            control_at_ticks += run.control_ticks;
        }
    } while (now_ticks < end_ticks);
    m->last_ticks = now_ticks;
}

static void window_rehearse(struct team_member *member)
{
    struct measurement *m = member->data;
    const struct measurement fresh = { .detours = m->detours, .lengths = m->lengths };

    window_watch(m, bench_ticks(&run.bench, 1000000));
    detour_record(m, m->first_ticks, 0);
    *m = fresh;
}

static void window_measure(struct team_member *member, uint64_t origin_ticks)
{
    uint64_t now_ticks;

    operations_until(origin_ticks, &now_ticks);
    window_watch(member->data, run.team.planned_ticks);
}

/* Returns the ticks of an undisturbed turn: the smallest mean of many short runs, whatever the clock's
 * step. */
static double loop_ticks_calibrate(void)
{
    uint64_t span_ticks = 0;
    double minimum = 0;

    for (int attempt = 0; attempt < 200; attempt++) {
        uint64_t previous_ticks, now_ticks = cycles_now(), first_ticks = now_ticks, turns = 0;
        double mean;

        if (!span_ticks) {
            /* The first run measures how long a thousand turns last. */
            for (int turn = 0; turn < 1000; turn++)
                turns += clock_watch(0, UINT64_MAX, &previous_ticks, &now_ticks);
            span_ticks = now_ticks - first_ticks;
            continue;
        }
        turns = clock_watch(first_ticks + span_ticks, UINT64_MAX, &previous_ticks, &now_ticks);
        mean = (double)(now_ticks - first_ticks) / (double)turns;
        if (minimum <= 0 || mean < minimum)
            minimum = mean;
    }
    return minimum;
}

static void help_print(void)
{
    printf("usage: selfish [-r TIME] [-d TIME] [-n DETOURS] [-k TIME] [-o PREFIX | -s] [-t THREADS]\n"
           "               [-c CPUS] [-T TICKS] [-b TIME] [-h]\n"
           "\n"
           "Selfish detours: reads the clock in a loop (%d instructions a turn) and records where two reads "
           "lie\n"
           "further apart than a threshold: in between the system had the processor [Beckman06 §3.2].\n"
           "\n"
           "  -r TIME     runtime, such as 10s (default 10s)\n"
           "  -d TIME     threshold: shortest distance of two reads that is a detour (default %dns, or more\n"
           "              if the clock or the loop is too coarse for that)\n"
           "  -n DETOURS  most detours to list (default %d); further ones are only counted\n"
           "  -k TIME     control: one empty system call each TIME, which must show as a detour\n" BENCH_HELP
           "\n"
           "Data: '#' lines and 'start duration' a detour, ns, duration without the loop's own time.\n"
           "Summary: 'key: value' lines on standard error.\n",
           CLOCK_WATCH_INSTRUCTIONS, THRESHOLD_NS_DEFAULT, RECORDS_DEFAULT, BENCH_HELP_VALUES(&run.bench));
}

static void options_read(int argc, char **argv)
{
    struct bench *bench = &run.bench;
    int letter;

    bench_begin(bench, "selfish", ".dat");
    run.runtime_ns = RUNTIME_NS_DEFAULT;
    run.records = RECORDS_DEFAULT;
    while ((letter = getopt(argc, argv, ":r:d:n:k:" BENCH_LETTERS)) != -1) {
        switch (letter) {
        case 'r':
            bench_value_check(bench, 'r', optarg, parse_duration_ns(optarg, &run.runtime_ns));
            break;
        case 'd':
            bench_value_check(bench, 'd', optarg, parse_time_ns(optarg, &run.threshold_ns));
            break;
        case 'n':
            bench_value_check(bench, 'n', optarg, parse_count(optarg, 1, RECORDS_MAX, &run.records));
            break;
        case 'k':
            bench_value_check(bench, 'k', optarg, parse_time_ns(optarg, &run.control_ns));
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

/* Returns the threshold that the user gave, or else the default; the measurement may have to raise it. */
static uint64_t requested_ns(void)
{
    return run.threshold_ns ? run.threshold_ns : THRESHOLD_NS_DEFAULT;
}

static void threshold_decide(void)
{
    const uint64_t requested_ticks = bench_ticks(&run.bench, (double)requested_ns());

    run.loop_ticks = loop_ticks_calibrate();
    run.threshold_ticks =
        selfish_threshold_ticks(requested_ticks, run.loop_ticks, run.bench.grain.step_ticks);
    if (run.threshold_ns && run.threshold_ticks > requested_ticks) {
        fprintf(stderr,
                "selfish: -d %" PRIu64 "ns: a turn of the loop lasts %.1f ns and the clock's step %.1f ns "
                "here: give at least %.0fns\n",
                requested_ns(), bench_ns(&run.bench, run.loop_ticks),
                bench_ns(&run.bench, (double)run.bench.grain.step_ticks),
                bench_ns(&run.bench, (double)run.threshold_ticks) + 1);
        exit(2);
    }
    run.control_ticks = bench_ticks(&run.bench, (double)run.control_ns);
    if (run.control_ns && run.control_ticks < 4 * run.threshold_ticks) {
        fprintf(stderr, "selfish: -k %" PRIu64 "ns: too often to tell apart: give at least %.0fns\n",
                run.control_ns, bench_ns(&run.bench, (double)run.threshold_ticks) * 4 + 1);
        exit(2);
    }
}

/* Prepares memory and output files. On failure prints a message and returns false. */
static bool team_prepare(void)
{
    if (!bench_team_prepare(&run.bench, &run.team))
        return false;
    run.team.rehearse = window_rehearse;
    run.team.measure = window_measure;
    run.team.planned_ticks = bench_ticks(&run.bench, (double)run.runtime_ns);
    for (size_t i = 0; i < run.team.count; i++) {
        struct measurement *m = &run.measurements[i];

        run.team.members[i].data = m;
        m->detours = memory_ready((size_t)run.records * sizeof *m->detours);
        m->lengths = memory_ready((size_t)run.records * sizeof *m->lengths);
        if (!m->detours || !m->lengths) {
            fprintf(stderr, "selfish: no memory for %" PRIu64 " detours: give fewer with -n\n", run.records);
            return false;
        }
    }
    return true;
}

static uint64_t recorded(const struct measurement *m)
{
    return m->found < run.records ? m->found : run.records;
}

static double window_ns(const struct measurement *m)
{
    return bench_ns(&run.bench, (double)(m->last_ticks - m->first_ticks));
}

/* Returns the time that the system took: all detours less the turns of the loop that they enclose. */
static double noise_ns(const struct measurement *m)
{
    return bench_ns(&run.bench, (double)m->gap_sum_ticks - (double)m->found * run.loop_ticks);
}

static double length_ns(uint64_t gap_ticks)
{
    return bench_ns(&run.bench, (double)gap_ticks - run.loop_ticks);
}

/* Writes the data as netgauge does. */
static bool data_write(struct team_member *member)
{
    const struct measurement *m = member->data;
    FILE *out = member->output;
    struct utsname name;

    fprintf(out, "# Benchmark Method: selfish detour (clock reads further apart than the threshold)\n");
    if (!uname(&name)) {
        fprintf(out, "# Sysname: %s\n# Nodename: %s\n# Release: %s\n", name.sysname, name.nodename,
                name.release);
        fprintf(out, "# Version: %s\n# Machine: %s\n", name.version, name.machine);
    }
    fprintf(out, "# thread %zu, core %u\n", member->number, member->cpu);
    fprintf(out, "# Minimal cycle length [ns]: %.3f\n", bench_ns(&run.bench, run.loop_ticks));
    fprintf(out, "# Threshold [ns]: %.3f\n", bench_ns(&run.bench, (double)run.threshold_ticks));
    fprintf(out, "# Begun [ns of CLOCK_MONOTONIC_RAW]: %" PRIu64 "\n",
            calibrate_ns_of(m->first_ticks, run.bench.ticks_per_ns));
    fprintf(out, "# Detours: %" PRIu64 "\n", m->found);
    fprintf(out, "# Time [ns]\tselfish duration [ns]\n");
    for (uint64_t i = 0; i < recorded(m); i++)
        fprintf(out, "%.0f\t%.0f\n", bench_ns(&run.bench, (double)m->detours[i].start_ticks),
                length_ns(m->detours[i].gap_ticks));
    fprintf(out, "# CPU overhead due to noise: %.9f%%\n", 100 * noise_ns(m) / window_ns(m));
    fprintf(out, "# Measurement period: %.9f s\n", window_ns(m) / 1e9);
    return bench_output_end(&run.bench, member);
}

static void lengths_print(struct measurement *m)
{
    static const char *const names[SELFISH_QUANTILE_COUNT] = { "median", "p90",    "p99",
                                                               "p99_9",  "p99_99", "p99_999" };
    struct selfish_analysis r;
    FILE *out = stderr;

    for (uint64_t i = 0; i < recorded(m); i++)
        m->lengths[i] = m->detours[i].gap_ticks;
    selfish_analyse(m->lengths, (size_t)recorded(m), &r);
    fprintf(out, "detour_minimum: %.0f ns\n", length_ns(r.minimum));
    fprintf(out, "detour_mean: %.1f ns\n", bench_ns(&run.bench, r.mean - run.loop_ticks));
    for (size_t i = 0; i < SELFISH_QUANTILE_COUNT; i++)
        fprintf(out, "detour_%s: %.0f ns\n", names[i], length_ns(r.quantiles[i]));
    fprintf(out, "detour_maximum: %.0f ns\n", length_ns(m->gap_max_ticks));
}

static void summary_print(const struct team_member *member)
{
    struct measurement *m = member->data;
    const bool raised = run.threshold_ticks > bench_ticks(&run.bench, (double)requested_ns());
    FILE *out = stderr;

    bench_place_print(&run.bench, member);
    fprintf(out, "window: %.0f ns\n", window_ns(m));
    bench_clock_print(&run.bench);
    fprintf(out, "loop_instructions: %d\n", CLOCK_WATCH_INSTRUCTIONS);
    fprintf(out, "minimum_loop: %.3f ns\n", bench_ns(&run.bench, run.loop_ticks));
    fprintf(out, "threshold: %.3f ns", bench_ns(&run.bench, (double)run.threshold_ticks));
    if (raised)
        fprintf(out, " (raised from %" PRIu64 " ns: loop or clock are too coarse for that)", requested_ns());
    fprintf(out, "\nclock_reads: %" PRIu64 "\n", m->reads);
    fprintf(out, "clock_backwards: %" PRIu64 "%s\n", m->backwards,
            m->backwards ? " (the clock ran backwards: lengths are not to be trusted)" : "");
    bench_detours_print(m->found);
    fprintf(out, "detours_not_listed: %" PRIu64 "%s\n", m->found - recorded(m),
            m->found > run.records ? " (no room: give more with -n; quantiles are of those listed)" : "");
    fprintf(out, "detours_per_second: %.6f\n", (double)m->found * 1e9 / window_ns(m));
    if (m->found)
        lengths_print(m);
    fprintf(out, "noise: %.0f ns\n", noise_ns(m));
    fprintf(out, "noise_ratio: %.9f\n", noise_ns(m) / window_ns(m));
    if (run.control_ns)
        fprintf(out, "controls: %" PRIu64 " (system calls made; each must be a detour)\n", m->controls);
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
        if (!data_write(&run.team.members[i]))
            status = 1;
        summary_print(&run.team.members[i]);
    }
    return status;
}
