/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc.c: /proc and /sys of the node: which files there are, and those that are not of one process. Formats:
 * proc(5), Linux's Documentation/admin-guide/cputopology.rst.
 *
 * What counts CPUs for a program that wants to use them (/sys/devices/system/cpu/online, /proc/stat) tells
 * the process's own, as sched_getaffinity does; what describes the machine (cpuinfo, interrupts, possible,
 * present, topology) tells all of the node's. Memory is the process's own slice: nobody else can take it.
 *
 * proc_add runs once at boot; makers run in system calls of the process that opens a file.
 */
#include "fs/proc/proc.h"
#include "arch.h"
#include "time/clock.h"
#include "time/clock_event.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "lib/linux_abi.h"
#include "mm/page.h"
#include "process/limits.h"
#include "process/process.h"
#include "lib/version.h"

/* inode.device: a file of the tables below, by number, or one of a CPU's topology, or
 * a NUMA node's list. */
#define DEVICE_PROC      0x100U
#define DEVICE_TOPOLOGY  0x1000U
#define TOPOLOGY_FILES   4
#define PATH_BYTES       64
#define NODES_MAX        96                   /* of the tables, with their directories */
#define NODES_OF_CPU     (3 + TOPOLOGY_FILES) /* folders, and a link of a pid */
#define DEVICE_NUMA      0x2000U
#define NUMA_DOMAINS_MAX 64

uint64_t clock_ticks_of(uint64_t ns)
{
    return ns / (NS_PER_S / 100); /* AT_CLKTCK */
}

/* ---- CPUs ---- */

void text_add_cpus(struct file *file, uint64_t cpus)
{
    const char *comma = "";

    for (unsigned first = 0; first < 64; first++) {
        unsigned last = first;

        if (!(cpus >> first & 1))
            continue;
        while (last < 63 && (cpus >> (last + 1) & 1))
            last++;
        text_add(file, "%s%u", comma, first);
        if (last > first)
            text_add(file, "-%u", last);
        comma = ",";
        first = last;
    }
    text_add(file, "\n");
}

static uint64_t all_cpus(void)
{
    return arch_cpu_count() < 64 ? (1ULL << arch_cpu_count()) - 1 : UINT64_MAX;
}

static void cpus_online_text(struct file *file)
{
    text_add_cpus(file, arch_process()->cpus);
}

static void cpus_present_text(struct file *file)
{
    text_add_cpus(file, all_cpus());
}

/* The NUMA node of a CPU; 0 where the firmware tells none. */
static uint32_t numa_domain_of(unsigned cpu)
{
    uint32_t domain = arch_cpu_numa_domain(cpu);

    return domain < NUMA_DOMAINS_MAX ? domain : 0;
}

static uint64_t numa_domains_with_cpus(void)
{
    uint64_t domains = 0;

    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++)
        domains |= 1ULL << numa_domain_of(cpu);
    return domains;
}

static void numa_online_text(struct file *file)
{
    text_add_cpus(file, numa_domains_with_cpus());
}

static void numa_cpus_text(struct file *file)
{
    uint64_t cpus = 0;

    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++)
        cpus |= numa_domain_of(cpu) == file->inode->device - DEVICE_NUMA ? 1ULL << cpu : 0;
    text_add_cpus(file, cpus);
}

/* The CPUs of the same package as `cpu`; with `same_core`, of the same core. */
static uint64_t siblings_of(unsigned cpu, bool same_core)
{
    struct cpu_place mine = arch_cpu_place(cpu);
    uint64_t siblings = 0;

    for (unsigned other = 0; other < arch_cpu_count(); other++) {
        struct cpu_place place = arch_cpu_place(other);

        if (place.package == mine.package && (!same_core || place.core == mine.core))
            siblings |= 1ULL << other;
    }
    return siblings;
}

static const char *const topology_names[TOPOLOGY_FILES] = { "core_id", "physical_package_id",
                                                            "thread_siblings_list", "core_siblings_list" };

static void topology_text(struct file *file)
{
    unsigned number = file->inode->device - DEVICE_TOPOLOGY, cpu = number / TOPOLOGY_FILES;
    struct cpu_place place = arch_cpu_place(cpu);

    switch (number % TOPOLOGY_FILES) {
    case 0:
        text_add(file, "%u\n", place.core);
        break;
    case 1:
        text_add(file, "%u\n", place.package);
        break;
    default:
        text_add_cpus(file, siblings_of(cpu, number % TOPOLOGY_FILES == 2));
    }
}

static void cpuinfo_text(struct file *file)
{
    struct file_sink sink = text_sink_of(file);

    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++) {
        struct cpu_place place = arch_cpu_place(cpu);
        uint64_t package = siblings_of(cpu, false);
        unsigned siblings = 0, cores = 0;

        for (unsigned other = 0; other < arch_cpu_count(); other++) {
            siblings += package >> other & 1;
            /* A core counts by its first CPU. */
            cores += (package >> other & 1) && __builtin_ctzll(siblings_of(other, true)) == (int)other;
        }
        text_add(file,
                 "processor\t: %u\nphysical id\t: %u\nsiblings\t: %u\ncore id\t\t: %u\ncpu cores\t: %u\n",
                 cpu, place.package, siblings, place.core, cores);
        arch_cpuinfo_describe(cpu, &sink.sink);
        text_add(file, "\n");
    }
}

/* ---- What happened ---- */

static void uptime_text(struct file *file)
{
    uint64_t up = clock_ticks_of(clock_now_ns()), idle = clock_ticks_of(process_time(arch_process()).idle_ns);

    text_add(file, "%lu.%02lu %lu.%02lu\n", up / 100, up % 100, idle / 100, idle % 100);
}

static void interrupts_text(struct file *file)
{
    text_add(file, "     ");
    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++)
        text_add(file, "       CPU%-2u", cpu);
    text_add(file, "\n");
    for (unsigned number = 0; number < TACET_INTERRUPTS; number++) {
        const char *what = arch_interrupt_name(number);
        uint64_t sum = 0;

        for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++)
            sum += arch_counters(cpu)->interrupts[number];
        if (!what && !sum)
            continue;
        /* The first word of a name is Linux's label for the line. */
        if (what)
            text_add(file, "%.3s: ", what);
        else
            text_add(file, "%3u: ", number);
        for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++)
            text_add(file, "%10lu ", arch_counters(cpu)->interrupts[number]);
        text_add(file, "  %s\n", what ? what + 4 : "unexpected");
    }
}

static void time_add_line(struct file *file, struct cpu_time time)
{
    text_add(file, " %lu 0 %lu %lu 0 0 0 0 0 0\n", clock_ticks_of(time.user_ns),
             clock_ticks_of(time.system_ns), clock_ticks_of(time.idle_ns));
}

static void stat_text(struct file *file)
{
    struct process *process = arch_process();
    uint64_t boot_s = clock_wall_offset_ns() / NS_PER_S, interrupts = 0;

    text_add(file, "cpu ");
    time_add_line(file, process_time(process));
    CPU_MASK_EACH(cpu, process->cpus)
    {
        struct cpu_time time = { 0 };

        spin_lock(&process->lock);
        if (thread_of_cpu((unsigned)cpu))
            time = thread_time(thread_of_cpu((unsigned)cpu));
        spin_unlock(&process->lock);
        text_add(file, "cpu%lu", cpu);
        time_add_line(file, time);
    }
    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++)
        for (unsigned number = 0; number < TACET_INTERRUPTS; number++)
            interrupts += arch_counters(cpu)->interrupts[number];
    text_add(file, "intr %lu\nctxt 0\nbtime %lu\nprocesses %u\nprocs_running %u\nprocs_blocked 0\n",
             interrupts, boot_s, process_rank_count(), process_rank_count());
}

/* No process waits for a CPU, so the load is that of the ranks, always. */
static void loadavg_text(struct file *file)
{
    unsigned ranks = process_rank_count();

    text_add(file, "%u.00 %u.00 %u.00 %u/%u %u\n", ranks, ranks, ranks, ranks, ranks, ranks);
}

static void meminfo_text(struct file *file)
{
    const struct page_pool *pages = &arch_process()->pages;
    static const char *const zeroes[] = { "Buffers:        ", "Cached:         ", "SwapCached:     ",
                                          "SwapTotal:      ", "SwapFree:       ", "Shmem:          " };

    text_add(file, "MemTotal:       %8lu kB\nMemFree:        %8lu kB\nMemAvailable:   %8lu kB\n",
             pages->total_bytes / 1024, pages->free_bytes / 1024, pages->free_bytes / 1024);
    for (unsigned i = 0; i < sizeof(zeroes) / sizeof(zeroes[0]); i++)
        text_add(file, "%s%8u kB\n", zeroes[i], 0);
}

/* Linux's random name of this boot: a UUID of version 4 [RFC 4122 §4.4]. */
static void boot_id_text(struct file *file)
{
    static uint64_t id[2];
    static bool made;

    if (!__atomic_exchange_n(&made, true, __ATOMIC_ACQ_REL)) {
        id[0] = (arch_random() & ~0xf000ULL) | 0x4000;
        id[1] = (arch_random() & ~(3ULL << 62)) | 2ULL << 62;
    }
    text_add(file, "%08lx-%04lx-%04lx-%04lx-%012lx\n", id[0] >> 32, id[0] >> 16 & 0xffff, id[0] & 0xffff,
             id[1] >> 48, id[1] & 0xffffffffffff);
}

/* ---- Which there are ---- */

static const struct proc_file files[] = {
    { "/proc/cpuinfo", cpuinfo_text, NULL, NULL },
    { "/proc/filesystems", NULL, "nodev\trootfs\nnodev\tproc\nnodev\tsysfs\nnodev\tdevtmpfs\nnodev\ttmpfs\n",
      NULL },
    { "/proc/interrupts", interrupts_text, NULL, NULL },
    { "/proc/loadavg", loadavg_text, NULL, NULL },
    { "/proc/meminfo", meminfo_text, NULL, NULL },
    { "/proc/self/mounts", NULL,
      "rootfs / rootfs ro 0 0\nproc /proc proc rw 0 0\nsysfs /sys sysfs ro 0 0\n"
      "devtmpfs /dev devtmpfs rw 0 0\ntmpfs /dev/shm tmpfs rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n",
      NULL },
    { "/proc/stat", stat_text, NULL, NULL },
    { "/proc/uptime", uptime_text, NULL, NULL },
    { "/proc/version", NULL, "Linux version " LINUX_RELEASE " (Tacet " TACET_VERSION ")\n", NULL },
    { "/proc/sys/kernel/hostname", NULL, "tacet\n", NULL },
    { "/proc/sys/kernel/osrelease", NULL, LINUX_RELEASE "\n", NULL },
    { "/proc/sys/kernel/ostype", NULL, "Linux\n", NULL },
    { "/proc/sys/kernel/pid_max", NULL, "32768\n", NULL },
    { "/proc/sys/kernel/random/boot_id", boot_id_text, NULL, NULL },
    { "/proc/sys/kernel/randomize_va_space", NULL, "0\n", NULL },
    { "/proc/sys/vm/overcommit_memory", NULL, "2\n", NULL }, /* never: what is promised is there */
    { "/sys/devices/system/cpu/online", cpus_online_text, NULL, NULL },
    { "/sys/devices/system/cpu/possible", cpus_present_text, NULL, NULL },
    { "/sys/devices/system/cpu/present", cpus_present_text, NULL, NULL },
    { "/sys/devices/system/node/online", numa_online_text, NULL, NULL },
    { NULL, NULL, NULL, NULL },
};

static const struct proc_file *const tables[] = { files, proc_self_files, proc_tacet_files };

/* The file of a number, counted through all tables; NULL behind the last. */
static const struct proc_file *file_of(unsigned number)
{
    for (unsigned i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        for (const struct proc_file *file = tables[i]; file->path; file++)
            if (number-- == 0)
                return file;
    return NULL;
}

static void constant_text(struct file *file)
{
    text_add(file, "%s", file_of(file->inode->device - DEVICE_PROC)->text);
}

bool inode_is_of_proc(const struct inode *inode)
{
    return inode->device >= DEVICE_PROC;
}

int proc_bind(struct file *file)
{
    if (file->inode->device >= DEVICE_NUMA)
        return text_bind(file, &text_operations, numa_cpus_text);
    if (file->inode->device >= DEVICE_TOPOLOGY)
        return text_bind(file, &text_operations, topology_text);

    const struct proc_file *kind = file_of(file->inode->device - DEVICE_PROC);
    return text_bind(file, kind->operations ? kind->operations : &text_operations,
                     kind->make ? kind->make : constant_text);
}

uint64_t proc_pool_bytes(void)
{
    uint64_t cpus = arch_cpus_present(), domains = cpus < NUMA_DOMAINS_MAX ? cpus : NUMA_DOMAINS_MAX;

    return (NODES_MAX + cpus * NODES_OF_CPU + 2 * domains + FILE_DESCRIPTORS_MAX) * TREE_ENTRY_BYTES_MAX +
           (cpus * TOPOLOGY_FILES + domains) * PATH_BYTES + 2 * ARCH_PAGE;
}

/* A file whose path, in memory that stays, has a number in it. */
static int numbered_add(struct tree *tree, const char *path, unsigned device, struct message *why)
{
    struct inode *inode = tree_add(tree, path, S_IFREG | 0444, NULL, 0, why);

    if (!inode)
        return -ENOMEM;
    inode->device = device;
    return 0;
}

static int places_add(struct tree *tree, struct page_pool *pool, struct message *why)
{
    unsigned files_of_cpus = arch_cpu_count() * TOPOLOGY_FILES;
    uint64_t domains = numa_domains_with_cpus();
    uint64_t bytes = (files_of_cpus + cpu_mask_count(domains)) * PATH_BYTES;
    uint64_t memory = page_pool_allocate(pool, page_up(bytes), ARCH_PAGE);
    char *path = arch_physical(memory);
    int error = 0;

    if (memory == PAGE_POOL_NONE)
        return -ENOMEM;
    for (unsigned i = 0; i < files_of_cpus && !error; i++, path += PATH_BYTES) {
        format_text(path, PATH_BYTES, "/sys/devices/system/cpu/cpu%u/topology/%s", i / TOPOLOGY_FILES,
                    topology_names[i % TOPOLOGY_FILES]);
        error = numbered_add(tree, path, DEVICE_TOPOLOGY + i, why);
    }
    for (; domains && !error; domains &= domains - 1, path += PATH_BYTES) {
        unsigned domain = (unsigned)__builtin_ctzll(domains);

        format_text(path, PATH_BYTES, "/sys/devices/system/node/node%u/cpulist", domain);
        error = numbered_add(tree, path, DEVICE_NUMA + domain, why);
    }
    return error;
}

int proc_add(struct tree *tree, struct page_pool *pool, struct message *why)
{
    static const char mounts[] = "self/mounts";

    if (!tree_mount(tree, "/proc", 0555, FILESYSTEM_PROC, why) ||
        !tree_mount(tree, "/sys", 0555, FILESYSTEM_SYS, why))
        return -ENOMEM;
    for (unsigned i = 0; file_of(i); i++) {
        const struct proc_file *file = file_of(i);
        struct inode *inode =
            tree_add(tree, file->path, S_IFREG | (file->operations ? 0644 : 0444), NULL, 0, why);

        if (!inode)
            return -ENOMEM;
        inode->device = DEVICE_PROC + i;
    }
    if (!tree_add(tree, "/proc/mounts", S_IFLNK | 0777, mounts, sizeof(mounts) - 1, why))
        return -ENOMEM;
    int error = proc_links_add(tree, why);
    return error ? error : places_add(tree, pool, why);
}
