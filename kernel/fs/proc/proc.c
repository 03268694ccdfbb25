/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc.c: /proc and /sys of the node: the tables of files, and those files that are about neither one process
 * nor the machine's parts. Formats: proc(5).
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
#include "lib/file_mode.h"
#include "time/clock.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "process/process.h"
#include "lib/version.h"

uint64_t clock_ticks_of(uint64_t ns)
{
    return ns / (NS_PER_S / 100); /* AT_CLKTCK */
}

/* ---- Numbers and masks ---- */

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

void text_add_words(struct file *file, const struct cpu_mask *mask, unsigned count)
{
    int digits = (int)((count - 1) % 32 / 4 + 1);

    for (unsigned part = (count - 1) / 32 + 1; part-- > 0; digits = 8)
        text_add(file, "%0*x%s", digits, (uint32_t)(mask->words[part / 2] >> part % 2 * 32),
                 part ? "," : "\n");
}

void list_text(struct file *file)
{
    const struct proc_file *kind = file->inode->data;
    struct cpu_mask mask = { 0 };

    kind->mask(file, &mask);
    text_add_cpus(file, mask);
}

void words_text(struct file *file)
{
    const struct proc_file *kind = file->inode->data;
    struct cpu_mask mask = { 0 };

    kind->mask(file, &mask);
    text_add_words(file, &mask, arch_cpu_count());
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
    uint64_t boot_s = (clock_wall_ns(NULL) - clock_now_ns()) / NS_PER_S, interrupts = 0, switches = 0;

    text_add(file, "cpu ");
    time_add_line(file, process_time(process));
    CPU_MASK_EACH(cpu, &process->cpus) {
        text_add(file, "cpu%lu", cpu);
        time_add_line(file, schedule_cpu_time((unsigned)cpu));
    }
    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++) {
        switches += arch_counters(cpu)->switches;
        for (unsigned number = 0; number < TACET_INTERRUPTS; number++)
            interrupts += arch_counters(cpu)->interrupts[number];
    }
    text_add(file, "intr %lu\nctxt %lu\nbtime %lu\nprocesses %u\nprocs_running %u\nprocs_blocked 0\n",
             interrupts, switches, boot_s, process_rank_count, process_rank_count);
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
    const uint64_t total = pages->total_bytes / 1024, free = pages->free_bytes / 1024;

    text_add(file,
             "MemTotal:       %8lu kB\nMemFree:        %8lu kB\nMemAvailable:   %8lu kB\n"
             "Buffers:               0 kB\nCached:                0 kB\nSwapCached:            0 kB\n"
             "SwapTotal:             0 kB\nSwapFree:              0 kB\nCommitLimit:    %8lu kB\n"
             "Committed_AS:   %8lu kB\nHugepagesize:   %8llu kB\n",
             total, free, free, total, total - free, ARCH_LARGE_PAGE / 1024);
}

static void vmstat_text(struct file *file)
{
    text_add(file, "nr_free_pages %llu\npswpin 0\npswpout 0\npgmajfault 0\noom_kill 0\n",
             arch_process()->pages.free_bytes / ARCH_PAGE);
}

/* ---- Mounts ---- */

#define PROC_MOUNTINFO 1 /* a row's `of` */

/* Writes a line of /proc/mounts; of mountinfo, in which a number is that of stat's device (sys_status.c). */
static void mount_text(struct file *file, unsigned number, const char *source, const char *place,
                       const char *type, const char *options)
{
    const struct proc_file *kind = file->inode->data;

    if (kind->of == PROC_MOUNTINFO)
        text_add(file, "%u %u 0:%u / %s %.2s - %s %s %s\n", number, number > 1, number, place, options, type,
                 source, options);
    else
        text_add(file, "%s %s %s %s 0 0\n", source, place, type, options);
}

static void mounts_text(struct file *file)
{
    static const struct {
        unsigned filesystem;
        const char *type, *place, *options;
    } of_tree[] = {
        { FILESYSTEM_ROOT, "rootfs", "/", "ro" },      { FILESYSTEM_PROC, "proc", "/proc", "rw" },
        { FILESYSTEM_SYS, "sysfs", "/sys", "ro" },     { FILESYSTEM_DEV, "devtmpfs", "/dev", "rw" },
        { FILESYSTEM_SHM, "tmpfs", "/dev/shm", "rw" }, { FILESYSTEM_TMP, "tmpfs", "/tmp", "rw" },
    };
    const struct mount *mount;

    for (unsigned i = 0; i < sizeof(of_tree) / sizeof(of_tree[0]); i++)
        mount_text(file, of_tree[i].filesystem + 1, of_tree[i].type, of_tree[i].place, of_tree[i].type,
                   of_tree[i].options);
    for (unsigned i = 0; (mount = mount_at(i)) != NULL; i++)
        mount_text(file, FILESYSTEM_MOUNTS + i + 1, mount->source, mount->place, "9p",
                   "rw,access=any,trans=tcp");
}

/* ---- The name of this boot ---- */

/* Linux's random name of this boot: a UUID of version 4 [RFC 4122 §4.4]. */
static uint64_t boot_id[2];

static void boot_id_text(struct file *file)
{
    text_add(file, "%08lx-%04lx-%04lx-%04lx-%012lx\n", boot_id[0] >> 32, boot_id[0] >> 16 & 0xffff,
             boot_id[0] & 0xffff, boot_id[1] >> 48, boot_id[1] & 0xffffffffffff);
}

/* ---- Facts of the node ---- */

const struct command_line *proc_command_line;

/* Writes the options of the boot loader's line, but no keys, and the program's arguments. */
static void cmdline_text(struct file *file)
{
    const struct command_line *line = proc_command_line;

    for (unsigned i = 0; i < line->option_count; i++) {
        const char *name = line->options[i].name, *value = line->options[i].value;
        const size_t length = strlen(name);

        if (length < 4 || strcmp(name + length - 4, "_key") != 0)
            text_add(file, "%s%s%s ", name, value ? "=" : "", value ? value : "");
    }
    text_add(file, "--");
    for (unsigned i = 0; i < line->argument_count; i++)
        text_add(file, " %s", line->arguments[i]);
    text_add(file, "\n");
}

static void threads_max_text(struct file *file)
{
    const struct cpu_mask all = cpu_mask_below(arch_cpu_count());

    text_add(file, "%u\n", threads_max(&all));
}

/* ---- The tables ---- */

static const struct proc_file files[] = {
    { "/proc/cmdline", .make = cmdline_text },
    { "/proc/diskstats", .text = "" },
    { "/proc/filesystems",
      .text = "nodev\trootfs\nnodev\tproc\nnodev\tsysfs\nnodev\tdevtmpfs\nnodev\ttmpfs\nnodev\t9p\n" },
    { "/proc/interrupts", .make = interrupts_text },
    { "/proc/loadavg", .make = loadavg_text },
    { "/proc/meminfo", .make = meminfo_text },
    { "/proc/modules", .text = "" },
    { "/proc/self/mountinfo", .make = mounts_text, .of = PROC_MOUNTINFO },
    { "/proc/self/mounts", .make = mounts_text },
    { "/proc/stat", .make = stat_text },
    { "/proc/swaps", .text = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n" },
    { "/proc/uptime", .make = uptime_text },
    { "/proc/version", .text = "Linux version " LINUX_RELEASE " (Tacet " TACET_VERSION ")\n" },
    { "/proc/vmstat", .make = vmstat_text },
    { "/proc/sys/fs/inotify/max_queued_events", .text = "4087\n" },
    { "/proc/sys/fs/inotify/max_user_watches", .text = "8192\n" }, /* WATCHES_MAX */
    { "/proc/sys/fs/nr_open", .text = "65536\n" },                 /* FILE_DESCRIPTORS_MAX */
    { "/proc/sys/fs/pipe-max-size", .text = "65536\n" },
    { "/proc/sys/kernel/core_pattern", .text = "\n" }, /* none is written */
    { "/proc/sys/kernel/ngroups_max", .text = "256\n" },
    { "/proc/sys/kernel/numa_balancing", .text = "0\n" },
    { "/proc/sys/kernel/osrelease", .text = LINUX_RELEASE "\n" },
    { "/proc/sys/kernel/ostype", .text = "Linux\n" },
    { "/proc/sys/kernel/perf_event_paranoid", .text = "4\n" }, /* perf_event_open is refused to all */
    { "/proc/sys/kernel/pid_max", .text = "32768\n" },
    { "/proc/sys/kernel/random/boot_id", .make = boot_id_text },
    { "/proc/sys/kernel/randomize_va_space", .text = "0\n" },
    { "/proc/sys/kernel/threads-max", .make = threads_max_text },
    { "/proc/sys/kernel/version", .text = "Tacet " TACET_VERSION "\n" },
    { "/proc/sys/vm/max_map_count", .text = "2147483647\n" }, /* as many as the slice has room for */
    { "/proc/sys/vm/overcommit_memory", .text = "2\n" },      /* never: memory that was granted is there */
    { "/sys/kernel/mm/transparent_hugepage/enabled", .text = "[always] madvise never\n" },
    { "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", .text = "2097152\n" },
    /* The limits of kernel/ipc */
    { "/proc/sys/kernel/shmmax", .text = "18446744073692774399\n" },
    { "/proc/sys/kernel/shmall", .text = "18446744073692774399\n" },
    { "/proc/sys/kernel/shmmni", .text = "1024\n" },
    { "/proc/sys/kernel/sem", .text = "2048\t2097152\t64\t1024\n" },
    { "/proc/sys/kernel/msgmax", .text = "8192\n" },
    { "/proc/sys/kernel/msgmnb", .text = "16384\n" },
    { "/proc/sys/kernel/msgmni", .text = "1024\n" },
    { "/proc/sys/fs/mqueue/msg_max", .text = "10\n" },
    { "/proc/sys/fs/mqueue/msgsize_max", .text = "8192\n" },
    { .path = NULL },
};

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

bool proc_files_add(struct tree *tree, struct inode *directory, const struct proc_file *file,
                    struct message *why)
{
    for (; directory && file->path; file++) {
        const uint32_t mode = S_IFREG | (file->command || file->operations ? 0644 : 0444);
        const void *data = file->make ? (const void *)file : file->text; /* proc_open reads the row */
        struct inode *inode =
            tree_add_below(tree, directory, file->path, mode, data, file->make ? 0 : strlen(file->text), why);

        if (!inode)
            return false;
        inode->device = PROC_DEVICE;
        inode->operations = file->make ? &proc_operations : NULL;
    }
    return directory;
}

struct inode *proc_directory_add(struct tree *tree, struct inode *parent, const char *path,
                                 const struct proc_file *files_of, struct message *why)
{
    struct inode *directory = tree_add_below(tree, parent, path, S_IFDIR | 0755, NULL, 0, why);

    return proc_files_add(tree, directory, files_of, why) ? directory : NULL;
}

int proc_add(struct tree *tree, struct message *why)
{
    static const char mounts[] = "self/mounts";

    boot_id[0] = (arch_random() & ~0xf000ULL) | 0x4000;
    boot_id[1] = (arch_random() & ~(3ULL << 62)) | 2ULL << 62;
    return tree_mount(tree, "/proc", 0555, FILESYSTEM_PROC, why) &&
                   tree_mount(tree, "/sys", 0555, FILESYSTEM_SYS, why) &&
                   proc_files_add(tree, tree->root, files, why) && proc_machine_add(tree, why) &&
                   proc_directory_add(tree, tree->root, "/proc/self", proc_self_files, why) &&
                   proc_directory_add(tree, tree->root, "/proc/net", proc_socket_files, why) &&
                   proc_directory_add(tree, tree->root, "/proc/tacet", proc_tacet_files, why) &&
                   tree_add(tree, "/proc/mounts", S_IFLNK | 0777, mounts, sizeof(mounts) - 1, why) &&
                   tree_add(tree, "/proc/self/root", S_IFLNK | 0777, "/", 1, why) && proc_links_add(tree, why)
               ? 0
               : -ENOMEM;
}
