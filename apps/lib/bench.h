/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench.h: what the noise benchmarks (ftq, fwq, selfish, phase) share outside of their measuring window:
 * options, output files, the clock's properties. Data goes to one file per CPU or to standard output; the
 * summary goes to standard error as `key: value` lines. A bad command line ends the program with status 2 and
 * one line that names the option, its value, and a value that would be right.
 */
#ifndef BENCH_H
#define BENCH_H

#include "calibrate.h"
#include "team.h"
#include "together.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct bench {
    const char *program; /* its name, for messages */
    const char *prefix;  /* -o: first part of the output files' names */
    const char *suffix;  /* last part, after the number: ".dat" */
    bool prefix_given;
    bool to_stdout;      /* -s */
    bool cpus_given;     /* by -c or -t: then a failure to bind to them is an error */
    double ticks_per_ns; /* -T; 0 until bench_clock_prepare() */
    uint64_t start_ns;   /* -b: when ranks start, since boot; 0: by together_start_ticks() */
    struct clock_grain grain;
    struct together_place place;
    size_t thread_count;
    uint32_t cpus[TEAM_MAX];
    /* -t and -c as given. */
    uint64_t threads_requested;
    const char *list;
    size_t list_count;
};

/* The common options: letters for getopt, and a format of their help for BENCH_HELP_VALUES. */
#define BENCH_LETTERS "o:st:c:T:b:h"
#define BENCH_HELP                                                                         \
    "  -o PREFIX   write PREFIX_0%s, PREFIX_1%s, ... one a thread or rank (default %s)\n"  \
    "  -s          write the data to standard output instead\n"                            \
    "  -t THREADS  number of threads, each pinned to its own CPU (default 1)\n"            \
    "  -c CPUS     on these CPUs, one thread each: 0,2-3\n"                                \
    "  -T TICKS    ticks of the %s in a ns, such as 2.6 (default: calibrate)\n"            \
    "  -b TIME     ranks of a Tacet node: begin at this time since its boot, such as 5s\n" \
    "              (default: the next whole second of it)\n"                               \
    "  -h          this text\n"
#define BENCH_HELP_VALUES(bench) (bench)->suffix, (bench)->suffix, (bench)->prefix, CYCLES_CLOCK_NAME

/* Sets the defaults; called before the options are read. */
void bench_begin(struct bench *bench, const char *program, const char *suffix);

/* Ends the program with a message if `right` is not NULL: it then says which values the option takes. */
void bench_value_check(const struct bench *bench, int option, const char *text, const char *right);

/* Takes one of the common options except -h. On any other letter, and on getopt's ':' and '?', ends the
 * program with a message. */
void bench_option(struct bench *bench, int letter);

/* Checks the options when all are read, refuses words that are left, and chooses the CPUs. */
void bench_options_check(struct bench *bench, int argc, char **argv);

/* Measures the length of a tick and the clock's resolution. On failure prints a message and returns false. */
bool bench_clock_prepare(struct bench *bench);

/* Converts ns to ticks of the clock, and back. */
uint64_t bench_ticks(const struct bench *bench, double ns);
double bench_ns(const struct bench *bench, double ticks);

/*
 * Makes a team of the chosen CPUs: allocates their counters and opens an output file for each. The clock must
 * be prepared. The program adds its functions and memory. On failure prints a message and returns false.
 */
bool bench_team_prepare(const struct bench *bench, struct team *team);

/* Prints the system (`# Sysname …`) and the processor's name as comment lines. */
void bench_machine_print(FILE *out);

/* Prints lines of the summary: thread, rank and CPU. The others: the clock; detours; kernel entries and SMIs
 * in the window. */
void bench_place_print(const struct bench *bench, const struct team_member *member);
void bench_clock_print(const struct bench *bench);
void bench_detours_print(uint64_t detours);
void bench_entries_print(const struct team_member *member);

/* Flushes the output, and closes it if it is a file. If data could not be written, prints a message and
 * returns false. */
bool bench_output_end(const struct bench *bench, struct team_member *member);

#endif /* BENCH_H */
