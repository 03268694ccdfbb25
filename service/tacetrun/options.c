/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.c: tacetrun's command line (docs/jobs.md): srun's options where they mean the same.
 */
#include "service/lib/control.h"
#include "service/lib/options.h"
#include "service/tacetrun/tacetrun.h"
#include <stdlib.h>
#include <string.h>

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

static void variable_add(const char *text)
{
    struct plan *plan = &run.plan;
    const char *sign = strchr(text, '=');

    if (!sign || sign == text)
        options_wrong("--env %s: it takes NAME=VALUE", text);
    /* The node's, PMI's, and these share the protocol's room. */
    if (plan->variable_count == LAUNCH_VARIABLES_MAX - 8)
        options_wrong("--env %s: there may be %u of them", text, LAUNCH_VARIABLES_MAX - 8);
    plan->variables[plan->variable_count++] = text;
}

static void directory_take(const char *text)
{
    if (*text != '/')
        options_wrong("-D %s: it takes a whole path on the nodes, as /mnt", text);
    run.plan.directory = text;
}

static void input_take(const char *text)
{
    run.plan.stdin_rank =
        strcmp(text, "none") == 0 ? LAUNCH_RANK_NONE : option_number("-i", text, 0, LAUNCH_RANKS_MAX - 1);
}

static const struct option_row option_rows[] = {
    { "nodes", 'N', OPTION_NUMBER, .value = &run.plan.nodes, .min = 1, .max = LAUNCH_RANKS_MAX },
    { "ranks", 'n', OPTION_NUMBER, .value = &run.plan.ranks, .min = 1, .max = LAUNCH_RANKS_MAX },
    { "ntasks", 'n', OPTION_NUMBER, .value = &run.plan.ranks, .min = 1, .max = LAUNCH_RANKS_MAX },
    { "cpus-per-rank", 'c', OPTION_NUMBER, .value = &run.plan.cpus, .min = 1, .max = LAUNCH_CPUS_MAX },
    { "cpus-per-task", 'c', OPTION_NUMBER, .value = &run.plan.cpus, .min = 1, .max = LAUNCH_CPUS_MAX },
    { "nodelist", 'w', OPTION_TEXT, .value = &run.plan.names },
    { "env", 0, OPTION_TAKE, .take = variable_add },
    { "chdir", 'D', OPTION_TAKE, .take = directory_take },
    { "cwd", 'D', OPTION_TAKE, .take = directory_take },
    { "bcast", 0, OPTION_FLAG, .value = &run.plan.is_sent },
    { "send", 0, OPTION_FLAG, .value = &run.plan.is_sent },
    { "input", 'i', OPTION_TAKE, .take = input_take },
    { "label", 'l', OPTION_FLAG, .value = &run.plan.is_labelled },
    { "kill-on-bad-exit", 'K', OPTION_FLAG, .value = &run.plan.kills_on_bad_exit },
    { "wait", 'W', OPTION_SECONDS, .value = &run.plan.wait_ns, .min = 1 },
    { "time", 't', OPTION_SECONDS, .value = &run.plan.time_ns, .min = 1 },
    { "within", 0, OPTION_SECONDS, .value = &run.plan.within_ns, .min = 1 },
    { "silence", 0, OPTION_SECONDS, .value = &run.plan.silence_ns },
    { "conductor", 0, OPTION_TEXT, .value = &run.plan.conductor },
    { "key", 0, OPTION_TEXT, .value = &run.plan.key_file },
    { "port", 0, OPTION_NUMBER, .value = &run.plan.port, .min = 1, .max = UINT16_MAX },
    { 0 },
};
static const struct options options = { .rows = option_rows, .usage = usage, .failed = STATUS_FAILED };

static void program_check(const struct plan *plan)
{
    const char *name = plan->program[0];

    if (!strchr(name, '/') && plan->is_sent)
        options_wrong("%s: to send a file of this folder, say ./%s", name, name);
    if (!strchr(name, '/'))
        options_wrong(
            "%s: there is no search for programs: say its path on the nodes, as /mnt/%s, or send it from "
            "here, as --bcast ./%s",
            name, name, name);
    if (name[strlen(name) - 1] == '/')
        options_wrong("%s: a program is a file, and this is a folder", name);
}

void plan_read(char **words)
{
    const char *from_environment = getenv(CONTROL_VARIABLE);
    struct plan *plan = &run.plan;

    plan->within_ns = WITHIN_DEFAULT_S * SECOND_NS;
    plan->silence_ns = SILENCE_DEFAULT;
    plan->program = words + options_read(&options, words, 1);
    plan->needs_conductor = plan->conductor != NULL;
    if (!plan->needs_conductor)
        plan->conductor = from_environment && *from_environment ? from_environment : CONTROL_SOCKET;
    if (!*plan->program)
        options_wrong("it takes the program to run");
    while (plan->program[plan->argument_count])
        plan->argument_count++;
    if (plan->argument_count > LAUNCH_ARGUMENTS_MAX)
        options_wrong("a program takes %u arguments at most, its name among them", LAUNCH_ARGUMENTS_MAX);
    program_check(plan);
    if (plan->ranks && plan->nodes > plan->ranks)
        options_wrong("-N %u -n %u: each node runs a rank at least", plan->nodes, plan->ranks);
    if (plan->ranks && plan->stdin_rank != LAUNCH_RANK_NONE && plan->stdin_rank >= plan->ranks)
        options_wrong("-i %u: ranks are 0 to %u", plan->stdin_rank, plan->ranks - 1);
}
