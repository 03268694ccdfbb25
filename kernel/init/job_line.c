/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * job_line.c: see job.h: the job that the command line describes. On the first CPU, before it begins; a
 * mistake stops the node.
 */
#include "init/job.h"
#include "arch.h"
#include "debug/stop.h"
#include "init/job_state.h"
#include "launch/launcher.h"
#include "lib/kstring.h"
#include "process/process.h"

#define STACK_BYTES_DEFAULT (8ULL << 20)
#define STACK_BYTES_MIN     (64ULL << 10)
#define STACK_BYTES_MAX     (64ULL << 30)
#define ENVIRONMENT_MAX     COMMAND_LINE_OPTIONS_MAX

#define SERVICE_ARGUMENTS_MAX  16
#define SERVICE_LINE_BYTES     256
#define SERVICE_STACK_BYTES    (256ULL << 10)
#define SERVICE_MEMORY_DEFAULT (32ULL << 20)
#define SERVICE_MEMORY_MIN     (8ULL << 20)
#define SERVICE_MEMORY_MAX     (1ULL << 30)

static const char *arguments[COMMAND_LINE_ARGUMENTS_MAX + 1], *environment[ENVIRONMENT_MAX],
    *service_arguments[SERVICE_ARGUMENTS_MAX];

static void environment_read(const struct command_line *line)
{
    for (unsigned i = 0; i < line->option_count; i++) {
        const char *value = line->options[i].value;

        if (strcmp(line->options[i].name, "env") != 0)
            continue;
        if (!value || value[0] == '=' || !value[0])
            node_stop(STOP_BAD_INPUT, "env= wants NAME=VALUE");
        environment[job.program.environment_count++] = value;
    }
}

/* Reads an option's size; without the option returns `bytes`. */
static uint64_t bytes_read(const struct command_line *line, const char *name, uint64_t low, uint64_t high,
                           uint64_t bytes)
{
    struct message why;

    start_check(option_value(OPTION_BYTES, name, command_line_option(line, name), low, high, &bytes, &why),
                &why);
    return bytes;
}

static unsigned ranks_read(const struct command_line *line, unsigned cpu_count)
{
    const char *text = command_line_option(line, "ranks");
    unsigned ranks_max = cpu_count < MEMPLAN_RANKS_MAX ? cpu_count : MEMPLAN_RANKS_MAX;
    uint64_t ranks = ranks_max;
    struct message why;

    if (option_value(OPTION_NUMBER, "ranks", text, 1, ranks_max, &ranks, &why))
        node_stop(STOP_BAD_INPUT, "%s (at most one rank a CPU and %u in all; %u CPUs run)", why.text,
                  MEMPLAN_RANKS_MAX, cpu_count);
    return (unsigned)ranks;
}

/* Reads service="PATH ARGUMENT …": words between blanks. */
static void service_read(const struct command_line *line)
{
    static char words[SERVICE_LINE_BYTES];
    const char *text = command_line_option(line, "service");
    unsigned count = 0, is_other = 0;
    struct message why;

    if (!text)
        return;
    if (strlen(text) >= sizeof(words))
        node_stop(STOP_BAD_INPUT, "service= has more than %u characters", SERVICE_LINE_BYTES - 1);
    memcpy(words, text, strlen(text) + 1);
    for (char *c = words; *c; c++) {
        if (*c == ' ')
            *c = '\0';
        else if ((c == words || !c[-1]) && count++ < SERVICE_ARGUMENTS_MAX)
            service_arguments[count - 1] = c;
    }
    if (!count || count > SERVICE_ARGUMENTS_MAX)
        node_stop(STOP_BAD_INPUT, "service= wants a program and at most %u arguments, as service=/daemon",
                  SERVICE_ARGUMENTS_MAX - 1);
    job.service = (struct program){
        .path = service_arguments[0],
        .arguments = service_arguments,
        .argument_count = count,
        .environment = environment,
        .stack_bytes = SERVICE_STACK_BYTES,
        .stack_is_data = job.program.stack_is_data,
    };
    start_check(option_word(line, "service_policy", "idle, other", &is_other, &why), &why);
    job.service_policy = is_other ? POLICY_OTHER : POLICY_IDLE;
}

uint64_t job_service_bytes(const struct command_line *line)
{
    uint64_t bytes =
        bytes_read(line, "service_memory", SERVICE_MEMORY_MIN, SERVICE_MEMORY_MAX, SERVICE_MEMORY_DEFAULT);

    return command_line_option(line, "service") ? (bytes + ARCH_LARGE_PAGE - 1) & -ARCH_LARGE_PAGE : 0;
}

void job_configure(const struct command_line *line, unsigned cpu_count)
{
    const char *path = command_line_option(line, "app");
    const char *name = command_line_option(line, "argv0");
    unsigned has_prefix = 0, stack_is_data = 0;
    struct message why;

    start_check(option_word(line, "execstack", "on, off", &stack_is_data, &why) ||
                    option_word(line, "prefix", "none, rank", &has_prefix, &why),
                &why);
    job.program = (struct program){
        .path = path ? path : PROGRAM_DEFAULT,
        .arguments = arguments,
        .argument_count = line->argument_count + 1,
        .environment = environment,
        .stack_bytes = bytes_read(line, "stack", STACK_BYTES_MIN, STACK_BYTES_MAX, STACK_BYTES_DEFAULT),
        .stack_is_data = stack_is_data,
    };
    arguments[0] = name ? name : job.program.path;
    memcpy(&arguments[1], line->arguments, line->argument_count * sizeof(line->arguments[0]));
    environment_read(line);
    job.prefix = has_prefix;
    job.directory_path = command_line_option(line, "cwd");
    service_read(line);
    process_rank_count = ranks_read(line, cpu_count);
}

_Noreturn void job_start(struct memplan *plan, const struct memory_slice *service, struct tree *tree)
{
    struct message why;
    int error;

    job.plan = plan;
    job.tree = tree;
    job.service_slice = *service;
    if (launcher_is_on()) {
        launcher_rests(true);
        job_next();
    }
    error = program_find("app", job.program.path, &job.program.inode, &why);
    if (!error && job.service.path) {
        error = program_find("service", job.service.path, &job.service.inode, &why);
        job.service.environment_count = job.program.environment_count;
    }
    if (!error)
        error = directory_find(job.directory_path, &job.directory, &why);
    if (!error)
        error = program_link(job.program.path, &why);
    start_check(error, &why);
    job_begin();
}
