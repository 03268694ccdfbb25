/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.c: tacetrun's command line (docs/jobs.md). Options that mean the same as srun's have the same
 * names.
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
    "Runs a program on nodes of the cluster. The exit status is the highest of its ranks'.\n"
    "\n"
    "  -N, --nodes N            run on N nodes, the first idle ones (default: all)\n"
    "  -n, --ranks N            run N ranks, in blocks over the nodes (default: one on each node)\n"
    "  -c, --cpus-per-rank C    CPUs of each rank (default: the ranks of a node share all)\n"
    "  -w, --nodelist A,B,...     these nodes, NAME or NAME:PORT (default: $TACET_NODES,\n"
    "                           or the nodes that the conductor knows)\n"
    "      --env NAME=VALUE     a variable of the ranks' environment; may be repeated\n"
    "  -D, --chdir PATH         the working directory, on the nodes (also --cwd)\n"
    "      --bcast              send the program from here (also --send)\n"
    "  -i, --input RANK|none    the rank that reads the standard input (default: 0)\n"
    "  -l, --label              begin each line of output with its rank\n"
    "  -K, --kill-on-bad-exit   end all ranks when one ends with a status other than 0\n"
    "  -W, --wait S             end the other ranks S seconds after the first one has ended\n"
    "  -t, --time S             end the job after S seconds\n"
    "      --within S           time limit for answers of nodes, in seconds (default: 10)\n"
    "      --wait-for-nodes S   wait up to S seconds until enough nodes are idle\n"
    "      --silence S          treat a node as dead if its network does not answer for S seconds;\n"
    "                           0: never (default: 10; never for Tacet nodes, which do not answer\n"
    "                           while a program only computes)\n"
    "      --conductor SOCKET   the conductor's socket (default: $" CONTROL_VARIABLE ",\n"
    "                           or " CONTROL_SOCKET ")\n"
    "      --key FILE           make tickets with the site's key, without the conductor\n"
    "      --port P             listen for ranks on this port (default: any)\n"
    "      --help               print this text\n";

static const char *const own_variables[] = { "TACET_RANK", "TACET_SIZE", "TACET_LOCAL_RANK",
                                             "PMI_FD",     "PMI_RANK",   "PMI_SIZE" };

static void variable_add(const char *text)
{
    struct plan *plan = &run.plan;
    const char *sign = strchr(text, '=');

    if (!sign || sign == text)
        options_wrong("--env %s: expected NAME=VALUE", text);
    for (unsigned i = 0; i < sizeof(own_variables) / sizeof(own_variables[0]); i++)
        if (strncmp(text, own_variables[i], (size_t)(sign - text)) == 0 && !own_variables[i][sign - text])
            options_wrong("--env %s: each rank has a %s of its own", text, own_variables[i]);
    /* The protocol's limit includes 8 variables of the node and PMI. */
    if (plan->variable_count == LAUNCH_VARIABLES_MAX - 8)
        options_wrong("--env %s: too many variables, at most %u", text, LAUNCH_VARIABLES_MAX - 8);
    plan->variables[plan->variable_count++] = text;
}

static void directory_take(const char *text)
{
    if (*text != '/')
        options_wrong("-D %s: expected an absolute path on the nodes, as /mnt", text);
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
    { "wait-for-nodes", 0, OPTION_SECONDS, .value = &run.plan.idle_ns, .min = 1 },
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
        options_wrong("%s: to send a file of this folder, write ./%s", name, name);
    if (!strchr(name, '/'))
        options_wrong("%s: nodes do not search for programs: give its path on the nodes, as /mnt/%s, or send "
                      "it from here with --bcast ./%s",
                      name, name, name);
    if (name[strlen(name) - 1] == '/')
        options_wrong("%s: is a folder, not a program", name);
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
        options_wrong("the program to run is missing");
    while (plan->program[plan->argument_count])
        plan->argument_count++;
    if (plan->argument_count > LAUNCH_ARGUMENTS_MAX)
        options_wrong("too many arguments, at most %u with the program's name", LAUNCH_ARGUMENTS_MAX);
    program_check(plan);
    if (plan->ranks && plan->nodes > plan->ranks)
        options_wrong("-N %u -n %u: each node runs at least one rank", plan->nodes, plan->ranks);
    if (plan->ranks && plan->stdin_rank != LAUNCH_RANK_NONE && plan->stdin_rank >= plan->ranks)
        options_wrong("-i %u: ranks are 0 to %u", plan->stdin_rank, plan->ranks - 1);
}
