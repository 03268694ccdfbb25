/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * job.c: see job.h. What the ranks share is set up by the first CPU and constant from job_start on, but for
 * the two words that count the ended ranks.
 */
#include "init/job.h"
#include "arch.h"
#include "time/clock.h"
#include "debug/console.h"
#include "fs/file.h"
#include "debug/klog.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "lib/linux_abi.h"
#include "init/node.h"
#include "process/process.h"
#include "debug/stop.h"

#define STACK_BYTES_DEFAULT (8ULL << 20)
#define STACK_BYTES_MIN     (64ULL << 10)
#define STACK_BYTES_MAX     (64ULL << 30)
#define ENVIRONMENT_MAX     COMMAND_LINE_OPTIONS_MAX
#define RANK_VARIABLES      2 /* TACET_RANK, TACET_SIZE */
#define PROGRAM_DEFAULT     "/init"

static struct {
    const char *path, *name;
    const char *arguments[COMMAND_LINE_ARGUMENTS_MAX + 1];
    unsigned argument_count;
    const char *environment[ENVIRONMENT_MAX];
    unsigned environment_count;
    uint64_t stack_bytes;
    unsigned rank_count;
    bool prefix;

    const struct memplan *plan;
    struct tree *tree;
    struct inode *program;
    bool started;

    unsigned running;      /* ranks that have not ended */
    unsigned worst_status; /* of those that have */
} job;

/* ---- The command line ---- */

static void environment_read(const struct command_line *line)
{
    for (unsigned i = 0; i < line->option_count; i++) {
        const char *value = line->options[i].value;

        if (strcmp(line->options[i].name, "env") != 0)
            continue;
        if (!value || value[0] == '=' || !value[0])
            node_stop(STOP_BAD_INPUT, "env= wants NAME=VALUE");
        job.environment[job.environment_count++] = value;
    }
}

static uint64_t stack_bytes_read(const struct command_line *line)
{
    const char *text = command_line_option(line, "stack");
    uint64_t bytes = STACK_BYTES_DEFAULT;
    struct message why;

    if (text && option_bytes("stack", text, STACK_BYTES_MIN, STACK_BYTES_MAX, &bytes, &why))
        node_stop(STOP_BAD_INPUT, "%s", why.text);
    return bytes;
}

static unsigned ranks_read(const struct command_line *line, unsigned cpu_count)
{
    const char *text = command_line_option(line, "ranks");
    unsigned most = cpu_count < MEMPLAN_RANKS_MAX ? cpu_count : MEMPLAN_RANKS_MAX;
    uint64_t ranks = most;
    struct message why;

    if (text && option_number("ranks", text, 1, most, &ranks, &why))
        node_stop(STOP_BAD_INPUT, "%s (one rank a CPU at the most; %u run)", why.text, cpu_count);
    return (unsigned)ranks;
}

static bool prefix_read(const struct command_line *line)
{
    const char *text = command_line_option(line, "prefix");

    if (text && strcmp(text, "rank") != 0)
        node_stop(STOP_BAD_INPUT, "prefix=%s: the one prefix there is for lines of output is prefix=rank",
                  text);
    return text != NULL;
}

void job_configure(const struct command_line *line, unsigned cpu_count)
{
    const char *path = command_line_option(line, "app");
    const char *name = command_line_option(line, "argv0");

    job.path = path ? path : PROGRAM_DEFAULT;
    job.name = name ? name : job.path;
    job.arguments[0] = job.name;
    for (unsigned i = 0; i < line->argument_count; i++)
        job.arguments[i + 1] = line->arguments[i];
    job.argument_count = line->argument_count + 1;
    environment_read(line);
    job.stack_bytes = stack_bytes_read(line);
    job.prefix = prefix_read(line);
    job.rank_count = ranks_read(line, cpu_count);
}

unsigned job_rank_count(void)
{
    return job.rank_count;
}

/* Ranks fill cores before two of them share one. */
unsigned job_cpu_of(unsigned rank)
{
    unsigned cores = arch_core_count();

    return job.rank_count <= cores ? rank * (cores / job.rank_count) : rank;
}

uint64_t job_cpus_of(unsigned rank)
{
    unsigned cores = arch_core_count();
    uint64_t cpus = 0;

    if (job.rank_count > cores)
        return 1ULL << rank;
    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++)
        if (arch_core_of(cpu) / (cores / job.rank_count) == rank)
            cpus |= 1ULL << cpu;
    return cpus;
}

/* ---- Start ---- */

static struct inode *program_find(struct tree *tree, const char *path)
{
    struct inode *inode;

    if (tree_lookup(tree, tree->root, path, true, &inode))
        node_stop(STOP_BAD_INPUT, "app=%s: there is no such file in the initrd", path);
    if (!mode_is(inode->mode, S_IFREG) || inode->device)
        node_stop(STOP_BAD_INPUT, "app=%s is not a file", path);
    return inode;
}

_Noreturn static void rank_run(unsigned rank)
{
    const char *environment[ENVIRONMENT_MAX + RANK_VARIABLES];
    char rank_text[32], size_text[32];
    struct process_arguments given = {
        .path = job.path,
        .name = job.name,
        .arguments = job.arguments,
        .argument_count = job.argument_count,
        .environment = environment,
        .environment_count = job.environment_count + RANK_VARIABLES,
        .stack_bytes = job.stack_bytes,
        .cpus = job_cpus_of(rank),
        .prefix = job.prefix,
    };
    struct message why = { "" };
    uint64_t entry, stack;

    format_text(rank_text, sizeof(rank_text), "TACET_RANK=%u", rank);
    format_text(size_text, sizeof(size_text), "TACET_SIZE=%u", job.rank_count);
    memcpy(environment, job.environment, sizeof(job.environment));
    environment[job.environment_count] = rank_text;
    environment[job.environment_count + 1] = size_text;

    struct process *process;
    struct thread *thread = NULL;
    int error = process_create(rank, &job.plan->slices[rank], job.tree, &given, &process, &why);
    if (!error) {
        thread = thread_first(process);
        arch_space_activate(&process->vm.space);
        error = process_load(process, job.program, &given, &entry, &stack, &why);
    }
    if (error)
        node_stop(error == -ENOMEM ? STOP_NO_MEMORY : STOP_BAD_INPUT, "%s", why.text);
    if (rank == 0)
        node_zeroed_set(process->vm.zeroed_bytes);
    klog(program_enter, rank, entry);
    arch_start_initial(&thread->start, entry, stack);
    process->start_ns = thread->start_ns = clock_now_ns(); /* loading is nobody's time */
    arch_start_enter(&thread->start);
}

_Noreturn void job_cpu_join(unsigned cpu)
{
    while (!__atomic_load_n(&job.started, __ATOMIC_ACQUIRE))
        arch_cpu_idle();
    for (unsigned rank = 0; rank < job.rank_count; rank++)
        if (cpu == job_cpu_of(rank))
            rank_run(rank);
        else if (job_cpus_of(rank) & 1ULL << cpu)
            thread_idle();
    arch_cpu_park();
}

_Noreturn void job_start(const struct memplan *plan, struct tree *tree)
{
    struct message why;

    job.plan = plan;
    job.tree = tree;
    job.program = program_find(tree, job.path);
    if (!tree_add(tree, "/proc/self/exe", S_IFLNK | 0777, job.path, strlen(job.path), &why))
        node_stop(STOP_NO_MEMORY, "%s", why.text);
    job.running = job.rank_count;
    __atomic_store_n(&job.started, true, __ATOMIC_RELEASE);
    for (unsigned cpu = 1; cpu < arch_cpu_count(); cpu++)
        arch_ipi_send(cpu);
    job_cpu_join(0);
}

/* ---- End ---- */

_Noreturn void job_rank_end(unsigned status)
{
    unsigned worst = __atomic_load_n(&job.worst_status, __ATOMIC_RELAXED);

    file_streams_flush(arch_process());
    files_close(arch_process()); /* what it has locked or removed matters to other ranks */
    klog(program_end, arch_process()->rank, status);
    if (job.rank_count > 1 && status != 0)
        kernel_print("rank %u ended with status %u\n", arch_process()->rank, status);
    while (status > worst && !__atomic_compare_exchange_n(&job.worst_status, &worst, status, false,
                                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    if (__atomic_sub_fetch(&job.running, 1, __ATOMIC_ACQ_REL) > 0)
        arch_cpu_park();
    node_exit(__atomic_load_n(&job.worst_status, __ATOMIC_RELAXED));
}
