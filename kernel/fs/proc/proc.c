/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc.c: /proc and /sys of the node: the tables of files, and those files that are not about one process.
 * Formats: proc(5), Linux's Documentation/admin-guide/cputopology.rst.
 *
 * What programs read to learn which CPUs they may use (/sys/devices/system/cpu/online, /proc/stat) shows the
 * process's CPUs only, as sched_getaffinity does; what describes the machine (cpuinfo, interrupts, possible,
 * present, topology) shows all CPUs of the node. Memory is the process's slice: no other process can take it.
 *
 * proc_add runs while the tree is built. Files with a constant text are plain files of the tree; the contents
 * of the others are made by functions `…_text`, in system calls of the process that opens the file.
 */
#include "fs/proc/proc.h"
#include "fs/mount.h"
#include "arch.h"
#include "arch/linux_abi.h"
#include "lib/file_mode.h"
#include "time/clock.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "process/process.h"
#include "lib/version.h"

/* For proc_memory_bytes. */
#define ENTRIES_MAX       90 /* of the tables, of /dev and of net/, with directories; there are 83 */
#define ENTRIES_OF_CPU    7  /* two directories, four files, the link of a pid */
#define ENTRIES_OF_DOMAIN 2  /* a directory, a file */
#define NUMA_DOMAINS_MAX  64

uint64_t clock_ticks_of(uint64_t ns)
{
    return ns / (NS_PER_S / 100); /* AT_CLKTCK */
}

/* ---- CPUs ---- */

void text_add_cpus(struct file *file, struct cpu_mask cpus)
{
    const char *comma = "";
    unsigned first = cpu_mask_first(&cpus);

    while (first != CPU_MASK_END) {
        unsigned last = first;

        while (last + 1 < CPU_MASK_END && cpu_mask_test(&cpus, last + 1))
            last++;
        text_add(file, "%s%u", comma, first);
        if (last > first)
            text_add(file, "-%u", last);
        comma = ",";
        first = cpu_mask_next(&cpus, last + 1);
    }
    text_add(file, "\n");
}

void text_add_cpu_words(struct file *file, const struct cpu_mask *cpus)
{
    const unsigned count = arch_cpu_count();
    int digits = (int)((count - 1) % 32 / 4 + 1);

    for (unsigned part = (count - 1) / 32 + 1; part-- > 0; digits = 8)
        text_add(file, "%0*x%s", digits, (uint32_t)(cpus->words[part / 2] >> part % 2 * 32),
                 part ? "," : "\n");
}

static void cpus_online_text(struct file *file)
{
    text_add_cpus(file, arch_process()->cpus);
}

static void cpus_all_text(struct file *file)
{
    text_add_cpus(file, cpu_mask_below(arch_cpu_count()));
}

/* Returns the CPUs of the same package as `cpu`; with `same_core`, of the same core. */
static struct cpu_mask siblings_of(unsigned cpu, bool same_core)
{
    struct cpu_place mine = arch_cpu_place(cpu);
    struct cpu_mask siblings = { 0 };

    for (unsigned other = 0; other < arch_cpu_count(); other++) {
        struct cpu_place place = arch_cpu_place(other);

        if (place.package == mine.package && (!same_core || place.core == mine.core))
            cpu_mask_set(&siblings, other);
    }
    return siblings;
}

/* Returns the number at the end of a directory's name: the CPU or the domain that its files are about. */
static unsigned number_of(const struct inode *directory)
{
    const struct directory_entry *name = directory->name;
    unsigned number = 0;

    for (unsigned i = 0; i < name->name_bytes; i++)
        if (name->name[i] >= '0' && name->name[i] <= '9')
            number = 10 * number + (unsigned)(name->name[i] - '0');
    return number;
}

/* Returns the CPU that a file in its topology directory is about. */
static unsigned cpu_of(const struct file *file)
{
    const struct inode *topology = file->inode->name->directory;

    return number_of(topology->name->directory);
}

static void core_id_text(struct file *file)
{
    text_add(file, "%u\n", arch_cpu_place(cpu_of(file)).core);
}

static void package_id_text(struct file *file)
{
    text_add(file, "%u\n", arch_cpu_place(cpu_of(file)).package);
}

static void thread_siblings_text(struct file *file)
{
    text_add_cpus(file, siblings_of(cpu_of(file), true));
}

static void core_siblings_text(struct file *file)
{
    text_add_cpus(file, siblings_of(cpu_of(file), false));
}

/* Returns the NUMA domain of a CPU; 0 if the firmware reports none below NUMA_DOMAINS_MAX. */
static unsigned domain_of(unsigned cpu)
{
    uint32_t domain = arch_cpu_numa_domain(cpu);

    return domain < NUMA_DOMAINS_MAX ? domain : 0;
}

/* Returns the domains that have CPUs. A mask of CPUs has room for all their numbers. */
static struct cpu_mask domains_present(void)
{
    struct cpu_mask present = { 0 };

    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++)
        cpu_mask_set(&present, domain_of(cpu));
    return present;
}

static void domains_online_text(struct file *file)
{
    text_add_cpus(file, domains_present());
}

static void domain_cpus_text(struct file *file)
{
    const unsigned domain = number_of(file->inode->name->directory);
    struct cpu_mask cpus = { 0 };

    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++)
        if (domain_of(cpu) == domain)
            cpu_mask_set(&cpus, cpu);
    text_add_cpus(file, cpus);
}

static void cpuinfo_text(struct file *file)
{
    struct cpu_mask package = { 0 };
    unsigned siblings = 0, cores = 0;

    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++) {
        struct cpu_place place = arch_cpu_place(cpu);

        if (CPUINFO_HAS_PLACES && !cpu_mask_test(&package, cpu)) { /* else the package of the CPU before */
            package = siblings_of(cpu, false);
            siblings = cpu_mask_count(&package);
            cores = 0;
            CPU_MASK_EACH(other, &package)
                cores += arch_core_of((unsigned)other) == other; /* each core once, at its first CPU */
        }
        text_add(file, "processor\t: %u\n", cpu);
        if (CPUINFO_HAS_PLACES)
            text_add(file, "physical id\t: %u\nsiblings\t: %u\ncore id\t\t: %u\ncpu cores\t: %u\n",
                     place.package, siblings, place.core, cores);
        arch_cpuinfo_describe(cpu, &file->text.sink);
        text_add(file, "\n");
    }
}

/* ---- Counters and memory ---- */

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
        /* The first three letters of a name are Linux's label for the line. */
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
    uint64_t boot_s = (clock_wall_ns(NULL) - clock_now_ns()) / NS_PER_S, interrupts = 0;

    text_add(file, "cpu ");
    time_add_line(file, process_time(process));
    CPU_MASK_EACH(cpu, &process->cpus) {
        text_add(file, "cpu%lu", cpu);
        time_add_line(file, schedule_cpu_time((unsigned)cpu));
    }
    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++)
        for (unsigned number = 0; number < TACET_INTERRUPTS; number++)
            interrupts += arch_counters(cpu)->interrupts[number];
    text_add(file, "intr %lu\nctxt 0\nbtime %lu\nprocesses %u\nprocs_running %u\nprocs_blocked 0\n",
             interrupts, boot_s, process_rank_count, process_rank_count);
}

/* Writes the load: always one for each rank, because no process ever waits for a CPU. */
static void loadavg_text(struct file *file)
{
    unsigned ranks = process_rank_count;

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

static void mounts_text(struct file *file)
{
    const struct mount *mount;

    text_add(file, "rootfs / rootfs ro 0 0\nproc /proc proc rw 0 0\nsysfs /sys sysfs ro 0 0\n"
                   "devtmpfs /dev devtmpfs rw 0 0\ntmpfs /dev/shm tmpfs rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n");
    for (unsigned i = 0; (mount = mount_at(i)) != NULL; i++)
        text_add(file, "%s %s 9p rw,access=any,trans=tcp 0 0\n", mount->source, mount->place);
}

/* ---- The name of this boot ---- */

/* Linux's random name of this boot: a UUID of version 4 [RFC 4122 §4.4]. */
static uint64_t boot_id[2];

static void boot_id_text(struct file *file)
{
    text_add(file, "%08lx-%04lx-%04lx-%04lx-%012lx\n", boot_id[0] >> 32, boot_id[0] >> 16 & 0xffff,
             boot_id[0] & 0xffff, boot_id[1] >> 48, boot_id[1] & 0xffffffffffff);
}

/* ---- The tables ---- */

static const struct proc_file files[] = {
    { "/proc/cpuinfo", .make = cpuinfo_text },
    { "/proc/filesystems",
      .text = "nodev\trootfs\nnodev\tproc\nnodev\tsysfs\nnodev\tdevtmpfs\nnodev\ttmpfs\nnodev\t9p\n" },
    { "/proc/interrupts", .make = interrupts_text },
    { "/proc/loadavg", .make = loadavg_text },
    { "/proc/meminfo", .make = meminfo_text },
    { "/proc/self/mounts", .make = mounts_text },
    { "/proc/stat", .make = stat_text },
    { "/proc/uptime", .make = uptime_text },
    { "/proc/version", .text = "Linux version " LINUX_RELEASE " (Tacet " TACET_VERSION ")\n" },
    { "/proc/sys/fs/inotify/max_queued_events", .text = "4087\n" },
    { "/proc/sys/fs/inotify/max_user_watches", .text = "8192\n" }, /* WATCHES_MAX */
    { "/proc/sys/kernel/hostname", .text = "tacet\n" },
    { "/proc/sys/kernel/osrelease", .text = LINUX_RELEASE "\n" },
    { "/proc/sys/kernel/ostype", .text = "Linux\n" },
    { "/proc/sys/kernel/pid_max", .text = "32768\n" },
    { "/proc/sys/kernel/random/boot_id", .make = boot_id_text },
    { "/proc/sys/kernel/randomize_va_space", .text = "0\n" },
    { "/proc/sys/vm/overcommit_memory", .text = "2\n" }, /* never: memory that was granted is there */
    { "/sys/devices/system/cpu/online", .make = cpus_online_text },
    { "/sys/devices/system/cpu/possible", .make = cpus_all_text },
    { "/sys/devices/system/cpu/present", .make = cpus_all_text },
    { "/sys/devices/system/node/online", .make = domains_online_text },
    { .path = NULL },
};

static const struct proc_file *const tables[] = { files, proc_self_files, proc_tacet_files };

/* Executes a command: each write is one, with or without the end of its line. */
static int64_t command_write(struct file *file, uint64_t buffer, uint64_t bytes, uint64_t offset)
{
    const struct proc_file *kind = file->inode->data;
    char line[80];

    (void)offset;
    if (bytes >= sizeof(line))
        return -EINVAL;
    if (user_read(line, buffer, bytes))
        return -EFAULT;
    line[bytes] = '\0';
    if (bytes > 0 && line[bytes - 1] == '\n')
        line[bytes - 1] = '\0';
    int error = kind->command(line);
    return error ? error : (int64_t)bytes;
}

static const struct file_operations command_operations = {
    .read = text_read, .write = command_write, .size = text_size, .release = text_release
};

static int proc_open(struct file *file)
{
    const struct proc_file *kind = file->inode->data;
    const struct file_operations *operations = kind->command ? &command_operations : &text_operations;

    return text_bind(file, kind->operations ? kind->operations : operations, kind->make);
}

static const struct inode_operations proc_operations = { .open = proc_open };

static uint32_t file_mode(const struct proc_file *file)
{
    return S_IFREG | (file->command || file->operations ? 0644 : 0444);
}

/* Makes an inode a file whose contents `make` writes. */
static void file_set(struct inode *inode, const struct proc_file *file)
{
    inode->device = PROC_DEVICE;
    inode->operations = &proc_operations;
    inode->data = file; /* proc_open reads it */
}

int proc_files_add(struct tree *tree, const struct proc_file *file, struct message *why)
{
    for (; file->path; file++) {
        uint64_t bytes = file->text ? strlen(file->text) : 0;
        struct inode *inode = tree_add(tree, file->path, file_mode(file), file->text, bytes, why);

        if (!inode)
            return -ENOMEM;
        inode->device = PROC_DEVICE;
        if (!file->text)
            file_set(inode, file);
    }
    return 0;
}

/* ---- Directories with a number ---- */

struct inode *proc_inode_add(struct tree *tree, struct inode *directory, const char *name, bool copy,
                             uint32_t mode, struct message *why)
{
    struct inode *inode = inode_create(tree, mode);

    if (inode && tree_entry_add(tree, directory, inode, name, (uint32_t)strlen(name), copy))
        return inode;
    message_set(why, -ENOMEM, "file tree: no memory for \"%s\" in /proc or /sys", name);
    return NULL;
}

bool proc_made_add(struct tree *tree, struct inode *directory, const char *name, const struct proc_file *file,
                   struct message *why)
{
    struct inode *inode =
        directory ? proc_inode_add(tree, directory, name, false, file_mode(file), why) : NULL;

    if (inode)
        file_set(inode, file);
    return inode;
}

/* Files that many directories have; a path is the name in each. */
static const struct proc_file topology_files[] = {
    { "core_id", .make = core_id_text },
    { "physical_package_id", .make = package_id_text },
    { "thread_siblings_list", .make = thread_siblings_text },
    { "core_siblings_list", .make = core_siblings_text },
    { .path = NULL },
};
static const struct proc_file domain_files[] = {
    { "cpulist", .make = domain_cpus_text },
    { .path = NULL },
};

/* Makes the directory `path`, and in it for each number one that has the files; if `inner` is not NULL, in a
 * directory of that name. */
static bool numbered_add(struct tree *tree, const char *path, const char *name, struct cpu_mask numbers,
                         const char *inner, const struct proc_file *files_of_each, struct message *why)
{
    struct inode *all = tree_add(tree, path, S_IFDIR | 0755, NULL, 0, why), *directory = all;
    bool added = all;

    CPU_MASK_EACH(number, &numbers) {
        char text[16];

        format_text(text, sizeof(text), "%s%u", name, (unsigned)number);
        if (added)
            directory = proc_inode_add(tree, all, text, true, S_IFDIR | 0755, why);
        if (directory && inner)
            directory = proc_inode_add(tree, directory, inner, false, S_IFDIR | 0755, why);
        for (const struct proc_file *file = files_of_each; file->path && added; file++)
            added = proc_made_add(tree, directory, file->path, file, why);
    }
    return added;
}

uint64_t proc_memory_bytes(void)
{
    uint64_t cpus = arch_cpus_present(), domains = cpus < NUMA_DOMAINS_MAX ? cpus : NUMA_DOMAINS_MAX;
    uint64_t entries =
        ENTRIES_MAX + cpus * ENTRIES_OF_CPU + domains * ENTRIES_OF_DOMAIN + FILE_DESCRIPTORS_MAX;

    return entries * TREE_ENTRY_BYTES_MAX + 2 * ARCH_PAGE;
}

int proc_add(struct tree *tree, struct message *why)
{
    static const char mounts[] = "self/mounts";

    boot_id[0] = (arch_random() & ~0xf000ULL) | 0x4000;
    boot_id[1] = (arch_random() & ~(3ULL << 62)) | 2ULL << 62;
    if (!tree_mount(tree, "/proc", 0555, FILESYSTEM_PROC, why) ||
        !tree_mount(tree, "/sys", 0555, FILESYSTEM_SYS, why))
        return -ENOMEM;
    for (unsigned i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        if (proc_files_add(tree, tables[i], why))
            return -ENOMEM;
    if (!tree_add(tree, "/proc/mounts", S_IFLNK | 0777, mounts, sizeof(mounts) - 1, why) ||
        !numbered_add(tree, "/sys/devices/system/cpu", "cpu", cpu_mask_below(arch_cpu_count()), "topology",
                      topology_files, why) ||
        !numbered_add(tree, "/sys/devices/system/node", "node", domains_present(), NULL, domain_files, why))
        return -ENOMEM;
    int error = proc_links_add(tree, why);
    return error ? error : proc_tasks_add(tree, why);
}
