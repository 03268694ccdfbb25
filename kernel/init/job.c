/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * job.c: see job.h. Owns what the ranks share. The first CPU sets it up; it is constant from job_start on,
 * but for the two counts of ended ranks, which are atomic.
 */
#include "init/job.h"
#include "arch.h"
#include "beat/command.h"
#include "lib/file_mode.h"
#include "time/clock.h"
#include "debug/console.h"
#include "fs/file.h"
#include "fs/linux_files.h"
#include "fs/mount.h"
#include "debug/klog.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "init/load.h"
#include "init/node.h"
#include "mm/page.h"
#include "net/connection.h"
#include "process/limits.h"
#include "process/process.h"
#include "process/service_window.h"
#include "debug/stop.h"

#define STACK_BYTES_DEFAULT (8ULL << 20)
#define STACK_BYTES_MIN     (64ULL << 10)
#define STACK_BYTES_MAX     (64ULL << 30)
#define DRAIN_NS            (2 * NS_PER_S) /* for what programs have sent, at the node's end */
#define ENVIRONMENT_MAX     COMMAND_LINE_OPTIONS_MAX
#define RANK_VARIABLES      2 /* TACET_RANK, TACET_SIZE */

#define SERVICE_ARGUMENTS_MAX  16
#define SERVICE_LINE_BYTES     256
#define SERVICE_STACK_BYTES    (256ULL << 10)
#define SERVICE_MEMORY_DEFAULT (32ULL << 20)
#define SERVICE_MEMORY_MIN     (8ULL << 20)
#define SERVICE_MEMORY_MAX     (1ULL << 30)

static struct {
    struct program program; /* each rank adds variables to its environment */
    const char *arguments[COMMAND_LINE_ARGUMENTS_MAX + 1];
    const char *environment[ENVIRONMENT_MAX];
    bool prefix;
    const char *directory_path; /* cwd=, or NULL */

    const struct memplan *plan;
    struct tree *tree;
    struct inode *directory; /* in which every rank starts */
    bool started;

    struct program service; /* its path NULL: none */
    uint32_t service_policy;
    const char *service_arguments[SERVICE_ARGUMENTS_MAX];
    struct memory_slice service_slice;

    unsigned running;      /* ranks that have not ended */
    unsigned worst_status; /* of those that have */
} job;

_Noreturn void start_failed(int error, const struct message *why)
{
    node_stop(error == -ENOMEM ? STOP_NO_MEMORY : STOP_BAD_INPUT, "%s", why->text);
}

/* ---- The command line ---- */

static void environment_read(const struct command_line *line)
{
    for (unsigned i = 0; i < line->option_count; i++) {
        const char *value = line->options[i].value;

        if (strcmp(line->options[i].name, "env") != 0)
            continue;
        if (!value || value[0] == '=' || !value[0])
            node_stop(STOP_BAD_INPUT, "env= wants NAME=VALUE");
        job.environment[job.program.environment_count++] = value;
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
    unsigned ranks_max = cpu_count < MEMPLAN_RANKS_MAX ? cpu_count : MEMPLAN_RANKS_MAX;
    uint64_t ranks = ranks_max;
    struct message why;

    if (text && option_number("ranks", text, 1, ranks_max, &ranks, &why))
        node_stop(STOP_BAD_INPUT, "%s (one rank a CPU at the most, and %u in all; %u run)", why.text,
                  MEMPLAN_RANKS_MAX, cpu_count);
    return (unsigned)ranks;
}

/* service="PATH ARGUMENT …": words between blanks. */
static void service_read(const struct command_line *line)
{
    static char words[SERVICE_LINE_BYTES];
    const char *text = command_line_option(line, "service");
    const char *policy = command_line_option(line, "service_policy");
    unsigned count = 0;

    if (!text)
        return;
    if (strlen(text) >= sizeof(words))
        node_stop(STOP_BAD_INPUT, "service= has more than %u characters", SERVICE_LINE_BYTES - 1);
    memcpy(words, text, strlen(text) + 1);
    for (char *c = words; *c; c++) {
        if (*c == ' ')
            *c = '\0';
        else if ((c == words || !c[-1]) && count++ < SERVICE_ARGUMENTS_MAX)
            job.service_arguments[count - 1] = c;
    }
    if (!count || count > SERVICE_ARGUMENTS_MAX)
        node_stop(STOP_BAD_INPUT, "service= wants a program and at most %u arguments, as service=/daemon",
                  SERVICE_ARGUMENTS_MAX - 1);
    job.service = (struct program){
        .path = job.service_arguments[0],
        .arguments = job.service_arguments,
        .argument_count = count,
        .stack_bytes = SERVICE_STACK_BYTES,
    };
    job.service_policy = POLICY_IDLE;
    if (policy && strcmp(policy, "other") == 0)
        job.service_policy = POLICY_OTHER;
    else if (policy && strcmp(policy, "idle") != 0)
        node_stop(STOP_BAD_INPUT, "service_policy=%s: the service can be idle or other", policy);
}

uint64_t job_service_bytes(const struct command_line *line)
{
    const char *text = command_line_option(line, "service_memory");
    uint64_t bytes = SERVICE_MEMORY_DEFAULT;
    struct message why;

    if (text && option_bytes("service_memory", text, SERVICE_MEMORY_MIN, SERVICE_MEMORY_MAX, &bytes, &why))
        node_stop(STOP_BAD_INPUT, "%s", why.text);
    return command_line_option(line, "service") ? (bytes + ARCH_LARGE_PAGE - 1) & -ARCH_LARGE_PAGE : 0;
}

void job_configure(const struct command_line *line, unsigned cpu_count)
{
    const char *path = command_line_option(line, "app");
    const char *name = command_line_option(line, "argv0");
    const char *prefix = command_line_option(line, "prefix");

    job.program = (struct program){
        .path = path ? path : PROGRAM_DEFAULT,
        .arguments = job.arguments,
        .argument_count = line->argument_count + 1,
        .stack_bytes = stack_bytes_read(line),
    };
    job.arguments[0] = name ? name : job.program.path;
    memcpy(&job.arguments[1], line->arguments, line->argument_count * sizeof(line->arguments[0]));
    environment_read(line);
    if (prefix && strcmp(prefix, "rank") != 0)
        node_stop(STOP_BAD_INPUT, "prefix=%s: the one prefix there is for lines of output is prefix=rank",
                  prefix);
    job.prefix = prefix != NULL;
    job.directory_path = command_line_option(line, "cwd");
    service_read(line);
    process_rank_count = ranks_read(line, cpu_count);
}

/* Ranks fill cores before two of them share one. */
unsigned job_cpu_of(unsigned rank)
{
    unsigned cores = arch_core_count();

    return process_rank_count <= cores ? rank * (cores / process_rank_count) : rank;
}

/* The rank that a CPU belongs to; process_rank_count or more: none. */
static unsigned job_rank_of(unsigned cpu)
{
    unsigned cores = arch_core_count();

    return process_rank_count > cores ? cpu : arch_core_of(cpu) / (cores / process_rank_count);
}

struct cpu_mask job_cpus_of(unsigned rank)
{
    struct cpu_mask cpus = { 0 };

    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++)
        if (job_rank_of(cpu) == rank)
            cpu_mask_set(&cpus, cpu);
    return cpus;
}

/* ---- The conductor's commands ---- */

static void rank_command(enum beat_code code)
{
    const unsigned rank = job_rank_of(arch_cpu_index());
    const bool is_first = rank < process_rank_count && job_cpu_of(rank) == arch_cpu_index();
    struct process *process = is_first ? process_find(PID_FIRST + rank) : NULL;
    const struct signal_info info = { .signal = code == BEAT_STOP       ? SIGNAL_STOP
                                                : code == BEAT_CONTINUE ? SIGNAL_CONT
                                                                        : SIGNAL_KILL,
                                      .code = SIGNAL_BY_KERNEL };

    if (process)
        signal_send(process, NULL, &info);
}

static bool services_first(uint64_t window_ns)
{
    return job.service.path && service_window_begin(window_ns);
}

static unsigned ranks_running(void)
{
    return __atomic_load_n(&job.running, __ATOMIC_RELAXED);
}

static const struct command_job commanded = { .command = rank_command,
                                              .services = services_first,
                                              .ranks = ranks_running };

/* ---- End ---- */

/* The process_end_hook. The CPUs of the rank stay idle. */
_Noreturn static void rank_end(struct process *process)
{
    unsigned status = process->exit_status, worst = __atomic_load_n(&job.worst_status, __ATOMIC_RELAXED);

    inode_drop(job.tree, process->directory);
    file_streams_flush(process);
    files_close(process); /* its locks and removed files matter to other ranks */
    klog(program_end, process->rank, status);
    if (process->is_service) {
        kernel_print("the service ended with status %u\n", status);
        thread_leave();
    }
    if (process_rank_count > 1 && status != 0)
        kernel_print("rank %u ended with status %u\n", process->rank, status);
    while (status > worst && !__atomic_compare_exchange_n(&job.worst_status, &worst, status, false,
                                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    if (__atomic_sub_fetch(&job.running, 1, __ATOMIC_ACQ_REL) > 0)
        thread_leave();
    connection_drain(clock_now_ns() + DRAIN_NS);
    node_exit(__atomic_load_n(&job.worst_status, __ATOMIC_RELAXED));
}

/* ---- Start ---- */

/* Gives a process its working directory and its open standard streams. */
static int files_open(struct process *process, struct message *why)
{
    const uint64_t bytes = page_up(sizeof(struct file_table));
    uint64_t memory = page_pool_allocate(process->vm.pages, bytes, ARCH_PAGE);

    if (memory == PAGE_POOL_NONE)
        return message_set(why, -ENOMEM, "no memory for the open files of %s", process->title);
    process->files = arch_physical(memory);
    arch_zero(process->files, bytes);
    process->tree = job.tree;
    process->directory = job.directory;
    spin_lock(&job.tree->lock);
    inode_get(process->directory);
    spin_unlock(&job.tree->lock);
    file_open_streams(process);
    return 0;
}

/* The process of a rank, or the service, with its program loaded; this CPU's, until its first thread is
 * entered or started. Stops the node where that fails. */
static struct thread *process_load(unsigned rank, const struct memory_slice *slice,
                                   const struct cpu_mask *cpus, const struct program *program,
                                   uint64_t *entry, uint64_t *stack)
{
    struct message why = { "" };
    struct thread *thread = NULL;
    struct process *process;
    int error = process_create(rank, slice, cpus, program->arguments[0], &process, &why);

    if (!error)
        error = files_open(process, &why);
    if (!error) {
        process->prefix = job.prefix;
        thread = thread_first(process);
        error = thread ? program_load(process, program, entry, stack, &why)
                       : message_set(&why, -ENOMEM, "no memory for the first thread of %s", process->title);
    }
    if (error)
        start_failed(error, &why);
    klog(program_enter, rank, *entry);
    process->start_ns = clock_now_ns(); /* loading is not counted */
    return thread;
}

_Noreturn static void rank_run(unsigned rank)
{
    const char *environment[ENVIRONMENT_MAX + RANK_VARIABLES];
    char rank_text[32], size_text[32];
    struct program program = job.program;
    const struct cpu_mask cpus = job_cpus_of(rank);
    uint64_t entry, stack;

    format_text(rank_text, sizeof(rank_text), "TACET_RANK=%u", rank);
    format_text(size_text, sizeof(size_text), "TACET_SIZE=%u", process_rank_count);
    memcpy(environment, job.environment, sizeof(job.environment));
    environment[program.environment_count++] = rank_text;
    environment[program.environment_count++] = size_text;
    program.environment = environment;

    struct thread *thread = process_load(rank, &job.plan->slices[rank], &cpus, &program, &entry, &stack);
    if (rank == 0)
        node_zeroed_set(thread->process->vm.zeroed_bytes);
    thread_first_enter(thread, entry, stack);
}

/* On a CPU of a rank, which it leaves as it was. */
static void service_start(void)
{
    struct program program = job.service;
    struct cpu_mask cpus = { 0 };
    uint64_t entry, stack;

    program.environment = job.environment;
    program.environment_count = job.program.environment_count;
    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++)
        if (job_rank_of(cpu) < process_rank_count)
            cpu_mask_set(&cpus, cpu);

    struct thread *thread =
        process_load(process_rank_count, &job.service_slice, &cpus, &program, &entry, &stack);
    thread_first_start(thread, entry, stack, job.service_policy);
}

_Noreturn void job_cpu_join(unsigned cpu)
{
    while (!__atomic_load_n(&job.started, __ATOMIC_ACQUIRE))
        arch_cpu_idle();
    if (cpu == 0 && job.service.path)
        service_start();

    unsigned rank = job_rank_of(cpu);
    if (rank >= process_rank_count)
        arch_cpu_park();
    if (cpu == job_cpu_of(rank))
        rank_run(rank);
    schedule_idle_begin();
}

/* The working directory: cwd=; else the root where files can be made in it, or what stands in for it. */
static struct inode *directory_find(struct tree *tree)
{
    const char *path = job.directory_path, *fault = NULL;
    struct inode *inode = NULL;

    if (!path)
        path = tree->root->writable ? "/" : "/tmp";
    if (path[0] != '/')
        fault = "this path does not begin with /";
    else if (mount_lookup(tree, path, O_PATH | O_DIRECTORY, &inode))
        fault = "there is no such directory";
    else if (!mode_is(inode->mode, S_IFDIR))
        fault = "this is not a directory";
    if (fault)
        node_stop(STOP_BAD_INPUT, "cwd=%.80s: %s; give the whole path of one that is there, as cwd=/tmp",
                  path, fault);
    return inode;
}

/* Copies a program from a mount into memory that the first rank does without, for all ranks: a file of the
 * tree without a name. */
static struct inode *program_copy(struct memplan *plan, struct tree *tree, const char *option,
                                  const char *path, const struct inode *inode)
{
    const struct mount_operations *operations = inode->mount->operations;
    struct mount_status status = { .bytes = 0 };
    int64_t error = operations->file_status(mount_file_of(inode), &status);
    uint64_t memory = error ? UINT64_MAX : memplan_take(plan, 0, status.bytes), read = 0;

    if (!error && memory == UINT64_MAX)
        node_stop(STOP_NO_MEMORY, "%s=%s: no memory for %lu KiB", option, path, status.bytes / 1024);
    while (error >= 0 && read < status.bytes) {
        error = operations->read(mount_file_of(inode), (char *)arch_physical(memory) + read,
                                 status.bytes - read, read);
        if (error == 0)
            error = -EIO; /* it has become shorter */
        read += error > 0 ? (uint64_t)error : 0;
    }
    if (error < 0)
        node_stop(STOP_BAD_INPUT, "%s=%s: reading it from %s failed (error %lu)", option, path,
                  inode->mount->source, (uint64_t)-error);

    struct inode *copy = inode_create(tree, S_IFREG | 0755);
    if (!copy)
        node_stop(STOP_NO_MEMORY, "%s=%s: no memory for the file tree", option, path);
    copy->data = arch_physical(memory);
    copy->bytes = status.bytes;
    return copy;
}

/* The program of an option's value. */
static struct inode *program_find(struct memplan *plan, struct tree *tree, const char *option,
                                  const char *path)
{
    struct inode *inode, *copy;

    if (mount_lookup(tree, path, O_RDONLY, &inode))
        node_stop(STOP_BAD_INPUT, "%s=%s: there is no such file in the initrd", option, path);
    if (!mode_is(inode->mode, S_IFREG) || inode->device)
        node_stop(STOP_BAD_INPUT, "%s=%s is not a file", option, path);
    if (!inode->mount)
        return inode;
    copy = program_copy(plan, tree, option, path, inode);
    inode_drop(tree, inode);
    return copy;
}

_Noreturn void job_start(struct memplan *plan, const struct memory_slice *service, struct tree *tree)
{
    const char *path = job.program.path;
    struct message why;

    job.program.inode = program_find(plan, tree, "app", path);
    if (job.service.path)
        job.service.inode = program_find(plan, tree, "service", job.service.path);
    job.service_slice = *service;
    job.plan = plan;
    job.tree = tree;
    job.directory = directory_find(tree);
    if (!tree_add(tree, "/proc/self/exe", S_IFLNK | 0777, path, strlen(path), &why))
        node_stop(STOP_NO_MEMORY, "%s", why.text);
    job.running = process_rank_count;
    process_end_hook = rank_end;
    commands_job_set(&commanded);
    for (unsigned rank = 0; rank < process_rank_count; rank++) {
        const struct cpu_mask cpus = job_cpus_of(rank);

        schedule_group_add(&cpus);
    }
    __atomic_store_n(&job.started, true, __ATOMIC_RELEASE);
    for (unsigned cpu = 1; cpu < arch_cpu_count(); cpu++)
        arch_ipi_send(cpu);
    job_cpu_join(0);
}
