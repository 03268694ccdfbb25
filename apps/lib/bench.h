/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench.h: what the noise benchmarks (ftq, fwq, selfish, phase) have in common around their measuring window:
 * options, output files, the clock's facts. Data goes to a file a CPU or to standard output, the summary as
 * `key: value` lines to standard error. A bad command line is one line that names the option, the value, and
 * what would be right, and exit status 2.
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
    const char *prefix;  /* -o: what file names begin with */
    const char *suffix;  /* what they end with, after the number: ".dat" */
    bool prefix_given;
    bool to_stdout;      /* -s */
    bool cpus_given;     /* by -c or -t: then failing to be there is an error */
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

/* The letters of the common options, for getopt; and their help, which takes the default prefix and suffix.
 */
#define BENCH_LETTERS "o:st:c:T:b:h"
#define BENCH_HELP                                                                         \
    "  -o PREFIX   write PREFIX_0%s, PREFIX_1%s, ... one a thread or rank (default %s)\n"  \
    "  -s          write the data to standard output instead\n"                            \
    "  -t THREADS  one pinned thread on each of so many CPUs (default 1)\n"                \
    "  -c CPUS     on these CPUs, one thread each: 0,2-3\n"                                \
    "  -T TICKS    ticks of the %s in a ns, such as 2.6 (default: calibrate)\n"            \
    "  -b TIME     ranks of a Tacet node: begin at this time since its boot, such as 5s\n" \
    "              (default: the next whole second of it)\n"                               \
    "  -h          this text\n"
#define BENCH_HELP_VALUES(bench) (bench)->suffix, (bench)->suffix, (bench)->prefix, CYCLES_CLOCK_NAME

/* Before the options are read. */
void bench_begin(struct bench *bench, const char *program, const char *suffix);

/* Refuses the value of an option, if `right` says that something is wrong with it. */
void bench_value_check(const struct bench *bench, int option, const char *text, const char *right);

/* Takes one of the common options, -h aside; on any other letter, and on getopt's ':' and '?', it refuses the
 * command line. */
void bench_option(struct bench *bench, int letter);

/* After the options are read: no words may be left, and the CPUs are chosen. */
void bench_options_check(struct bench *bench, int argc, char **argv);

/* Finds out what a tick lasts and what the clock resolves. False, with a message. */
bool bench_clock_prepare(struct bench *bench);

/* ns in ticks of the clock, and back. */
uint64_t bench_ticks(const struct bench *bench, double ns);
double bench_ns(const struct bench *bench, double ticks);

/*
 * After the clock is known: makes `team` of the CPUs chosen: their counters and, for each, the output file.
 * False, with a message. The program adds its functions and its memory.
 */
bool bench_team_prepare(const struct bench *bench, struct team *team);

/* `# Sysname …` and the processor's name, as comment lines. */
void bench_machine_print(FILE *out);

/* The summary's common lines: who measured, the clock, detours, kernel entries and SMIs in the window. */
void bench_place_print(const struct bench *bench, const struct team_member *member);
void bench_clock_print(const struct bench *bench);
void bench_detours_print(uint64_t detours);
void bench_entries_print(const struct team_member *member);

/* Flushes, and closes what is no standard stream. False, with a message, if the data could not be written. */
bool bench_output_end(const struct bench *bench, struct team_member *member);

#endif /* BENCH_H */
