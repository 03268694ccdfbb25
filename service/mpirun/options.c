/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.c: tacet-mpirun's command line: mpiexec's words as the MPI standard suggests them (MPI 4.0, chapter
 * 11.5, "Portable MPI Process Startup"), several programs parted by ':' among them.
 */
#include "lib/version.h"
#include "service/mpirun/mpirun.h"
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_MAX 31536000u /* a year */

static const char usage[] =
    "usage: tacet-mpirun [OPTIONS] PROGRAM [ARGUMENTS] [: [-n N] [-e NAME=VALUE] PROGRAM [ARGUMENTS]]...\n"
    "\n"
    "Runs a program as several ranks on this machine, and ends with 0 once all have ended with 0.\n"
    "A rank that ends otherwise, or before MPI_Finalize, ends the job, and its status is the job's\n"
    "(128 and the signal's number, where a signal has killed it).\n"
    "\n"
    "  -n, -np N            so many ranks, 1 to 1024 (default: one on each CPU; with ':', one)\n"
    "      --bind           each rank on one CPU, in turn (default where there are CPUs enough)\n"
    "      --no-bind        all ranks on all CPUs\n"
    "  -l, --label          write each line's rank before it\n"
    "      --stdin RANK|none  who reads the standard input (default: rank 0)\n"
    "  -e NAME=VALUE        a variable of the ranks' environment; again for more\n"
    "      --nodes K        tell the ranks that they lie on so many nodes, in blocks: their MPI library\n"
    "                       then takes the network where they could share memory\n"
    "      --timeout S      end the job after so many seconds, with status 124\n"
    "      --help, --version\n";

/* Options without a letter. */
enum { OPTION_BIND = 256, OPTION_NO_BIND, OPTION_STDIN, OPTION_NODES, OPTION_TIMEOUT, OPTION_VERSION };

static const struct option options[] = { { "np", required_argument, NULL, 'n' },
                                         { "bind", no_argument, NULL, OPTION_BIND },
                                         { "no-bind", no_argument, NULL, OPTION_NO_BIND },
                                         { "label", no_argument, NULL, 'l' },
                                         { "stdin", required_argument, NULL, OPTION_STDIN },
                                         { "nodes", required_argument, NULL, OPTION_NODES },
                                         { "timeout", required_argument, NULL, OPTION_TIMEOUT },
                                         { "version", no_argument, NULL, OPTION_VERSION },
                                         { "help", no_argument, NULL, 'h' },
                                         { NULL, 0, NULL, 0 } };

/* Those that tell a rank who it is: each rank gets its own. */
static const char *const own_variables[] = { "PMI_FD", "PMI_RANK", "PMI_SIZE", "PMI_PORT", "PMI_ID" };

__attribute__((format(printf, 1, 2))) static _Noreturn void wrong(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fputs("tacet-mpirun: ", stderr);
    vfprintf(stderr, format, arguments);
    fputs(" (tacet-mpirun --help)\n", stderr);
    va_end(arguments);
    exit(2);
}

static uint32_t number_of(const char *option, const char *text, uint32_t min, uint32_t max)
{
    uint64_t number = 0;
    size_t digits = strspn(text, "0123456789");

    for (size_t i = 0; i < digits && number <= max; i++)
        number = number * 10 + (uint64_t)(text[i] - '0');
    if (!digits || text[digits] || number < min || number > max)
        wrong("%s %s: it takes a number, %u to %u", option, text, min, max);
    return (uint32_t)number;
}

static void *memory_of(void *old, size_t bytes)
{
    void *memory = realloc(old, bytes);

    if (!memory) {
        fputs("tacet-mpirun: no memory for the command line\n", stderr);
        exit(STATUS_FAILED);
    }
    return memory;
}

static void variable_add(struct program *program, const char *text)
{
    const char *sign = strchr(text, '=');

    if (!sign || sign == text)
        wrong("-e %s: it takes NAME=VALUE", text);
    for (unsigned i = 0; i < sizeof(own_variables) / sizeof(own_variables[0]); i++)
        if (strncmp(text, own_variables[i], (size_t)(sign - text)) == 0 && !own_variables[i][sign - text])
            wrong("-e %s: each rank gets its own %s from tacet-mpirun", text, own_variables[i]);
    program->variables =
        memory_of(program->variables, (program->variable_count + 1) * sizeof(program->variables[0]));
    program->variables[program->variable_count++] = text;
}

static _Noreturn void text_print(const char *text)
{
    exit(fputs(text, stdout) < 0 || fflush(stdout) ? STATUS_FAILED : 0);
}

static void option_take(struct plan *plan, struct program *program, int option, const char *text)
{
    switch (option) {
    case 'n':
        program->ranks = number_of("-n", text, 1, RANKS_MAX);
        break;
    case 'l':
        plan->is_labelled = true;
        break;
    case 'e':
        variable_add(program, text);
        break;
    case OPTION_BIND:
        plan->bind = BIND_ALWAYS;
        break;
    case OPTION_NO_BIND:
        plan->bind = BIND_NEVER;
        break;
    case OPTION_STDIN:
        plan->stdin_rank =
            strcmp(text, "none") == 0 ? PMI_RANK_NONE : number_of("--stdin", text, 0, RANKS_MAX - 1);
        break;
    case OPTION_NODES:
        plan->nodes = number_of("--nodes", text, 1, RANKS_MAX);
        break;
    case OPTION_TIMEOUT:
        plan->timeout_ns = number_of("--timeout", text, 1, SECONDS_MAX) * SECOND_NS;
        break;
    case OPTION_VERSION:
        text_print("tacet-mpirun (Tacet " TACET_VERSION "), PMI 1.1\n");
    case 'h':
        text_print(usage);
    default: /* getopt has named it */
        fputs("tacet-mpirun: tacet-mpirun --help lists the options\n", stderr);
        exit(2);
    }
}

/* One program and the options before it. words[0] is none of them. */
static void program_read(struct plan *plan, struct program *program, int count, char **words)
{
    int option;

    optind = 0; /* from the beginning again */
    /* Options end at the first other word: what follows belongs to the program. */
    while ((option = getopt_long_only(count, words, "+n:le:h", options, NULL)) != -1)
        option_take(plan, program, option, optarg);
    if (optind >= count && plan->program_count > 1)
        wrong("program %u: before and after each ':' it takes a program to run", plan->program_count);
    if (optind >= count)
        wrong("it takes the program to run");
    if (!*words[optind])
        wrong("the program's name is empty");
    program->words = words + optind;
}

/* A part of the words as a command line of its own. The first one is ':', or this program's name. */
static char **words_copy(int count, char **words)
{
    char **copy = memory_of(NULL, ((size_t)count + 1) * sizeof(copy[0]));

    memcpy(copy, words, (size_t)count * sizeof(copy[0]));
    copy[0] = (char *)"tacet-mpirun";
    copy[count] = NULL;
    return copy;
}

static void ranks_count(struct plan *plan, unsigned cpus)
{
    for (unsigned i = 0; i < plan->program_count; i++) {
        struct program *program = &plan->programs[i];

        if (!program->ranks)
            program->ranks = plan->program_count > 1 || !cpus ? 1 : cpus < RANKS_MAX ? cpus : RANKS_MAX;
        plan->ranks += program->ranks;
        if (plan->ranks > RANKS_MAX)
            wrong("these are more than %u ranks", RANKS_MAX);
    }
    if (plan->nodes > plan->ranks)
        wrong("--nodes %u: each node has a rank at least, and there are %u ranks", plan->nodes, plan->ranks);
    if (plan->stdin_rank != PMI_RANK_NONE && plan->stdin_rank >= plan->ranks)
        wrong("--stdin %u: ranks are 0 to %u", plan->stdin_rank, plan->ranks - 1);
}

void plan_read(struct plan *plan, int count, char **words, unsigned cpus)
{
    plan->nodes = 1;
    for (int begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && strcmp(words[end], ":") != 0; end++)
            ;
        plan->programs = memory_of(plan->programs, ++plan->program_count * sizeof(plan->programs[0]));
        struct program *program = &plan->programs[plan->program_count - 1];
        *program = (struct program){ .words = words_copy(end - begin, words + begin) };
        program_read(plan, program, end - begin, program->words);
    }
    ranks_count(plan, cpus);
}
