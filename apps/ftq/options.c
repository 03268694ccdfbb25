/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.c: reads the command line of FTQ. Every refusal is one line that names the option, the value, and
 * what would be right; exit status 2.
 */
#define _GNU_SOURCE
#include "options.h"

#include "affinity.h"
#include "cycles.h"
#include "parse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What -t and -c asked for, before they are brought together. */
struct cpu_request {
    uint64_t threads; /* 0: not given */
    const char *list; /* NULL: not given */
    uint32_t cpus[FTQ_THREADS_MOST];
    size_t cpu_count;
};

static void help_print(void)
{
    printf(
        "usage: ftq [-n SAMPLES] [-q QUANTUM | -f HZ] [-o PREFIX | -s] [-t THREADS] [-c CPUS] [-T TICKS] "
        "[-w] [-h]\n"
        "\n"
        "Fixed time quanta: counts the basic operations (%d instructions each) that finish in each quantum "
        "of an\n"
        "absolute time grid. What is missing in a quantum went to the system: noise [Betti09 §VI-A].\n"
        "\n"
        "  -n SAMPLES  number of quanta (default %d)\n"
        "  -q QUANTUM  length of a quantum: 1ms, 500us, or ns without a unit (default 1ms)\n"
        "  -f HZ       the same as a frequency\n"
        "  -o PREFIX   write PREFIX_0.dat, PREFIX_1.dat, ... one a thread (default ftq)\n"
        "  -s          write the data to standard output instead\n"
        "  -t THREADS  one pinned thread on each of so many CPUs (default 1)\n"
        "  -c CPUS     on these CPUs, one thread each: 0,2-3\n"
        "  -T TICKS    ticks of the %s in a ns, such as 2.6 (default: calibrate)\n"
        "  -w          wired: fail if the thread cannot be bound to its CPU (-t and -c imply it)\n"
        "  -h          this text\n"
        "\n"
        "Data: '#' lines, then 'ns count' a quantum, ns from the grid's origin to the start of the quantum.\n"
        "Summary: 'key: value' lines on standard error.\n",
        OPERATION_INSTRUCTIONS, FTQ_SAMPLES_DEFAULT, CYCLES_CLOCK_NAME);
}

/* Refuses the value of an option, if `right` says that something is wrong with it. */
static void value_check(int option, const char *text, const char *right)
{
    if (!right)
        return;
    fprintf(stderr, "ftq: -%c %s: %s\n", option, *text ? text : "''", right);
    exit(2);
}

static void quantum_from_frequency(struct ftq_options *options, const char *text)
{
    const double most_hz = 1e9;
    double hz;

    value_check('f', text, parse_positive(text, most_hz, &hz));
    if (hz < 1.0 / 3600)
        value_check('f', text, "give at least 0.000278 Hz, which is one quantum an hour");
    options->quantum_ns = (uint64_t)llround(1e9 / hz);
}

/* Decides which CPUs to use, from -c, -t and what the system allows. */
static void cpus_choose(struct ftq_options *options, const struct cpu_request *request)
{
    static uint32_t allowed[FTQ_THREADS_MOST];
    size_t allowed_count = affinity_allowed(allowed, FTQ_THREADS_MOST);

    options->thread_count = 1;
    options->cpus[0] = affinity_current();
    if (request->list) {
        for (size_t i = 0; i < request->cpu_count; i++) {
            bool found = false;

            for (size_t k = 0; k < allowed_count; k++)
                found |= allowed[k] == request->cpus[i];
            if (!found) {
                fprintf(stderr,
                        "ftq: -c %s: CPU %u is not one this program may use; it may use %zu, from %u to %u\n",
                        request->list, request->cpus[i], allowed_count, allowed[0],
                        allowed[allowed_count - 1]);
                exit(2);
            }
        }
        options->thread_count = request->cpu_count;
        memcpy(options->cpus, request->cpus, sizeof request->cpus);
    } else if (request->threads) {
        if (request->threads > allowed_count) {
            fprintf(stderr, "ftq: -t %llu: there is one thread a CPU: give at most %zu\n",
                    (unsigned long long)request->threads, allowed_count);
            exit(2);
        }
        options->thread_count = (size_t)request->threads;
        if (request->threads > 1)
            memcpy(options->cpus, allowed, sizeof allowed);
    }
    if (request->list && request->threads && request->threads != request->cpu_count) {
        fprintf(stderr, "ftq: -t %llu: -c %s names %zu CPUs: give the same number, or leave -t out\n",
                (unsigned long long)request->threads, request->list, request->cpu_count);
        exit(2);
    }
}

/* The quantum and the window as a whole. */
static void window_check(const struct ftq_options *options)
{
    const uint64_t month_ns = UINT64_C(30) * 86400 * 1000000000;

    if (options->samples > month_ns / options->quantum_ns) {
        fprintf(stderr, "ftq: -n %llu: quanta of %llu ns would last more than 30 days: give fewer\n",
                (unsigned long long)options->samples, (unsigned long long)options->quantum_ns);
        exit(2);
    }
}

void ftq_options_read(int argc, char **argv, struct ftq_options *options)
{
    static struct cpu_request request;
    static char quantum_text[64] = "-q 1ms";
    bool quantum_given = false, prefix_given = false;
    int letter;

    memset(options, 0, sizeof *options);
    options->samples = FTQ_SAMPLES_DEFAULT;
    options->quantum_ns = FTQ_QUANTUM_NS_DEFAULT;
    options->quantum_text = quantum_text;
    options->prefix = "ftq";
    opterr = 0;
    while ((letter = getopt(argc, argv, ":n:q:f:o:t:c:T:swh")) != -1) {
        switch (letter) {
        case 'n':
            value_check('n', optarg, parse_count(optarg, 1, FTQ_SAMPLES_MOST, &options->samples));
            break;
        case 'q':
        case 'f':
            if (quantum_given)
                value_check(letter, optarg, "the quantum is given already: give -q or -f, once");
            quantum_given = true;
            snprintf(quantum_text, sizeof quantum_text, "-%c %s", letter, optarg);
            if (letter == 'q')
                value_check('q', optarg, parse_time_ns(optarg, &options->quantum_ns));
            else
                quantum_from_frequency(options, optarg);
            break;
        case 'o':
            if (!*optarg)
                value_check('o', optarg, "give the beginning of a file name, such as ftq");
            options->prefix = optarg;
            prefix_given = true;
            break;
        case 't':
            value_check('t', optarg, parse_count(optarg, 1, FTQ_THREADS_MOST, &request.threads));
            break;
        case 'c':
            value_check('c', optarg,
                        parse_cpu_list(optarg, request.cpus, FTQ_THREADS_MOST, &request.cpu_count));
            request.list = optarg;
            break;
        case 'T':
            value_check('T', optarg, parse_positive(optarg, 100, &options->ticks_per_ns));
            break;
        case 's':
            options->to_stdout = true;
            break;
        case 'w':
            options->cpus_given = true;
            break;
        case 'h':
            help_print();
            exit(0);
        case ':':
            fprintf(stderr, "ftq: -%c needs a value: ftq -h shows which\n", optopt);
            exit(2);
        default:
            fprintf(stderr, "ftq: -%c is no option of ftq: ftq -h lists them\n", optopt);
            exit(2);
        }
    }
    if (optind < argc) {
        fprintf(stderr, "ftq: %s: ftq takes options only: ftq -h lists them\n", argv[optind]);
        exit(2);
    }
    if (prefix_given && options->to_stdout)
        value_check('o', options->prefix, "-s writes to standard output: give -o or -s, not both");
    window_check(options);
    options->cpus_given |= request.list || request.threads;
    cpus_choose(options, &request);
}
