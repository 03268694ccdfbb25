/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.c: reads the command line of FTQ; apps/lib/bench.c has the options that all benchmarks share.
 */
#define _GNU_SOURCE
#include "options.h"

#include "cycles.h"
#include "parse.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void help_print(const struct bench *bench)
{
    printf(
        "usage: ftq [-n SAMPLES] [-q QUANTUM | -f HZ] [-o PREFIX | -s] [-t THREADS] [-c CPUS] [-T TICKS]\n"
        "           [-b TIME] [-d TIME] [-w] [-h]\n"
        "\n"
        "Fixed time quanta: counts the basic operations (%d instructions each) that finish in each quantum "
        "of an\n"
        "absolute time grid. The system took the time of those that are missing: noise [Betti09 §VI-A].\n"
        "\n"
        "  -n SAMPLES  number of quanta (default %d)\n"
        "  -q QUANTUM  length of a quantum: 1ms, 500us, or ns without a unit (default 1ms)\n"
        "  -f HZ       the same as a frequency\n"
        "  -d TIME     shortest loss that counts, from the median; for machines that themselves move time "
        "between\n"
        "              quanta (default: two operations, or the spread of undisturbed quanta)\n"
        "  -w          wired: fail if the thread cannot be bound to its CPU (-t and -c imply it)\n" BENCH_HELP
        "\n"
        "Data: '#' lines, then 'ns count' a quantum, ns from the grid's origin to the start of the "
        "quantum.\n"
        "Summary: 'key: value' lines on standard error.\n",
        OPERATION_INSTRUCTIONS, FTQ_SAMPLES_DEFAULT, BENCH_HELP_VALUES(bench));
}

static void quantum_from_frequency(struct ftq_options *options, const char *text)
{
    const double hz_max = 1e9;
    double hz;

    bench_value_check(&options->bench, 'f', text, parse_positive(text, hz_max, &hz));
    if (hz < 1.0 / 3600)
        bench_value_check(&options->bench, 'f', text,
                          "give at least 0.000278 Hz, which is one quantum an hour");
    options->quantum_ns = (uint64_t)llround(1e9 / hz);
}

/* Checks the quantum, the threshold, and the length of the window. */
static void window_check(const struct ftq_options *options)
{
    const uint64_t month_ns = UINT64_C(30) * 86400 * 1000000000;

    if (options->threshold_ns >= options->quantum_ns) {
        fprintf(stderr, "ftq: -d %" PRIu64 "ns: no quantum of %" PRIu64 " ns can lose more: give less\n",
                options->threshold_ns, options->quantum_ns);
        exit(2);
    }

    if (options->samples > month_ns / options->quantum_ns) {
        fprintf(stderr,
                "ftq: -n %" PRIu64 ": quanta of %" PRIu64 " ns would last more than 30 days: give fewer\n",
                options->samples, options->quantum_ns);
        exit(2);
    }
}

void ftq_options_read(int argc, char **argv, struct ftq_options *options)
{
    struct bench *bench = &options->bench;
    static char quantum_text[64] = "-q 1ms";
    bool quantum_given = false;
    int letter;

    memset(options, 0, sizeof *options);
    options->samples = FTQ_SAMPLES_DEFAULT;
    options->quantum_ns = FTQ_QUANTUM_NS_DEFAULT;
    options->quantum_text = quantum_text;
    bench_begin(bench, "ftq", ".dat");
    while ((letter = getopt(argc, argv, ":n:q:f:d:w" BENCH_LETTERS)) != -1) {
        switch (letter) {
        case 'n':
            bench_value_check(bench, 'n', optarg, parse_count(optarg, 1, FTQ_SAMPLES_MAX, &options->samples));
            break;
        case 'q':
        case 'f':
            if (quantum_given)
                bench_value_check(bench, letter, optarg, "the quantum is given already: give -q or -f, once");
            quantum_given = true;
            snprintf(quantum_text, sizeof quantum_text, "-%c %s", letter, optarg);
            if (letter == 'q')
                bench_value_check(bench, 'q', optarg, parse_time_ns(optarg, &options->quantum_ns));
            else
                quantum_from_frequency(options, optarg);
            break;
        case 'd':
            bench_value_check(bench, 'd', optarg, parse_time_ns(optarg, &options->threshold_ns));
            break;
        case 'w':
            bench->cpus_given = true;
            break;
        case 'h':
            help_print(bench);
            exit(0);
        default:
            bench_option(bench, letter);
        }
    }
    bench_options_check(bench, argc, argv);
    window_check(options);
}
