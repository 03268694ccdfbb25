/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * self.c: /proc/self: what a process can read about itself; the same files show its threads (links.c).
 * Formats: proc(5). Functions `…_text` run in system calls of that process. Numbers that mean nothing without
 * paging, swapping and scheduling are 0.
 */
#include "arch.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "lib/elf_image.h"
#include "lib/linux_abi.h"
#include "fs/nodes.h"
#include "fs/proc/proc.h"
#include "process/process.h"

static uint64_t pages_of(uint64_t bytes)
{
    return bytes / ARCH_PAGE;
}

/* ---- Memory ---- */

/* Returns the offset in the program's file that a page was loaded from. */
static uint64_t file_offset_of(const struct process *process, const struct elf_image *image, uint64_t start)
{
    uint64_t linked = start - process->image.bias;

    for (unsigned i = 0; i < image->segment_count; i++) {
        const struct elf_segment *segment = &image->segments[i];
        uint64_t first = segment->address & ~(ARCH_PAGE - 1);

        if (linked >= first && linked < segment->address + segment->memory_bytes)
            return (segment->file_offset & ~(ARCH_PAGE - 1)) + (linked - first);
    }
    return 0;
}

/* A row's `of`: which of the files about its mappings. */
enum { SMAPS = 1, SMAPS_ROLLUP, NUMA_MAPS };

/* Returns how much memory backs an area, as vm_sum. */
static uint64_t backed_bytes(const struct vm_area *area)
{
    return area->foreign || !area->rights ? 0 : area->end - area->start;
}

static void area_text(struct file *file, const struct vm_area *area, const struct elf_image *image)
{
    const struct process *process = arch_process();
    bool of_program = area->name == process->program_path;

    text_add(file, "%08lx-%08lx %s%s%s%s %08lx 00:%02u %lu", area->start, area->end,
             area->rights & RIGHT_READ ? "r" : "-", area->rights & RIGHT_WRITE ? "w" : "-",
             area->rights & RIGHT_EXECUTE ? "x" : "-", area->object ? "s" : "p",
             of_program ? file_offset_of(process, image, area->start) : 0, of_program ? 1 : 0,
             of_program ? process->program->number : 0);
    if (area->name[0])
        text_add(file, " %s", area->name);
    text_add(file, "\n");
}

/* Writes what smaps has of memory of which `shared` bytes may be mapped by other ranks, too: these count in
 * full. All of it is locked, and dirty: there is no storage. */
static void backed_text(struct file *file, uint64_t backed, uint64_t shared)
{
    const uint64_t all = backed / 1024, dirty = shared / 1024, own = (backed - shared) / 1024;

    text_add(file,
             "Rss:            %8lu kB\nPss:            %8lu kB\nShared_Clean:          0 kB\n"
             "Shared_Dirty:   %8lu kB\nPrivate_Clean:         0 kB\nPrivate_Dirty:  %8lu kB\n"
             "Referenced:     %8lu kB\nAnonymous:      %8lu kB\nSwap:                  0 kB\n"
             "SwapPss:               0 kB\nLocked:         %8lu kB\n",
             all, all, dirty, own, all, own, all);
}

/* Writes how many pages of an area are in which node. */
static void nodes_text(struct file *file, const struct vm_area *area)
{
    const struct process *process = arch_process();
    const uint64_t nodes = nodes_of(process->slice), count = pages_of(backed_bytes(area));
    uint64_t pages[NODES_MAX] = { 0 };

    if (area->object || (nodes & (nodes - 1)))
        node_pages(&process->vm, area->start, area->start + ARCH_PAGE * count, pages);
    else
        pages[__builtin_ctzll(nodes)] = count;
    text_add(file, "%08lx default %s=%lu dirty=%lu", area->start, area->object ? "mapped" : "anon", count,
             count);
    for (unsigned node = 0; node < NODES_MAX; node++)
        if (pages[node])
            text_add(file, " N%u=%lu", node, pages[node]);
    text_add(file, " kernelpagesize_kB=%llu\n", ARCH_PAGE / 1024);
}

static void maps_text(struct file *file)
{
    const unsigned of = ((const struct proc_file *)file->inode->data)->of;
    struct process *process = arch_process();
    struct elf_image image = { .segment_count = 0 };
    uint64_t backed = 0, shared = 0;
    struct vm_area area = { .end = 0 };
    struct message why;

    elf_parse(process->program->data, process->program->bytes, ARCH_ELF_MACHINE, ARCH_MMAP_BASE, &image,
              &why);
    if (of == SMAPS_ROLLUP)
        text_add(file, "%08lx-%08llx ---p 00000000 00:00 0 [rollup]\n", process->image.low, ARCH_USER_LIMIT);
    while (vm_next(&process->vm, area.end, &area)) {
        const uint64_t bytes = backed_bytes(&area);

        backed += bytes;
        shared += area.object ? bytes : 0;
        if (of == NUMA_MAPS)
            nodes_text(file, &area);
        if (of == 0 || of == SMAPS)
            area_text(file, &area, &image);
        if (of == SMAPS) {
            text_add(file, "Size:           %8lu kB\nKernelPageSize: %8llu kB\n",
                     (area.end - area.start) / 1024, ARCH_PAGE / 1024);
            backed_text(file, bytes, area.object ? bytes : 0);
        }
    }
    if (of == SMAPS_ROLLUP)
        backed_text(file, backed, shared);
}

static void statm_text(struct file *file)
{
    struct vm_sums sums = vm_sum(&arch_process()->vm);

    text_add(file, "%lu %lu 0 %lu 0 %lu 0\n", pages_of(sums.all), pages_of(sums.backed), pages_of(sums.code),
             pages_of(sums.data));
}

/* ---- The process ---- */

/* Sets the signals that the program ignores, and those for which it has handlers. */
static void signal_sets(const struct process *process, uint64_t *ignored, uint64_t *caught)
{
    *ignored = *caught = 0;
    for (int signal = 1; signal <= SIGNAL_COUNT; signal++) {
        uint64_t handler = process->signals.actions[signal - 1].handler;

        if (handler != SIG_DFL)
            *(handler == SIG_IGN ? ignored : caught) |= signal_bit(signal);
    }
}

/* What a file shows of its process, or of one thread. */
struct subject {
    uint64_t id, start_ns, pending, blocked;
    struct cpu_mask cpus;
    char name[THREAD_NAME_BYTES];
    const char *state; /* as Linux's letter and word */
    unsigned cpu;
    struct cpu_time time;
};

/* Copies what a file shows, under the lock; no text is made under it. */
static struct subject subject_of(const struct file *file)
{
    struct process *process = arch_process();
    struct subject subject = { .id = process->pid,
                               .start_ns = process->start_ns,
                               .cpus = process->cpus,
                               .state = "R (running)",
                               .cpu = arch_cpu_index() };
    const struct thread *thread = arch_thread();

    if (!file->tid)
        subject.time = process_time(process);

    SPIN_GUARD(&process->lock);
    memcpy(subject.name, process->name, sizeof(subject.name));
    if (file->tid) {
        subject.id = file->tid;
        thread = thread_find(process, file->tid);
        if (!thread) { /* the thread has ended since the lookup */
            subject.state = "X (dead)";
            return subject;
        }
        memcpy(subject.name, thread->name, sizeof(subject.name));
        subject.start_ns = thread->time.start_ns;
        subject.cpus = thread->schedule.affinity;
        subject.state = thread->schedule.state == THREAD_BLOCKED ? "S (sleeping)" : "R (running)";
        subject.cpu = thread->schedule.cpu;
        subject.time = thread_time(thread);
    }
    subject.pending = thread->signals.pending.set;
    subject.blocked = thread->signals.blocked;
    return subject;
}

static void stat_text(struct file *file)
{
    const struct process *process = arch_process();
    struct vm_sums sums = vm_sum(&arch_process()->vm);
    struct subject subject = subject_of(file);
    uint64_t ignored, caught;

    signal_sets(process, &ignored, &caught);
    /* Fields 1-22: identity, state, parents, terminal, faults, times, priorities, threads, start. */
    text_add(file, "%lu (%s) %c 0 %lu %lu 0 -1 0 0 0 0 0 %lu %lu 0 0 %d %d %u 0 %lu", subject.id,
             subject.name, subject.state[0], process->pid, process->pid, clock_ticks_of(subject.time.user_ns),
             clock_ticks_of(subject.time.system_ns), 20 + process->nice, process->nice, process->thread_count,
             clock_ticks_of(subject.start_ns));
    /* 23-30: sizes, limit, addresses. */
    text_add(file, " %lu %lu %lu %lu %lu %lu 0 0", sums.all, pages_of(sums.backed), UINT64_MAX,
             process->image.low, process->image.high, process->stack_high);
    /* 31-44: signals, waiting, swap, CPU, scheduling, delays. */
    text_add(file, " %lu %lu %lu %lu 0 0 0 17 %u 0 0 0 0 0", subject.pending, subject.blocked, ignored,
             caught, subject.cpu);
    /* 45-52: data, heap, arguments, environment, exit code. */
    text_add(file, " %lu %lu %lu %lu %lu %lu %lu 0\n", process->image.low, process->image.high,
             process->vm.heap_start, process->image.arguments, process->image.arguments_end,
             process->image.environment, process->image.environment_end);
}

static void status_text(struct file *file)
{
    const struct credentials *who = &process_credentials;
    const struct process *process = arch_process();
    struct vm_sums sums = vm_sum(&arch_process()->vm);
    struct subject subject = subject_of(file);
    const struct cpu_mask nodes = node_mask(nodes_of(process->slice));
    uint64_t stack_bytes = process->stack_high - process->stack_low;
    uint64_t ignored, caught;

    signal_sets(process, &ignored, &caught);
    text_add(file, "Name:\t%s\nUmask:\t%04o\nState:\t%s\nTgid:\t%lu\nNgid:\t0\nPid:\t%lu\n", subject.name,
             process->umask, subject.state, process->pid, subject.id);
    text_add(file, "PPid:\t0\nTracerPid:\t0\nUid:\t%u\t%u\t%u\t%u\nGid:\t%u\t%u\t%u\t%u\n", who->uid,
             who->uid, who->uid, who->uid, who->gid, who->gid, who->gid, who->gid);
    text_add(file, "FDSize:\t%lu\nGroups:\t", process_soft_limit(process, LIMIT_FILES));
    for (unsigned i = 0; i < who->group_count; i++)
        text_add(file, "%u ", who->groups[i]);
    text_add(file, "\n");
    text_add(file, "VmSize:\t%8lu kB\nVmLck:\t%8lu kB\nVmHWM:\t%8lu kB\nVmRSS:\t%8lu kB\nVmData:\t%8lu kB\n",
             sums.all / 1024, sums.backed / 1024, page_pool_peak_bytes(&process->pages) / 1024,
             sums.backed / 1024, (sums.data > stack_bytes ? sums.data - stack_bytes : 0) / 1024);
    text_add(file, "VmStk:\t%8lu kB\nVmExe:\t%8lu kB\nVmSwap:\t%8u kB\nThreads:\t%u\n", stack_bytes / 1024,
             sums.code / 1024, 0, process->thread_count);
    text_add(file, "SigPnd:\t%016lx\nShdPnd:\t%016lx\nSigBlk:\t%016lx\nSigIgn:\t%016lx\nSigCgt:\t%016lx\n",
             subject.pending, process->signals.pending.set, subject.blocked, ignored, caught);
    text_add(file, "Cpus_allowed:\t");
    text_add_words(file, &subject.cpus, arch_cpu_count());
    text_add(file, "Cpus_allowed_list:\t");
    text_add_cpus(file, subject.cpus);
    text_add(file, "Mems_allowed:\t");
    text_add_words(file, &nodes, NODES_MAX);
    text_add(file, "Mems_allowed_list:\t");
    text_add_cpus(file, nodes);
    /* Switches are counted for CPUs (/proc/tacet/threads), not for threads. */
    text_add(file, "voluntary_ctxt_switches:\t0\nnonvoluntary_ctxt_switches:\t0\n");
}

static void sched_text(struct file *file)
{
    struct subject subject = subject_of(file);
    uint64_t time_ns = subject.time.user_ns + subject.time.system_ns;

    text_add(file, "%s (%lu, #threads: %u)\nse.sum_exec_runtime : %14lu.%06lu\n", subject.name, subject.id,
             arch_process()->thread_count, time_ns / 1000000, time_ns % 1000000);
}

static void comm_text(struct file *file)
{
    text_add(file, "%s\n", subject_of(file).name);
}

/* Renames a process or a thread. All bytes are the name, also an end of line; what is too long is cut off. */
static int64_t comm_write(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    uint32_t tid = file->tid ? file->tid : (uint32_t)arch_process()->pid;
    char text[THREAD_NAME_BYTES] = "", name[THREAD_NAME_BYTES] = "";

    (void)offset;
    if (user_read(text, buffer, bytes < sizeof(text) ? bytes : sizeof(text) - 1))
        return -EFAULT;
    memcpy(name, text, strlen(text));
    return thread_rename(arch_process(), tid, name) ? (int64_t)bytes : -ESRCH;
}

static const struct file_operations comm_operations = {
    .read = text_read, .write = comm_write, .size = text_size, .release = text_release
};

/* Copies the part of the program's memory whose ends a row names: where it starts in its process's image. */
static void memory_text(struct file *file)
{
    const struct proc_file *kind = file->inode->data;
    uint64_t ends[2];

    memcpy(ends, (const char *)&arch_process()->image + kind->of, sizeof(ends));
    text_add_user(file, ends[0], ends[1]);
}

static void limits_text(struct file *file)
{
    static const struct {
        const char *name, *unit;
    } limits[] = {
        { "Max cpu time", "seconds" },     { "Max file size", "bytes" },
        { "Max data size", "bytes" },      { "Max stack size", "bytes" },
        { "Max core file size", "bytes" }, { "Max resident set", "bytes" },
        { "Max processes", "processes" },  { "Max open files", "files" },
        { "Max locked memory", "bytes" },  { "Max address space", "bytes" },
        { "Max file locks", "locks" },     { "Max pending signals", "signals" },
        { "Max msgqueue size", "bytes" },  { "Max nice priority", "" },
        { "Max realtime priority", "" },   { "Max realtime timeout", "us" },
    };

    text_add(file, "%-25s %-20s %-20s %-10s\n", "Limit", "Soft Limit", "Hard Limit", "Units");
    for (unsigned i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        struct linux_rlimit limit;
        char soft[24] = "unlimited", hard[24] = "unlimited";

        process_limit(i, &limit, NULL);
        if (limit.soft != RLIM_INFINITY)
            format_text(soft, sizeof(soft), "%lu", limit.soft);
        if (limit.hard != RLIM_INFINITY)
            format_text(hard, sizeof(hard), "%lu", limit.hard);
        text_add(file, "%-25s %-20s %-20s %-10s\n", limits[i].name, soft, hard, limits[i].unit);
    }
}

#define IMAGE_PART(field) .make = memory_text, .of = offsetof(struct process_image, field)
const struct proc_file proc_self_files[] = {
    { "auxv", IMAGE_PART(auxiliary) },
    { "cgroup", .text = "0::/\n" },
    { "cmdline", IMAGE_PART(arguments) },
    { "comm", .make = comm_text, .operations = &comm_operations },
    { "environ", IMAGE_PART(environment) },
    { "gid_map", .text = "         0          0 4294967295\n" },
    /* No storage is read or written. What calls copy is not counted, and so is not here. */
    { "io", .text = "read_bytes: 0\nwrite_bytes: 0\ncancelled_write_bytes: 0\n" },
    { "limits", .make = limits_text },
    { "maps", .make = maps_text },
    { "numa_maps", .make = maps_text, .of = NUMA_MAPS },
    { "oom_score", .text = "0\n" }, /* no process ends because another one wants memory */
    { "oom_score_adj", .text = "0\n" },
    { "sched", .make = sched_text },
    { "smaps", .make = maps_text, .of = SMAPS },
    { "smaps_rollup", .make = maps_text, .of = SMAPS_ROLLUP },
    { "stat", .make = stat_text },
    { "statm", .make = statm_text },
    { "status", .make = status_text },
    { "uid_map", .text = "         0          0 4294967295\n" },
    { .path = NULL },
};
