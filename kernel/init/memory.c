/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.c: see memory.h. The memory is planned once for the kernel's pool, before it is known how many CPUs
 * start, and then for each job, because slices depend on its number of ranks. The pool's place does not.
 */
#include "init/memory.h"
#include "arch.h"
#include "beat/node_keys.h"
#include "debug/console.h"
#include "debug/stop.h"
#include "fs/proc/proc.h"
#include "init/files.h"
#include "init/job.h"
#include "launch/launcher.h"
#include "lib/kstring.h"
#include "mm/page.h"
#include "net/memory.h"
#include "process/process.h"

#define SLICE_BYTES_MIN (16ULL << 20)

struct page_pool kernel_pool;

static const struct boot_info *boot;
static uint64_t service_bytes, pool_bytes;
static struct memplan plan;

static void modules_check(void)
{
    for (unsigned i = 0; i < boot->module_count; i++) {
        const struct memory_range *range = &boot->modules[i].range;

        if (range->base >= ARCH_EARLY_LIMIT || range->bytes > ARCH_EARLY_LIMIT - range->base)
            node_stop(STOP_BAD_INPUT, "module %u lies at %#lx, %lu KiB; it must end below %#lx", i,
                      range->base, range->bytes / 1024, ARCH_EARLY_LIMIT);
    }
}

/* Returns the planner's work area, which serves the network once the last plan is made; empty if jobs come
 * one after another, because then no plan is the last. */
static struct memory_range network_work_area(void)
{
    uint64_t bytes, base = arch_physical_of(memplan_work_area(&bytes));

    if (launcher_is_on())
        return (struct memory_range){ 0 };
    bytes = page_down(base + bytes) - page_up(base);
    return (struct memory_range){ page_up(base), smaller(bytes, NETWORK_OWN_BYTES) };
}

static uint64_t network_more_bytes(void)
{
    return NETWORK_OWN_BYTES - network_work_area().bytes;
}

/* Makes the plan. `ranks_known`: the job is configured, so each rank's memory can come from its CPU's
 * domain. */
static int memory_plan(unsigned rank_count, bool ranks_known, struct message *why)
{
    static struct memory_range reserved[BOOT_RANGES_MAX + BOOT_MODULES_MAX + 1];
    static uint32_t rank_domains[MEMPLAN_RANKS_MAX];
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
        .address_limit = ARCH_ADDRESS_LIMIT,
        .pool_bytes = pool_bytes,
        .pool_limit = ARCH_EARLY_LIMIT,
        .rank_count = rank_count,
        .slice_bytes_min = SLICE_BYTES_MIN,
    };
    if (ranks_known) {
        input.numa_range_count = arch_numa_ranges(&input.numa_ranges);
        input.rank_domains = rank_domains;
        for (unsigned rank = 0; rank < rank_count; rank++)
            rank_domains[rank] = arch_cpu_numa_domain(job_cpu_of(rank));
    }
    return memplan_make(&input, &plan, why);
}

void memory_start(const struct boot_info *given, const struct command_line *line)
{
    struct message why = { "" };

    boot = given;
    service_bytes = job_service_bytes(line);
    modules_check();
    pool_bytes = arch_pool_bytes(boot) + files_memory_bytes(boot) + 8 * ARCH_PAGE + network_more_bytes() +
                 (launcher_is_on() ? LAUNCHER_BYTES : 0) + (node_keys_are_given(line) ? NODE_KEYS_BYTES : 0) +
                 service_bytes + (service_bytes ? ARCH_LARGE_PAGE : 0);
    start_check(memory_plan(1, false, &why), &why);
    page_pool_initialise(&kernel_pool, &plan.pool, 1);
}

int memory_slices_plan(struct memplan **out, struct message *why)
{
    *out = &plan;
    return memory_plan(process_rank_count, true, why);
}

/* ---- What was planned ---- */

uint64_t memory_kernel_bytes(void)
{
    return arch_kernel_image().bytes + plan.pool.bytes - service_bytes;
}

static uint64_t overlap_bytes(const struct memory_range *a, const struct memory_range *b)
{
    uint64_t start = a->base > b->base ? a->base : b->base;
    uint64_t end = smaller(a->base + a->bytes, b->base + b->bytes);

    return start < end ? end - start : 0;
}

/* Prints how much of each rank's memory is in its own NUMA domain, if the firmware describes domains. */
static void numa_domains_print(void)
{
    const struct numa_range *ranges;
    unsigned count = arch_numa_ranges(&ranges);

    for (unsigned rank = 0; rank < process_rank_count && count > 0; rank++) {
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

void memory_describe(void)
{
    kernel_print("memory: %lu MiB for each of %u ranks, %lu KiB for the kernel\n", plan.slices[0].bytes >> 20,
                 process_rank_count, memory_kernel_bytes() / 1024);
    if (service_bytes)
        kernel_print("memory: %lu MiB for the service\n", service_bytes >> 20);
    numa_domains_print();
}

/* ---- Of the pool ---- */

uint64_t memory_take(uint64_t bytes, uint64_t alignment)
{
    uint64_t memory = page_pool_allocate(&kernel_pool, bytes, alignment);

    ASSERT(memory != PAGE_POOL_NONE);
    return memory;
}

struct memory_slice memory_service_take(void)
{
    static struct memory_range extent;

    extent.bytes = service_bytes;
    if (!extent.bytes)
        return (struct memory_slice){ 0 };
    extent.base = memory_take(extent.bytes, ARCH_LARGE_PAGE);
    return (struct memory_slice){ .extents = &extent, .extent_count = 1, .bytes = extent.bytes };
}

uint64_t memory_ranks_mib(void)
{
    uint64_t bytes = 0;

    for (unsigned rank = 0; rank < process_rank_count; rank++)
        bytes += plan.slices[rank].bytes;
    return bytes >> 20;
}

void memory_network_give(void)
{
    const uint64_t more_bytes = network_more_bytes();
    struct memory_range extents[2] = { network_work_area() };
    unsigned count = extents[0].bytes != 0;

    if (more_bytes)
        extents[count++] = (struct memory_range){ memory_take(more_bytes, ARCH_PAGE), more_bytes };
    network_memory_start(extents, count);
}
