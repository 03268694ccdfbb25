/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main.c: the command `balance`: shows what the heuristic does on modelled cores, runs a job that tries the
 * library, and shows the figures of a running job. See docs/balancer.md.
 */
#include "balance.h"
#include "job.h"
#include "model.h"
#include "parse.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define MS               UINT64_C(1000000)
#define MODEL_ITERATIONS 50

static const char usage[] =
    "usage: balance model [--need SHARE] [--yield]\n"
    "       balance job --works TIME,TIME,... [--iterations N] [--modelled [--need SHARE]]\n"
    "                   [--yield] [--name NAME]\n"
    "       balance show NAME\n"
    "\n"
    "Balances the ranks of a core by hardware priorities.\n"
    "  model  prints a table of their effect on two ranks on a model of a core\n"
    "  job    runs a job on this machine: threads with these works and a barrier use the library\n"
    "  show   prints the figures of the ranks that have joined NAME\n"
    "\n"
    "  --need SHARE      share of a core's decode slots with which a rank is as fast as alone (default 1)\n"
    "  --yield           a rank that waits leaves the core to the others (default: it polls)\n"
    "  --iterations N    number of iterations (default 10)\n"
    "  --name NAME       name that the ranks join (default job.PID)\n"
    "  --modelled        the two ranks sleep for as long as the model says they would run\n";

static struct job_settings given = { .iterations = 10, .model = { .need = 1 } };

static const struct option options[] = {
    { "need", required_argument, NULL, 'n' },  { "yield", no_argument, NULL, 'y' },
    { "works", required_argument, NULL, 'w' }, { "name", required_argument, NULL, 'N' },
    { "modelled", no_argument, NULL, 'm' },    { "iterations", required_argument, NULL, 'i' },
    { "help", no_argument, NULL, 'h' },        { 0 },
};

/* ---- model ---- */

struct outcome {
    uint64_t untouched_ns, last_ns;
    unsigned priority[2], changes;
};

static uint64_t iterate(struct balance_core *core, const uint64_t work_ns[2])
{
    const unsigned priority[2] = { core->siblings[0].priority, core->siblings[1].priority };
    uint64_t running_ns[2];

    model_iteration(&given.model, work_ns, priority, running_ns);
    const uint64_t length_ns = running_ns[0] > running_ns[1] ? running_ns[0] : running_ns[1];
    for (int i = 0; i < 2; i++)
        balance_add(&core->siblings[i], (struct balance_times){ running_ns[i], length_ns - running_ns[i] });
    return length_ns;
}

static struct outcome balanced(const uint64_t work_ns[2])
{
    const struct balance_rules *rules = &balance_rules_default;
    struct balance_core core = { .count = 2 };
    struct outcome outcome = { 0 };

    core.siblings[0].priority = core.siblings[1].priority = rules->lowest;
    for (int i = 0; i < MODEL_ITERATIONS; i++) {
        outcome.last_ns = iterate(&core, work_ns);
        if (!i)
            outcome.untouched_ns = outcome.last_ns;
        outcome.changes += balance_decide(&core, rules);
    }
    for (int i = 0; i < 2; i++)
        outcome.priority[i] = core.siblings[i].priority;
    return outcome;
}

static int model_print(void)
{
    static const uint64_t works_ms[][2] = { { 10, 10 }, { 13, 10 }, { 16, 10 }, { 20, 10 },
                                            { 30, 10 }, { 40, 10 }, { 70, 10 }, { 150, 10 } };

    printf("two ranks on a core; a rank needs %.2f of its slots, and %s when it waits\n\n", given.model.need,
           given.model.yields ? "yields" : "polls");
    printf("%-12s%-14s%-14s%-14s%-10s%s\n", "work", "untouched", "balanced", "priorities", "changes", "gain");
    for (size_t i = 0; i < sizeof(works_ms) / sizeof(*works_ms); i++) {
        const uint64_t work_ns[2] = { works_ms[i][0] * MS, works_ms[i][1] * MS };
        const struct outcome outcome = balanced(work_ns);
        const double gain = 1 - (double)outcome.last_ns / (double)outcome.untouched_ns;
        char work[32], priorities[32];

        snprintf(work, sizeof(work), "%" PRIu64 " : %" PRIu64, works_ms[i][0], works_ms[i][1]);
        snprintf(priorities, sizeof(priorities), "%u : %u", outcome.priority[0], outcome.priority[1]);
        printf("%-12s%-14.1f%-14.1f%-14s%-10u%.0f %%\n", work, (double)outcome.untouched_ns / 1e6,
               (double)outcome.last_ns / 1e6, priorities, outcome.changes, 100 * gain);
    }
    return 0;
}

/* ---- show ---- */

static int show(const char *name)
{
    const struct balance_page *page = balance_page_open(name);

    if (!page) {
        fprintf(stderr, "balance: show %s: %s; no job of that name has joined\n", name, strerror(errno));
        return 1;
    }
    puts("core  thread  cpu  priority  iterations  running_us  waiting_us  U_i   U");
    for (unsigned i = 0; i < BALANCE_CORES_MAX && page->places[i].core; i++) {
        const struct balance_place *place = &page->places[i];

        for (unsigned j = 0; j < place->joined && j < BALANCE_SIBLINGS_MAX; j++) {
            const struct balance_figures *figures = &place->figures[j];

            printf("%-6u%-8u%-5u%-10u%-12" PRIu64 "%-12" PRIu64 "%-12" PRIu64 "%.2f  %.2f\n", place->core - 1,
                   figures->thread, figures->cpu, figures->priority, figures->iterations,
                   figures->last.running_ns / 1000, figures->last.waiting_ns / 1000,
                   balance_utilisation(figures->last) / 1000.0, balance_utilisation(figures->sum) / 1000.0);
        }
    }
    munmap((void *)page, sizeof(*page));
    return 0;
}

/* ---- Options ---- */

static bool is_given[256]; /* by an option's letter */

/* The commands: the number of words that are no options, and the letters of the options that apply. The first
 * entry that fits is taken. */
static const struct mode {
    const char *command, *described, *letters;
    int words;
    bool modelled;
} modes[] = {
    { "model", "model", "ny", 1, false },
    { "job", "job --modelled", "wNiynm", 1, true },
    { "job", "job without --modelled", "wNiy", 1, false },
    { "show", "show", "", 2, false },
};

static const struct mode *mode_find(const char *command, int words)
{
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
        if (!strcmp(command, modes[i].command) && words == modes[i].words &&
            (given.modelled || !modes[i].modelled))
            return &modes[i];
    return NULL;
}

/* Checks that all given options apply to the command; names the first that does not. */
static bool options_belong(const struct mode *mode)
{
    for (const struct option *option = options; option->name; option++)
        if (is_given[option->val] && !strchr(mode->letters, option->val)) {
            fprintf(stderr, "balance: --%s is no option of %s\n", option->name, mode->described);
            return false;
        }
    return true;
}

/* Reads an option's value. Returns NULL, or a phrase that says which values are right. */
static const char *option_read(int code, const char *text)
{
    const char *wrong = NULL;

    switch (code) {
    case 'n':
        return parse_positive(text, 1, &given.model.need);
    case 'y':
        given.model.yields = true;
        return NULL;
    case 'm':
        given.modelled = true;
        return NULL;
    case 'N':
        given.name = text;
        return strlen(text) < BALANCE_NAME_MAX ? NULL : "give a shorter name";
    case 'i':
        return parse_count(text, 1, JOB_ITERATIONS_MAX, &given.iterations);
    default:
        wrong = parse_time_list(text, given.work_ns, BALANCE_SIBLINGS_MAX, &given.ranks);
        return wrong || given.ranks >= 2 ? wrong : "give the times of two ranks at least, as in 30ms,10ms";
    }
}

/* Reads the options. Returns false if the program should end with *status. */
static bool options_read(int count, char **words, int *status)
{
    int code;

    *status = 2;
    while ((code = getopt_long(count, words, "", options, NULL)) != -1) {
        if (code == 'h') {
            *status = fputs(usage, stdout) < 0;
            return false;
        }
        const char *wrong = code == '?' ? "" : option_read(code, optarg);

        is_given[code & 255] = true;
        if (wrong && *wrong)
            fprintf(stderr, "balance: %s: %s\n", optarg, wrong);
        if (wrong)
            return false;
    }
    return true;
}

int main(int count, char **words)
{
    int status;

    if (!options_read(count, words, &status))
        return status;
    char **rest = words + optind;
    const struct mode *mode = rest[0] ? mode_find(rest[0], count - optind) : NULL;

    if (mode && !options_belong(mode))
        return 2;
    if (mode && !strcmp(mode->command, "model"))
        return model_print();
    if (mode && !strcmp(mode->command, "show"))
        return show(rest[1]);
    if (mode && given.ranks)
        return job_run(&given);
    return fputs(usage, stderr), 2;
}
