/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench.c: options, output and common summary lines of the noise benchmarks; bench.h documents them. Runs
 * outside of the measuring windows.
 */
#define _GNU_SOURCE
#include "bench.h"

#include "affinity.h"
#include "cycles.h"
#include "memory.h"
#include "parse.h"
#include "tacet.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

void bench_begin(struct bench *bench, const char *program, const char *suffix)
{
    memset(bench, 0, sizeof *bench);
    bench->program = program;
    bench->prefix = program;
    bench->suffix = suffix;
    opterr = 0;
}

void bench_value_check(const struct bench *bench, int option, const char *text, const char *right)
{
    if (!right)
        return;
    fprintf(stderr, "%s: -%c %s: %s\n", bench->program, option, *text ? text : "''", right);
    exit(2);
}

void bench_option(struct bench *bench, int letter)
{
    switch (letter) {
    case 'o':
        if (!*optarg)
            bench_value_check(bench, 'o', optarg, "give the beginning of a file name, such as noise");
        bench->prefix = optarg;
        bench->prefix_given = true;
        break;
    case 't':
        bench_value_check(bench, 't', optarg, parse_count(optarg, 1, TEAM_MAX, &bench->threads_requested));
        break;
    case 'c':
        bench_value_check(bench, 'c', optarg,
                          parse_cpu_list(optarg, bench->cpus, TEAM_MAX, &bench->list_count));
        bench->list = optarg;
        break;
    case 'T':
        bench_value_check(bench, 'T', optarg, parse_positive(optarg, 100, &bench->ticks_per_ns));
        break;
    case 'b':
        bench_value_check(bench, 'b', optarg, parse_time_ns(optarg, &bench->start_ns));
        break;
    case 's':
        bench->to_stdout = true;
        break;
    case ':':
        fprintf(stderr, "%s: -%c needs a value: %s -h shows which\n", bench->program, optopt, bench->program);
        exit(2);
    default:
        fprintf(stderr, "%s: -%c is no option of %s: %s -h lists them\n", bench->program, optopt,
                bench->program, bench->program);
        exit(2);
    }
}

/* Decides which CPUs to use, from -c, -t and what the system allows. */
static void cpus_choose(struct bench *bench)
{
    static uint32_t allowed[TEAM_MAX];
    size_t allowed_count = affinity_allowed(allowed, TEAM_MAX);

    if (bench->list && bench->threads_requested && bench->threads_requested != bench->list_count) {
        fprintf(stderr, "%s: -t %" PRIu64 ": -c %s names %zu CPUs: give the same number, or leave -t out\n",
                bench->program, bench->threads_requested, bench->list, bench->list_count);
        exit(2);
    }
    for (size_t i = 0; i < bench->list_count; i++) {
        bool found = false;

        for (size_t k = 0; k < allowed_count; k++)
            found |= allowed[k] == bench->cpus[i];
        if (!found) {
            fprintf(stderr,
                    "%s: -c %s: CPU %u is not one this program may use; it may use %zu, from %u to %u\n",
                    bench->program, bench->list, bench->cpus[i], allowed_count, allowed[0],
                    allowed[allowed_count - 1]);
            exit(2);
        }
    }
    if (bench->threads_requested > allowed_count) {
        fprintf(stderr, "%s: -t %" PRIu64 ": there is one thread a CPU: give at most %zu\n", bench->program,
                bench->threads_requested, allowed_count);
        exit(2);
    }
    bench->cpus_given |= bench->list || bench->threads_requested;
    if (bench->list) {
        bench->thread_count = bench->list_count;
    } else if (bench->threads_requested > 1) {
        bench->thread_count = (size_t)bench->threads_requested;
        memcpy(bench->cpus, allowed, sizeof allowed);
    } else {
        bench->thread_count = 1;
        bench->cpus[0] = affinity_current();
    }
}

void bench_options_check(struct bench *bench, int argc, char **argv)
{
    if (optind < argc) {
        fprintf(stderr, "%s: %s: %s takes options only: %s -h lists them\n", bench->program, argv[optind],
                bench->program, bench->program);
        exit(2);
    }
    if (bench->prefix_given && bench->to_stdout)
        bench_value_check(bench, 'o', bench->prefix, "-s writes to standard output: give -o or -s, not both");
    cpus_choose(bench);
    if (!together_find(&bench->place)) {
        fprintf(stderr, "%s: TACET_RANK and TACET_SIZE: give both or none, the rank below the size\n",
                bench->program);
        exit(2);
    }
    if (bench->place.size > 1 && bench->thread_count > 1) {
        fprintf(stderr, "%s: a rank measures its own CPU only: leave -t and -c out\n", bench->program);
        exit(2);
    }
}

bool bench_clock_prepare(struct bench *bench)
{
    if (!(bench->ticks_per_ns > 0))
        bench->ticks_per_ns = calibrate_ticks_per_ns();
    if (!(bench->ticks_per_ns > 0)) {
        fprintf(stderr,
                "%s: no clock to calibrate the " CYCLES_CLOCK_NAME
                " against: give its ticks per ns with -T\n",
                bench->program);
        return false;
    }
    bench->grain = calibrate_clock_grain();
    return true;
}

uint64_t bench_ticks(const struct bench *bench, double ns)
{
    return (uint64_t)llround(ns * bench->ticks_per_ns);
}

double bench_ns(const struct bench *bench, double ticks)
{
    return ticks / bench->ticks_per_ns;
}

/* Opens the output of one member. On failure prints a message and returns false. */
static bool output_open(const struct bench *bench, struct team_member *member)
{
    member->output = stdout;
    if (bench->to_stdout)
        return true;
    if ((size_t)snprintf(member->path, sizeof member->path, "%s_%zu%s", bench->prefix, member->number,
                         bench->suffix) >= sizeof member->path) {
        fprintf(stderr, "%s: -o %s: the name is too long\n", bench->program, bench->prefix);
        return false;
    }
    member->output = fopen(member->path, "w");
    if (!member->output) {
        fprintf(stderr, "%s: cannot write %s: %s (-s writes to standard output)\n", bench->program,
                member->path, strerror(errno));
        return false;
    }
    return true;
}

bool bench_team_prepare(const struct bench *bench, struct team *team)
{
    memset(team, 0, sizeof *team);
    team->program = bench->program;
    team->ticks_per_ns = bench->ticks_per_ns;
    team->start_ticks = bench_ticks(bench, (double)bench->start_ns);
    team->pin_required = bench->cpus_given;
    team->place = bench->place;
    team->count = bench->thread_count;
    for (size_t i = 0; i < team->count; i++) {
        struct team_member *member = &team->members[i];

        member->team = team;
        member->number = bench->place.size > 1 ? bench->place.rank : i;
        member->cpu = bench->cpus[i];
        member->before = memory_ready(sizeof *member->before);
        member->after = memory_ready(sizeof *member->after);
        if (!member->before || !member->after) {
            fprintf(stderr, "%s: no memory for the counters of CPU %u\n", bench->program, member->cpu);
            return false;
        }
        if (!output_open(bench, member))
            return false;
    }
    return true;
}

/* Prints the line of /proc/cpuinfo that names the processor, if this system has one. */
static void processor_print(FILE *out)
{
    FILE *info = fopen("/proc/cpuinfo", "r");
    char line[256];

    if (!info)
        return;
    while (fgets(line, sizeof line, info)) {
        if (strncmp(line, "model name", 10) == 0 || strncmp(line, "cpu\t", 4) == 0) {
            fprintf(out, "# %s", line);
            break;
        }
    }
    fclose(info);
}

void bench_machine_print(FILE *out)
{
    struct utsname name;

    if (!uname(&name))
        fprintf(out, "# Sysname %s %s %s %s\n", name.sysname, name.release, name.version, name.machine);
    processor_print(out);
}

void bench_place_print(const struct bench *bench, const struct team_member *member)
{
    FILE *out = stderr;

    fprintf(out, "thread: %zu\n", member->number);
    if (bench->place.size > 1) {
        const struct tacet_node *node = tacet_node();
        const uint64_t base_ticks = node ? node->boot_ticks : 0;

        fprintf(out, "rank: %u of %u\n", bench->place.rank, bench->place.size);
        fprintf(out, "start: %" PRIu64 " ticks (since boot; the same for all ranks that began together)\n",
                member->origin_ticks - base_ticks);
    }
    fprintf(out, "cpu: %u%s\n", member->cpu,
            member->cpu_after == member->cpu ? "" : " (moved during the window)");
}

void bench_clock_print(const struct bench *bench)
{
    FILE *out = stderr;

    fprintf(out, "ticks_per_ns: %.9g\n", bench->ticks_per_ns);
    fprintf(out, "clock_step: %" PRIu64 " ticks\n", bench->grain.step_ticks);
    fprintf(out, "clock_read: %" PRIu64 " ticks\n", bench->grain.read_ticks);
    fprintf(out, "clock_invariant: %s\n", cycles_invariant() ? "yes" : "no");
}

void bench_detours_print(uint64_t detours)
{
    fprintf(stderr, "detours: %" PRIu64 "%s\n", detours, detours ? "" : " (zero detours)");
}

void bench_entries_print(const struct team_member *member)
{
    counters_print(stderr, member->before, member->after);
    smi_print(stderr, &member->smi_before, &member->smi_after);
}

bool bench_output_end(const struct bench *bench, struct team_member *member)
{
    FILE *out = member->output;

    if (fflush(out) || ferror(out) || (out != stdout && fclose(out))) {
        fprintf(stderr, "%s: cannot write %s: %s\n", bench->program,
                *member->path ? member->path : "standard output", strerror(errno));
        return false;
    }
    return true;
}
