/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main.c: from a struct boot_info to a running program: read the command line, plan the memory, take over
 * from the early map, build the file tree, start the other CPUs and the job. Runs once, on the first CPU,
 * interrupts off. A mistake in the command line, the modules or the program stops the node, with one line
 * that says what is wrong.
 */
#include "arch.h"
#include "beat/nettick.h"
#include "lib/file_mode.h"
#include "time/clock.h"
#include "time/clock_event.h"
#include "time/timer.h"
#include "lib/command_line.h"
#include "debug/console.h"
#include "lib/errno.h"
#include "fs/file.h"
#include "lib/kstring.h"
#include "mm/memplan.h"
#include "mm/page.h"
#include "init/job.h"
#include "init/mounts.h"
#include "debug/klog.h"
#include "debug/lock_check.h"
#include "init/node.h"
#include "fs/proc/proc.h"
#include "net/netconsole.h"
#include "net/network.h"
#include "net/network_files.h"
#include "init/selftest.h"
#include "process/process.h"
#include "debug/stop.h"
#include "lib/version.h"

#define SLICE_BYTES_MIN (16ULL << 20)

static const char *const known_options[] = {
    "app",
    "argv0",
    "bootif",
    "clockevent",
    "clockevents",
    "console",
    "cwd",
    "end",
    "env",
    "idle",
    "ip",
    "ip_wait",
    "klog",
    "klog_classes",
    "latency_bound",
    "mount",
    "mount_required",
    "mount_timeout",
    "netconsole",
    "netdev",
    "nettick",
    "nettick_dev",
    "nettick_key",
    "ntp",
    "prefix",
    "ranks",
    "rotation",
    "selftest",
    "service",
    "service_memory",
    "service_policy",
    "stack",
    "stderr",
    "stdin_bytes",
    "stdout",
    "threads",
    NULL,
};

static struct command_line line;
static struct memplan plan;
static struct page_pool kernel_pool;
static struct tree tree;

static void options_read(struct boot_info *boot)
{
    struct message why;

    if (command_line_parse(boot->command_line, &line, &why) || stop_configure(&line, &why) ||
        console_configure(&line, &why) || klog_configure(&line, &why) ||
        command_line_check(&line, known_options, &why) || netconsole_configure(&line, &why))
        start_failed(-EINVAL, &why);
}

/* ---- Memory ---- */

/* Inodes that the archives need at most: one for each entry, and one for each directory of its path. */
static uint64_t tree_inodes_max(const struct boot_info *boot)
{
    uint64_t count = 32; /* root, /dev */

    for (unsigned i = 0; i < boot->module_count; i++) {
        const struct memory_range *range = &boot->modules[i].range;
        const void *archive = arch_physical(range->base);
        struct cpio_entry entry;
        struct message why;
        uint64_t offset = 0;

        count += 8;
        if (!cpio_recognise(archive, range->bytes))
            continue;
        while (cpio_next(archive, range->bytes, &offset, &entry, &why) == 1) {
            count++;
            for (const char *c = entry.name; *c; c++)
                count += *c == '/';
        }
    }
    return count;
}

static void modules_check(const struct boot_info *boot)
{
    for (unsigned i = 0; i < boot->module_count; i++) {
        const struct memory_range *range = &boot->modules[i].range;

        if (range->base >= arch_early_limit() || range->bytes > arch_early_limit() - range->base)
            node_stop(STOP_BAD_INPUT, "module %u lies at %#lx, %lu KiB; it must end below %#lx", i,
                      range->base, range->bytes / 1024, arch_early_limit());
    }
}

/* `ranks_known`: the job is configured, so that each rank's memory can come from the domain of its CPU. */
static void memory_plan(const struct boot_info *boot, unsigned rank_count, bool ranks_known)
{
    static struct memory_range reserved[BOOT_RANGES_MAX + BOOT_MODULES_MAX + 1];
    static uint32_t rank_domains[MEMPLAN_RANKS_MAX];
    struct message why = { "" };
    unsigned count = boot->reserved_count;

    memcpy(reserved, boot->reserved, count * sizeof(reserved[0]));
    reserved[count++] = arch_kernel_image();
    for (unsigned i = 0; i < boot->module_count; i++)
        reserved[count++] = boot->modules[i].range;

    struct memplan_input input = {
        .usable = boot->usable,
        .usable_count = boot->usable_count,
        .reserved = reserved,
        .reserved_count = count,
        .address_limit = arch_address_limit(),
        .pool_bytes = arch_pool_bytes(boot) + tree_inodes_max(boot) * TREE_ENTRY_BYTES_MAX +
                      proc_memory_bytes() + 8 * ARCH_PAGE + job_service_bytes(&line) +
                      (job_service_bytes(&line) ? ARCH_LARGE_PAGE : 0),
        .pool_limit = arch_early_limit(),
        .rank_count = rank_count,
        .slice_bytes_min = SLICE_BYTES_MIN,
    };
    if (ranks_known) {
        input.numa_range_count = arch_numa_ranges(&input.numa_ranges);
        input.rank_domains = rank_domains;
        for (unsigned rank = 0; rank < rank_count; rank++)
            rank_domains[rank] = arch_cpu_numa_domain(job_cpu_of(rank));
    }
    int error = memplan_make(&input, &plan, &why);

    if (error)
        start_failed(error, &why);
}

/* The memory of the service, for which the pool was planned. */
static struct memory_slice service_slice_take(void)
{
    static struct memory_range extent;

    extent.bytes = job_service_bytes(&line);
    if (!extent.bytes)
        return (struct memory_slice){ 0 };
    extent.base = page_pool_allocate(&kernel_pool, extent.bytes, ARCH_LARGE_PAGE);
    ASSERT(extent.base != PAGE_POOL_NONE);
    return (struct memory_slice){ .extents = &extent, .extent_count = 1, .bytes = extent.bytes };
}

static uint64_t overlap_bytes(const struct memory_range *a, const struct memory_range *b)
{
    uint64_t start = a->base > b->base ? a->base : b->base;
    uint64_t end = smaller(a->base + a->bytes, b->base + b->bytes);

    return start < end ? end - start : 0;
}

/* Where the firmware describes NUMA domains: how much of each rank's memory is in its own. */
static void numa_domains_print(unsigned rank_count)
{
    const struct numa_range *ranges;
    unsigned count = arch_numa_ranges(&ranges);

    for (unsigned rank = 0; rank < rank_count && count > 0; rank++) {
        const struct memory_slice *slice = &plan.slices[rank];
        uint32_t domain = arch_cpu_numa_domain(job_cpu_of(rank));
        uint64_t near = 0;

        for (unsigned i = 0; i < slice->extent_count; i++)
            for (unsigned j = 0; j < count; j++)
                near += ranges[j].domain == domain ? overlap_bytes(&slice->extents[i], &ranges[j].range) : 0;
        if (domain != NUMA_DOMAIN_NONE)
            kernel_print("memory: rank %u is on NUMA node %u, as are %lu of its %lu MiB\n", rank, domain,
                         near >> 20, slice->bytes >> 20);
    }
}

/* ---- Files ---- */

/* From the kernel's pool while the tree is built, later from the slice of the rank that makes a file. */
static void *tree_page_allocate(void *context)
{
    struct process *process = arch_process();
    uint64_t page = page_pool_allocate(process ? process->vm.pages : &kernel_pool, ARCH_PAGE, ARCH_PAGE);

    (void)context; /* there is one tree */
    return page == PAGE_POOL_NONE ? NULL : arch_physical(page);
}

/* The entries of a module that is an archive become files of the tree; any other module is one file: under
 * its own name where that is a path, else as the default program. */
static void tree_build(const struct boot_info *boot)
{
    struct message why = { "" };

    tree.page_allocate = tree_page_allocate;
    tree.secret = arch_random();
    int error = tree_initialise(&tree);
    for (unsigned i = 0; i < boot->module_count && !error; i++) {
        const struct boot_module *module = &boot->modules[i];
        const void *bytes = arch_physical(module->range.base);

        if (cpio_recognise(bytes, module->range.bytes)) {
            error = tree_add_archive(&tree, bytes, module->range.bytes, &why);
        } else {
            const char *path = module->name[0] == '/' ? module->name : PROGRAM_DEFAULT;

            error = tree_add(&tree, path, S_IFREG | 0755, bytes, module->range.bytes, &why) ? 0 : -EINVAL;
        }
    }
    if (error || devices_add(&tree, &why) || tree_writable_add(&tree, &why) || proc_add(&tree, &why) ||
        network_files_add(&tree, &why))
        node_stop(STOP_BAD_INPUT, "initrd: %s", why.text[0] ? why.text : "no memory for the file tree");
}

_Noreturn void kernel_cpu_start(unsigned cpu)
{
    klog(cpu_online, cpu, 0);
    timer_cpu_start();
    job_cpu_join(cpu);
}

_Noreturn void kernel_start(struct boot_info *boot)
{
    struct message why;
    char cpu[128];

    lock_check_start();
    options_read(boot);
    arch_cpu_describe(cpu, sizeof(cpu));
    kernel_print("Tacet %s, %s, started by %s\n", TACET_VERSION, ARCH_NAME, boot->protocol);
    kernel_print("cpu: %s\n", cpu);
    if (boot->ranges_dropped)
        kernel_print("memory: %u entries of the firmware's map are more than the kernel keeps; that memory "
                     "stays unused\n",
                     boot->ranges_dropped);
    if (boot->module_count == 0)
        node_stop(STOP_BAD_INPUT,
                  "no program: hand one in as boot module (QEMU: -initrd FILE, GRUB: module2 FILE)");

    /* The memory is planned twice: the kernel's pool is needed before it is known how many CPUs start, and so
     * how many ranks there are. The pool's place does not depend on that. */
    modules_check(boot);
    memory_plan(boot, 1, false);
    page_pool_initialise(&kernel_pool, &plan.pool, 1);
    arch_memory_initialise(&kernel_pool, boot);
    arch_initialise(boot);
    clock_start();
    if (nettick_configure(&line, &why) || clock_event_configure(&line, &why) ||
        timer_configure(&line, &why) || arch_idle_configure(&line, &why) || schedule_configure(&line, &why) ||
        threads_configure(&line, &why))
        start_failed(-EINVAL, &why);
    timer_cpu_start();
    klog_cpu_start(); /* the options have come since this CPU's setup */
    arch_cpus_start(&kernel_pool, boot);
    clock_offsets_set();
    job_configure(&line, arch_cpu_count());
    memory_plan(boot, process_rank_count, true);

    struct memory_slice service = service_slice_take();
    uint64_t kernel_bytes = arch_kernel_image().bytes + plan.pool.bytes - service.bytes;
    kernel_print("memory: %lu MiB for each of %u ranks, %lu KiB for the kernel\n", plan.slices[0].bytes >> 20,
                 process_rank_count, kernel_bytes / 1024);
    if (service.bytes)
        kernel_print("memory: %lu MiB for the service\n", service.bytes >> 20);
    numa_domains_print(process_rank_count);
    node_facts_set(kernel_bytes);
    if (command_line_option(&line, "selftest"))
        selftest_run(command_line_option(&line, "selftest"), &plan.slices[0]);
    if (network_start(&line, &why))
        start_failed(-EINVAL, &why);
    tree_build(boot);
    int error = mounts_start(&line, &tree, &why);
    if (error)
        start_failed(error, &why);
    job_start(&plan, &service, &tree);
}
