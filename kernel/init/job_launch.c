/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * job_launch.c: see job_state.h: jobs of tacetrun (docs/jobs.md), one after the other. On the first CPU,
 * between jobs, without processes.
 *
 *      request ──► slices, program, directory ──► job_begin … all ranks end, all CPUs are at home
 *         ▲                                                              │
 *         └── end ◄── nothing of the kernel refers to slices ◄── what was sent is acknowledged
 *
 * Slices are planned again for each job, and a rank's pool has nothing in it when its process is made. So
 * what has to be cleared is what the kernel keeps outside of slices and what refers into them: connections
 * and their timers, processes, run queues, the direct map's guard pages, the file tree.
 */
#include "init/job_state.h"
#include "arch.h"
#include "beat/command.h"
#include "debug/console.h"
#include "fs/mount.h"
#include "init/files.h"
#include "init/job.h"
#include "init/memory.h"
#include "ipc/ipc.h"
#include "launch/launcher.h"
#include "lib/elf_image.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "net/connection.h"
#include "net/memory.h"
#include "net/network.h"
#include "process/process.h"
#include "time/clock.h"

#define DRAIN_LOOK_NS 10000000 /* another CPU's timer may have taken the last acknowledgement */

/* ---- Beginning ---- */

/* Sets how many ranks there are, and how many cores each of them has. */
static int ranks_set(const struct launch_request *request, struct message *why)
{
    unsigned cpus = arch_cpu_count(), cores = arch_core_count(), threads = cpus / cores;
    uint64_t cpus_of_all = (uint64_t)request->ranks * (request->cpus ? request->cpus : 1);

    if (request->ranks > MEMPLAN_RANKS_MAX || cpus_of_all > cpus)
        return message_set(why, -EINVAL,
                           "%u ranks of %u CPUs do not fit: this node has %u CPUs; at most %u ranks",
                           request->ranks, request->cpus ? request->cpus : 1, cpus, MEMPLAN_RANKS_MAX);
    job.cores = request->cpus ? (request->cpus + threads - 1) / threads : 0;
    if (request->ranks > cores || job.cores * request->ranks > cores)
        job.cores = 0; /* ranks share cores */
    process_rank_count = request->ranks;
    return 0;
}

/* Receives the program into memory taken from the first rank's slice, as the file /tmp/NAME. */
static int program_receive(const struct launch_request *request, struct message *why)
{
    static char path[sizeof("/tmp/") + TREE_NAME_MAX];
    const char *name = request->path;
    uint64_t memory = memplan_take(job.plan, 0, request->program_bytes);

    for (const char *c = name; *c; c++)
        if (*c == '/')
            name = c + 1;
    if (!*name || strlen(name) > TREE_NAME_MAX)
        return message_set(why, -EINVAL, "path=%.80s: the program's name must have 1 to %u characters",
                           request->path, TREE_NAME_MAX);
    if (memory == UINT64_MAX)
        return message_set(why, -ENOMEM, "%s: no memory for a program of %lu KiB", name,
                           request->program_bytes / 1024);
    if (launcher_receive(arch_physical(memory), request->program_bytes))
        return message_set(why, -EIO, "%s: received incompletely", name);
    format_text(path, sizeof(path), "/tmp/%s", name);
    job.program.path = path;
    job.program.inode =
        tree_add(job.tree, path, S_IFREG | 0755, arch_physical(memory), request->program_bytes, why);
    if (!job.program.inode)
        return -ENOMEM;
    job.program.inode->user = process_credentials.uid;
    job.program.inode->group = process_credentials.gid;
    return 0;
}

/* Takes the program, received or found. Checks it, so that a wrong one is refused here and not by ranks. */
static int program_take(const struct launch_request *request, struct message *why)
{
    static struct elf_image image; /* too large for the stack */
    struct message fault;
    int error;

    job.program.path = request->path;
    error = request->program_bytes ? program_receive(request, why)
                                   : program_find("path", request->path, &job.program.inode, why);
    if (!error && elf_parse(job.program.inode->data, job.program.inode->bytes, ARCH_ELF_MACHINE,
                            ARCH_MMAP_BASE, &image, &fault))
        error = message_set(why, -ENOEXEC, "%s: %s", request->path, fault.text);
    return error ? error : program_link(job.program.path, why);
}

/* Makes the job that of its user: what its programs are told, its files, and its requests to file servers. */
static void user_take(void)
{
    process_credentials = *launcher_user();
    job.tree->user = process_credentials.uid;
    job.tree->group = process_credentials.gid;
    mounts_user_set(process_credentials.uid);
}

static int job_prepare(const struct launch_request *request, struct message *why)
{
    int error = ranks_set(request, why);

    user_take();
    if (!error)
        error = memory_slices_plan(&job.plan, why);
    if (!error)
        error = program_take(request, why);
    if (!error)
        error =
            directory_find(request->directory ? request->directory : job.directory_path, &job.directory, why);
    job.number = request->job;
    job.first = request->first;
    job.size = request->size;
    job.program.arguments = request->arguments;
    job.program.argument_count = request->argument_count;
    job.program.environment = request->variables;
    job.program.environment_count = request->variable_count;
    job.program.rank_names = request->numbers;
    job.program.rank_name_count = request->number_count;
    __atomic_store_n(&job.is_killed, false, __ATOMIC_SEQ_CST);
    return error;
}

_Noreturn void job_next(void)
{
    const struct launch_request *request;
    struct message why = { "" };

    while (job_prepare(request = launcher_wait(), &why)) {
        launcher_refuse(why.text);
        job.tree = files_build(); /* what was made for it is in the tree */
    }
    kernel_print("job %u: %u ranks of %s\n", job.number, process_rank_count, job.program.arguments[0]);
    launcher_kill_hook = job_kill;
    launcher_begin();
    launcher_rests(false);
    job_begin();
}

/* ---- End ---- */

/* Reports ranks that still own something of the network, after network_processes_drop. */
static void accounts_check(void)
{
    for (unsigned rank = 0; rank < process_rank_count; rank++) {
        const struct process *process = process_ended(rank);

        if (process && process->network && !network_account_is_idle(process->network))
            kernel_print("job %u: the network still uses memory of rank %u: a bug of the kernel\n",
                         job.number, rank);
    }
}

_Noreturn void job_finish(void)
{
    unsigned status = job.worst_status;

    launcher_rests(true);
    if (job.directory->mount && mount_file_of(job.directory))
        inode_drop(job.tree, job.directory); /* opened for all ranks */
    /* Until all that ranks have written is acknowledged, or tacetrun, which does so, has gone. */
    while (connections_are_sending(true) && !launcher_is_alone())
        launcher_rest(clock_now_ns() + DRAIN_LOOK_NS);
    launcher_watch_end();
    commands_job_set(NULL);
    network_processes_drop();
    accounts_check();
    schedule_groups_drop();
    ipc_drop();
    processes_drop();
    for (unsigned rank = 0; rank < process_rank_count; rank++)
        for (unsigned i = 0; i < job.plan->slices[rank].extent_count; i++)
            arch_guard_pages_drop(&job.plan->slices[rank].extents[i]);
    job.tree = files_build();
    kernel_print("job %u: ended with status %u\n", job.number, status);
    launcher_end(status);
    job_next();
}
