/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * job.c: see job.h: the ranks of a job, from the first instruction to the last, on all CPUs.
 *
 * A CPU that has nothing to do with a job, or with one that has ended, is at home: on its own stack, with no
 * thread's registers and the kernel's own tables. All CPUs are at home before the memory of a job is reused.
 */
#include "init/job.h"
#include "arch.h"
#include "beat/command.h"
#include "debug/console.h"
#include "debug/klog.h"
#include "debug/stop.h"
#include "fs/file.h"
#include "fs/mount.h"
#include "fs/path.h"
#include "init/job_state.h"
#include "init/node.h"
#include "ipc/ipc.h"
#include "launch/launcher.h"
#include "lib/errno.h"
#include "mm/shared_memory.h"
#include "net/connection.h"
#include "process/process.h"
#include "smp/crosscall.h"
#include "time/clock.h"

#define DRAIN_NS      (2 * NS_PER_S) /* time for data that programs have sent, at the node's end */
#define STATUS_FAILED 127            /* status of a rank that could not begin, as in a shell */

struct job job;

void start_check(int error, const struct message *why)
{
    if (error)
        node_stop(error == -ENOMEM ? STOP_NO_MEMORY : STOP_BAD_INPUT, "%s", why->text);
}

/* ---- Which CPU belongs to which rank ---- */

/* Returns how many cores each rank has. */
static unsigned cores_of_rank(void)
{
    return job.cores ? job.cores : arch_core_count() / process_rank_count;
}

/* Returns the CPU of a rank's first thread. Ranks fill cores before two of them share one. */
unsigned job_cpu_of(unsigned rank)
{
    unsigned cores = arch_core_count();

    return process_rank_count <= cores ? rank * cores_of_rank() : rank;
}

/* Returns the rank that a CPU belongs to; process_rank_count or more: none. */
static unsigned job_rank_of(unsigned cpu)
{
    unsigned cores = arch_core_count();

    return process_rank_count > cores ? cpu : arch_core_of(cpu) / cores_of_rank();
}

/* Returns the CPUs of the ranks from `first` to `last`. */
static struct cpu_mask job_cpus_of(unsigned first, unsigned last)
{
    struct cpu_mask cpus = { 0 };

    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++)
        if (job_rank_of(cpu) >= first && job_rank_of(cpu) <= last)
            cpu_mask_set(&cpus, cpu);
    return cpus;
}

/* ---- The conductor's commands ---- */

static void rank_signal(unsigned rank, int signal)
{
    const struct signal_info info = { .signal = signal, .code = SIGNAL_BY_KERNEL };
    struct process *process = process_find(PID_FIRST + rank);

    if (process)
        signal_send(process, NULL, &info, NULL);
}

static void rank_command(enum beat_code code)
{
    static const uint8_t signals[] = {
        [BEAT_STOP] = SIGNAL_STOP, [BEAT_CONTINUE] = SIGNAL_CONT, [BEAT_KILL] = SIGNAL_KILL
    };
    const unsigned rank = job_rank_of(arch_cpu_index());

    if (code == BEAT_KILL) /* a rank that is about to begin checks this */
        __atomic_store_n(&job.is_killed, true, __ATOMIC_SEQ_CST);
    if (rank < process_rank_count && job_cpu_of(rank) == arch_cpu_index())
        rank_signal(rank, signals[code]);
}

void job_kill(void)
{
    __atomic_store_n(&job.is_killed, true, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* then look for ranks; a rank that begins does the reverse */
    for (unsigned rank = 0; rank < process_rank_count; rank++)
        rank_signal(rank, SIGNAL_KILL);
}

static bool services_first(uint64_t window_ns)
{
    return job.service.path && service_window_begin(window_ns);
}

static const struct command_job commanded = {
    .command = rank_command, .services = services_first, .ranks = &job.running, .number = &job.number
};

/* ---- End ---- */

/* Sends this CPU home, which has nothing to do with the job any more. */
_Noreturn static void cpu_home(void)
{
    unsigned cpu = arch_cpu_index();
    const uint64_t seen = __atomic_load_n(&job.started, __ATOMIC_ACQUIRE); /* before it is at home */

    path_buffers_drop();
    shared_memory_drop();
    __atomic_add_fetch(&job.at_home, 1, __ATOMIC_ACQ_REL);
    if (cpu > 0)
        job_cpu_join(cpu, seen);
    while (__atomic_load_n(&job.at_home, __ATOMIC_ACQUIRE) < arch_cpu_count())
        crosscall_serve();
    job_finish();
}

/* Counts a rank less that runs. After the last one the node ends; or all CPUs go home, this one when it idles
 * next. */
static void rank_count_down(unsigned status)
{
    unsigned worst = __atomic_load_n(&job.worst_status, __ATOMIC_RELAXED);

    while (status > worst && !__atomic_compare_exchange_n(&job.worst_status, &worst, status, false,
                                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    if (__atomic_sub_fetch(&job.running, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    if (launcher_is_on()) {
        schedule_finish();
        return;
    }
    connection_drain(clock_now_ns() + DRAIN_NS);
    node_exit(job.end_status ? job.end_status : __atomic_load_n(&job.worst_status, __ATOMIC_RELAXED));
}

/* Ends all ranks if they are tied to the one that has ended: the first one's status is the node's. */
static void others_end(const struct process *process, unsigned status)
{
    unsigned none = 0;

    if (!process_ends_others(process, status) ||
        !__atomic_compare_exchange_n(&job.end_status, &none, status ? status : 1, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return;
    kernel_print("rank %u has ended with status %u, without MPI_Finalize: all ranks end\n", process->rank,
                 status);
    job_kill();
}

/* Closes a process's files: its locks and removed files matter to other ranks, as do its semaphores. */
static void files_end(struct process *process)
{
    ipc_process_end(process);
    inode_drop(job.tree, process->directory);
    file_streams_flush(process);
    files_close(process);
}

/* Ends a rank: the process_end_hook. The CPUs of the rank stay idle. */
_Noreturn static void rank_end(struct process *process)
{
    unsigned status = process->exit_status;

    if (!process->is_service && !launcher_is_on())
        others_end(process, status);
    files_end(process);
    klog(program_end, process->rank, status);
    if (process->is_service) {
        kernel_print("the service ended with status %u\n", status);
        thread_leave();
    }
    if (launcher_is_on())
        launcher_rank_ended(process->rank, status);
    else if (process_rank_count > 1 && status != 0 && !job.end_status)
        kernel_print("rank %u ended with status %u\n", process->rank, status);
    rank_count_down(status);
    thread_leave();
}

/* Ends a rank of tacetrun's that could not begin; the others go on until tacetrun ends them. On the CPU's own
 * stack. */
_Noreturn static void rank_fail(struct process *process, const struct message *why)
{
    unsigned rank = job_rank_of(arch_cpu_index());

    launcher_rank_failed(rank, why->text);
    if (process) {
        __atomic_store_n(&process->has_ended, true, __ATOMIC_RELEASE);
        if (process->files)
            files_end(process);
        schedule_thread_here(NULL);
    }
    rank_count_down(STATUS_FAILED);
    schedule_idle_begin();
}

/* ---- Start ---- */

/* Gives a process its working directory and its open standard streams. */
static int files_open(struct process *process, struct message *why)
{
    if (file_table_create(process))
        return message_set(why, -ENOMEM, "no memory for the open files of %s", process->title);
    process->tree = job.tree;
    process->directory = job.directory;
    spin_lock(&job.tree->lock);
    inode_get(process->directory);
    spin_unlock(&job.tree->lock);
    if (launcher_is_on())
        return launcher_streams_open(process, process->rank, why);
    file_open_streams(process);
    return 0;
}

static void number_add(struct program *program, const char *name, unsigned value)
{
    program->numbers[program->number_count].name = name;
    program->numbers[program->number_count++].value = value;
}

/* Loads a program for this CPU's process, with the variables of its rank; the service has none. */
static int rank_program_load(struct process *process, const struct program *program, uint64_t *entry,
                             uint64_t *stack, struct message *why)
{
    struct program own = *program;

    if (!process->is_service) {
        own.rank = job.first + process->rank;
        number_add(&own, "TACET_RANK", own.rank);
        number_add(&own, "TACET_SIZE", launcher_is_on() ? job.size : process_rank_count);
        if (launcher_is_on()) {
            number_add(&own, "TACET_LOCAL_RANK", process->rank);
            number_add(&own, "PMI_FD", LAUNCH_PMI_FD);
        }
    }
    return program_load(process, &own, entry, stack, why);
}

/* Makes the process of a rank, or the service, with its program loaded; it is this CPU's until its first
 * thread is entered or started. If that fails the node stops, or, under tacetrun, only this rank. */
static struct thread *process_load(unsigned rank, const struct memory_slice *slice,
                                   const struct cpu_mask *cpus, const struct program *program,
                                   uint64_t *entry, uint64_t *stack)
{
    struct message why = { "" };
    struct thread *thread = NULL;
    struct process *process = NULL;
    int error = process_create(rank, slice, cpus, program->arguments[0], &process, &why);

    if (!error && launcher_is_on())
        format_text(process->title, sizeof(process->title), "rank %u", job.first + rank);
    if (!error)
        error = files_open(process, &why);
    if (!error) {
        process->prefix = job.prefix;
        thread = thread_first(process);
        error = thread ? rank_program_load(process, program, entry, stack, &why)
                       : message_set(&why, -ENOMEM, "no memory for the first thread of %s", process->title);
    }
    if (error && launcher_is_on())
        rank_fail(process, &why);
    start_check(error, &why);
    klog(program_enter, rank, *entry);
    process->start_ns = clock_now_ns(); /* loading is not counted */
    return thread;
}

_Noreturn static void rank_run(unsigned rank)
{
    const struct cpu_mask cpus = job_cpus_of(rank, rank);
    uint64_t entry, stack;
    struct thread *thread = process_load(rank, &job.plan->slices[rank], &cpus, &job.program, &entry, &stack);

    if (rank == 0)
        node_zeroed_set(thread->process->vm.zeroed_bytes);
    if (__atomic_load_n(&job.is_killed, __ATOMIC_SEQ_CST)) /* killed before it could be found */
        rank_signal(rank, SIGNAL_KILL);
    thread_first_enter(thread, entry, stack);
}

/* Starts the service, on a CPU of a rank, which it leaves as it was. */
static void service_start(void)
{
    const struct cpu_mask cpus = job_cpus_of(0, process_rank_count - 1);
    uint64_t entry, stack;
    struct thread *thread =
        process_load(process_rank_count, &job.service_slice, &cpus, &job.service, &entry, &stack);
    thread_first_start(thread, entry, stack, job.service_policy);
}

/* Misses no job: none begins before all CPUs are at home. */
_Noreturn void job_cpu_join(unsigned cpu, uint64_t seen)
{
    for (;; seen++) {
        while (__atomic_load_n(&job.started, __ATOMIC_ACQUIRE) == seen)
            arch_cpu_idle();
        unsigned rank = job_rank_of(cpu);
        if (cpu == 0 && job.service.path)
            service_start();
        if (rank < process_rank_count && cpu == job_cpu_of(rank))
            rank_run(rank);
        if (rank < process_rank_count)
            schedule_idle_begin();
        if (!launcher_is_on())
            arch_cpu_park();
        __atomic_add_fetch(&job.at_home, 1, __ATOMIC_ACQ_REL);
    }
}

_Noreturn void job_begin(void)
{
    job.running = process_rank_count;
    job.worst_status = job.at_home = 0;
    process_end_hook = rank_end;
    schedule_home_hook = cpu_home;
    commands_job_set(&commanded);
    for (unsigned rank = 0; rank < process_rank_count; rank++) {
        const struct cpu_mask cpus = job_cpus_of(rank, rank);

        schedule_group_add(&cpus, job.service.path);
    }
    __atomic_add_fetch(&job.started, 1, __ATOMIC_RELEASE);
    for (unsigned cpu = 1; cpu < arch_cpu_count(); cpu++)
        arch_ipi_send(cpu);
    job_cpu_join(0, job.started - 1);
}
