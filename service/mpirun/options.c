/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.c: tacet-mpirun's command line: mpiexec's options as the MPI standard suggests them (MPI 4.0,
 * chapter 11.5, "Portable MPI Process Startup"), including several programs separated by ':'.
 */
#include "service/mpirun/mpirun.h"
#include "lib/version.h"
#include "service/lib/options.h"
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: tacet-mpirun [OPTIONS] PROGRAM [ARGUMENTS] [: [-n N] [-e NAME=VALUE] PROGRAM [ARGUMENTS]]...\n"
    "\n"
    "Runs a program as several ranks on this machine. The exit status is 0 if all ranks end with 0.\n"
    "A rank that ends with another status, or before MPI_Finalize, ends the job; its status is then\n"
    "the job's (128 + the signal's number if a signal has killed it).\n"
    "\n"
    "  -n, -np N            run N ranks, 1 to 1024 (default: one on each CPU; with ':', one)\n"
    "      --bind           bind each rank to one CPU, in turn (default if there are enough CPUs)\n"
    "      --no-bind        let all ranks use all CPUs\n"
    "  -l, --label          begin each line of output with its rank\n"
    "      --stdin RANK|none  the rank that reads the standard input (default: 0)\n"
    "  -e NAME=VALUE        a variable of the ranks' environment; may be repeated\n"
    "      --nodes K        tell the ranks that they are on K nodes, in blocks: between these, their\n"
    "                       MPI library then uses the network instead of shared memory\n"
    "      --timeout S      end the job after S seconds, with status 124\n"
    "      --help, --version\n";

/* Variables that tell a rank its place in the job; tacet-mpirun sets them for each rank. */
static const char *const own_variables[] = { "PMI_FD", "PMI_RANK", "PMI_SIZE", "PMI_PORT", "PMI_ID" };

static void *memory_of(void *old, size_t bytes)
{
    void *memory = realloc(old, bytes);

    if (!memory)
        give_up(STATUS_FAILED, "no memory for the command line");
    return memory;
}

static struct program reading; /* the program whose options are being read */

static void variable_add(const char *text)
{
    const char *sign = strchr(text, '=');

    if (!sign || sign == text)
        options_wrong("-e %s: expected NAME=VALUE", text);
    for (unsigned i = 0; i < sizeof(own_variables) / sizeof(own_variables[0]); i++)
        if (strncmp(text, own_variables[i], (size_t)(sign - text)) == 0 && !own_variables[i][sign - text])
            options_wrong("-e %s: tacet-mpirun sets each rank's %s itself", text, own_variables[i]);
    reading.variables =
        memory_of(reading.variables, (reading.variable_count + 1) * sizeof(reading.variables[0]));
    reading.variables[reading.variable_count++] = text;
}

static void bind_take(const char *text)
{
    (void)text; /* it has no value */
    run.plan.bind = BIND_ALWAYS;
}

static void no_bind_take(const char *text)
{
    (void)text;
    run.plan.bind = BIND_NEVER;
}

static void stdin_take(const char *text)
{
    run.plan.stdin_rank =
        strcmp(text, "none") == 0 ? PMI_RANK_NONE : option_number("--stdin", text, 0, RANKS_MAX - 1);
}

static _Noreturn void version_print(const char *text)
{
    (void)text;
    options_print("tacet-mpirun (Tacet " TACET_VERSION "), PMI 1.1\n", STATUS_FAILED);
}

static const struct option_row option_rows[] = {
    { "np", 'n', OPTION_NUMBER, .value = &reading.ranks, .min = 1, .max = RANKS_MAX },
    { "bind", 0, OPTION_CALL, .take = bind_take },
    { "no-bind", 0, OPTION_CALL, .take = no_bind_take },
    { "label", 'l', OPTION_FLAG, .value = &run.plan.is_labelled },
    { "stdin", 0, OPTION_TAKE, .take = stdin_take },
    { NULL, 'e', OPTION_TAKE, .take = variable_add },
    { "nodes", 0, OPTION_NUMBER, .value = &run.plan.nodes, .min = 1, .max = RANKS_MAX },
    { "timeout", 0, OPTION_SECONDS, .value = &run.plan.timeout_ns, .min = 1 },
    { "version", 0, OPTION_CALL, .take = version_print },
    { 0 },
};
static const struct options options = {
    .rows = option_rows, .usage = usage, .failed = STATUS_FAILED, .has_short_dash = true
};

/* Reads a program and the options before it, from words[1] on. */
static struct program program_read(unsigned number, char **words)
{
    reading = (struct program){ 0 };
    reading.words = words + options_read(&options, words, 1);
    if (!*reading.words && number > 1)
        options_wrong("program %u is missing: ':' separates two programs", number);
    if (!*reading.words)
        options_wrong("the program to run is missing");
    if (!**reading.words)
        options_wrong("the program's name is empty");
    return reading;
}

static void ranks_count(struct plan *plan, unsigned cpus)
{
    const unsigned fitting = cpus < RANKS_MAX ? cpus : RANKS_MAX;
    const unsigned default_ranks = plan->program_count > 1 || !cpus ? 1 : fitting;

    for (unsigned i = 0; i < plan->program_count; i++) {
        struct program *program = &plan->programs[i];

        if (!program->ranks)
            program->ranks = default_ranks;
        plan->ranks += program->ranks;
        if (plan->ranks > RANKS_MAX)
            options_wrong("too many ranks, at most %u", RANKS_MAX);
    }
    if (plan->nodes > plan->ranks)
        options_wrong("--nodes %u: each node has at least one rank, and there are only %u ranks", plan->nodes,
                      plan->ranks);
    if (plan->stdin_rank != PMI_RANK_NONE && plan->stdin_rank >= plan->ranks)
        options_wrong("--stdin %u: ranks are 0 to %u", plan->stdin_rank, plan->ranks - 1);
}

void plan_read(int count, char **words, unsigned cpus)
{
    struct plan *plan = &run.plan;

    plan->nodes = 1;
    for (int begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && strcmp(words[end], ":") != 0; end++)
            ;
        words[end] = NULL; /* ends this program's words, as NULL ends the command line */
        plan->programs = memory_of(plan->programs, ++plan->program_count * sizeof(plan->programs[0]));
        plan->programs[plan->program_count - 1] = program_read(plan->program_count, words + begin);
    }
    ranks_count(plan, cpus);
}
