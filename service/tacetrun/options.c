/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.c: tacetrun's command line (docs/jobs.md): srun's options where they mean the same.
 */
#include "service/lib/control.h"
#include "service/tacetrun/tacetrun.h"
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_MAX      31536000u /* a year */
#define WITHIN_DEFAULT_S 10

static const char usage[] =
    "usage: tacetrun [OPTIONS] PROGRAM [ARGUMENTS]\n"
    "\n"
    "Runs a program on nodes of the cluster, and ends with the highest of its ranks' exit statuses.\n"
    "\n"
    "  -N, --nodes N            on so many nodes, the first idle ones (default: on all)\n"
    "  -n, --ranks N            so many ranks, in blocks (default: one on each node)\n"
    "  -c, --cpus-per-rank C    CPUs of each rank (default: the ranks of a node share all)\n"
    "  -w, --nodelist A,B,...     these nodes, NAME or NAME:PORT (default: $TACET_NODES,\n"
    "                           or those that the conductor knows)\n"
    "      --env NAME=VALUE     a variable of the ranks' environment; again for more\n"
    "  -D, --chdir PATH         the working directory, on the nodes (also --cwd)\n"
    "      --bcast              send the program from here (also --send)\n"
    "  -i, --input RANK|none    who reads the standard input (default: rank 0)\n"
    "  -l, --label              write each line's rank before it\n"
    "  -K, --kill-on-bad-exit   end all ranks once one has ended with another status than 0\n"
    "  -W, --wait S             end the others so many seconds after the first rank has ended\n"
    "  -t, --time S             end the job after so many seconds\n"
    "      --within S           nodes have to answer within so many seconds (default: 10)\n"
    "      --silence S          a node is dead whose network does not answer for so long; 0: never\n"
    "                           (default: 10, and never for Tacet's own: a program that only\n"
    "                           computes keeps them silent)\n"
    "      --conductor SOCKET   (default: $" CONTROL_VARIABLE ", or " CONTROL_SOCKET ")\n"
    "      --key FILE           make tickets with this key, without the conductor\n"
    "      --port P             listen for ranks on this port (default: any)\n"
    "      --help\n";

/* Options without a letter. */
enum {
    OPTION_ENV = 256,
    OPTION_BCAST,
    OPTION_WITHIN,
    OPTION_SILENCE,
    OPTION_CONDUCTOR,
    OPTION_KEY,
    OPTION_PORT
};

static const struct option options[] = { { "nodes", required_argument, NULL, 'N' },
                                         { "ranks", required_argument, NULL, 'n' },
                                         { "ntasks", required_argument, NULL, 'n' },
                                         { "cpus-per-rank", required_argument, NULL, 'c' },
                                         { "cpus-per-task", required_argument, NULL, 'c' },
                                         { "nodelist", required_argument, NULL, 'w' },
                                         { "env", required_argument, NULL, OPTION_ENV },
                                         { "chdir", required_argument, NULL, 'D' },
                                         { "cwd", required_argument, NULL, 'D' },
                                         { "bcast", no_argument, NULL, OPTION_BCAST },
                                         { "send", no_argument, NULL, OPTION_BCAST },
                                         { "input", required_argument, NULL, 'i' },
                                         { "label", no_argument, NULL, 'l' },
                                         { "kill-on-bad-exit", no_argument, NULL, 'K' },
                                         { "wait", required_argument, NULL, 'W' },
                                         { "time", required_argument, NULL, 't' },
                                         { "within", required_argument, NULL, OPTION_WITHIN },
                                         { "silence", required_argument, NULL, OPTION_SILENCE },
                                         { "conductor", required_argument, NULL, OPTION_CONDUCTOR },
                                         { "key", required_argument, NULL, OPTION_KEY },
                                         { "port", required_argument, NULL, OPTION_PORT },
                                         { "help", no_argument, NULL, 'h' },
                                         { NULL, 0, NULL, 0 } };

__attribute__((format(printf, 1, 2))) static _Noreturn void wrong(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fputs("tacetrun: ", stderr);
    vfprintf(stderr, format, arguments);
    fputs(" (tacetrun --help)\n", stderr);
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

static uint64_t seconds_of(const char *option, const char *text, uint32_t min)
{
    return number_of(option, text, min, SECONDS_MAX) * SECOND_NS;
}

static void variable_add(struct plan *plan, const char *text)
{
    const char *sign = strchr(text, '=');

    if (!sign || sign == text)
        wrong("--env %s: it takes NAME=VALUE", text);
    /* The node's, PMI's, and these share the protocol's room. */
    if (plan->variable_count == LAUNCH_VARIABLES_MAX - 8)
        wrong("--env %s: there may be %u of them", text, LAUNCH_VARIABLES_MAX - 8);
    plan->variables[plan->variable_count++] = text;
}

static void option_take(struct plan *plan, int option, const char *text)
{
    switch (option) {
    case 'N':
        plan->nodes = number_of("-N", text, 1, LAUNCH_RANKS_MAX);
        break;
    case 'n':
        plan->ranks = number_of("-n", text, 1, LAUNCH_RANKS_MAX);
        break;
    case 'c':
        plan->cpus = number_of("-c", text, 1, LAUNCH_CPUS_MAX);
        break;
    case 'w':
        plan->names = text;
        break;
    case 'D':
        if (*text != '/')
            wrong("-D %s: it takes a whole path on the nodes, as /mnt", text);
        plan->directory = text;
        break;
    case 'i':
        plan->stdin_rank =
            strcmp(text, "none") == 0 ? LAUNCH_RANK_NONE : number_of("-i", text, 0, LAUNCH_RANKS_MAX - 1);
        break;
    case 'l':
        plan->is_labelled = true;
        break;
    case 'K':
        plan->kills_on_bad_exit = true;
        break;
    case 'W':
        plan->wait_ns = seconds_of("-W", text, 1);
        break;
    case 't':
        plan->time_ns = seconds_of("-t", text, 1);
        break;
    case OPTION_ENV:
        variable_add(plan, text);
        break;
    case OPTION_BCAST:
        plan->is_sent = true;
        break;
    case OPTION_WITHIN:
        plan->within_ns = seconds_of("--within", text, 1);
        break;
    case OPTION_SILENCE:
        plan->silence_ns = seconds_of("--silence", text, 0);
        plan->has_silence = true;
        break;
    case OPTION_CONDUCTOR:
        plan->conductor = text;
        plan->needs_conductor = true;
        break;
    case OPTION_KEY:
        plan->key_file = text;
        break;
    case OPTION_PORT:
        plan->port = (uint16_t)number_of("--port", text, 1, UINT16_MAX);
        break;
    case 'h':
        exit(fputs(usage, stdout) < 0);
    default:
        fputs("tacetrun: tacetrun --help lists the options\n", stderr);
        exit(2);
    }
}

static void program_check(const struct plan *plan)
{
    const char *name = plan->program[0];

    if (!strchr(name, '/') && plan->is_sent)
        wrong("%s: to send a file of this folder, say ./%s", name, name);
    if (!strchr(name, '/'))
        wrong("%s: there is no search for programs: say its path on the nodes, as /mnt/%s, or send it from "
              "here, as --bcast ./%s",
              name, name, name);
    if (name[strlen(name) - 1] == '/')
        wrong("%s: a program is a file, and this is a folder", name);
}

void plan_read(struct plan *plan, int count, char **words)
{
    const char *from_environment = getenv(CONTROL_VARIABLE);
    int option;

    plan->within_ns = WITHIN_DEFAULT_S * SECOND_NS;
    plan->conductor = from_environment && *from_environment ? from_environment : CONTROL_SOCKET;
    /* Options end at the first other word: what follows belongs to the program. */
    while ((option = getopt_long(count, words, "+N:n:c:w:D:i:lKW:t:h", options, NULL)) != -1)
        option_take(plan, option, optarg);
    if (optind >= count)
        wrong("it takes the program to run");
    plan->program = words + optind;
    plan->argument_count = (unsigned)(count - optind);
    if (plan->argument_count > LAUNCH_ARGUMENTS_MAX)
        wrong("a program takes %u arguments at most, its name among them", LAUNCH_ARGUMENTS_MAX);
    program_check(plan);
    if (plan->ranks && plan->nodes > plan->ranks)
        wrong("-N %u -n %u: each node runs a rank at least", plan->nodes, plan->ranks);
    if (plan->ranks && plan->stdin_rank != LAUNCH_RANK_NONE && plan->stdin_rank >= plan->ranks)
        wrong("-i %u: ranks are 0 to %u", plan->stdin_rank, plan->ranks - 1);
}
