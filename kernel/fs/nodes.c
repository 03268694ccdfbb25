/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nodes.c: see nodes.h. Everything follows from the contract's ranges and CPUs, which do not change after
 * boot. Runs in system calls, or while the tree is built.
 */
#include "fs/nodes.h"
#include "arch.h"
#include "lib/boot_info.h"
#include "lib/errno.h"
#include "mm/page.h"
#include "smp/crosscall.h"

#define REST_BYTES    (2 * ARCH_LARGE_PAGE)
#define PAGES_A_PIECE 512 /* that are counted between two times that crosscalls are served */

static unsigned node_of_domain(uint32_t domain)
{
    return domain < NODES_MAX ? domain : 0;
}

unsigned node_of_cpu(unsigned cpu)
{
    return node_of_domain(arch_cpu_numa_domain(cpu));
}

uint64_t nodes_known(void)
{
    const struct numa_range *ranges;
    unsigned count = arch_numa_ranges(&ranges);
    uint64_t nodes = 0;

    for (unsigned i = 0; i < count; i++)
        nodes |= 1ULL << node_of_domain(ranges[i].domain);
    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++)
        nodes |= 1ULL << node_of_cpu(cpu);
    return nodes;
}

static uint64_t common_bytes(const struct memory_range *a, const struct memory_range *b)
{
    uint64_t start = a->base > b->base ? a->base : b->base;
    uint64_t end = smaller(a->base + a->bytes, b->base + b->bytes);

    return start < end ? end - start : 0;
}

/* Gives node 0 what no other one has. */
uint64_t node_bytes(const struct memory_slice *slice, unsigned node)
{
    const struct numa_range *ranges;
    unsigned count = arch_numa_ranges(&ranges);
    uint64_t bytes = node ? 0 : slice->bytes;

    for (unsigned i = 0; i < slice->extent_count; i++)
        for (unsigned j = 0; j < count; j++) {
            unsigned owner = node_of_domain(ranges[j].domain);

            if (owner && (owner == node || !node))
                bytes += (node ? 1 : -1ULL) * common_bytes(&slice->extents[i], &ranges[j].range);
        }
    return bytes;
}

uint64_t nodes_of(const struct memory_slice *slice)
{
    uint64_t nodes = 0;

    for (uint64_t left = nodes_known(); left; left &= left - 1)
        if (node_bytes(slice, (unsigned)__builtin_ctzll(left)) > REST_BYTES)
            nodes |= left & -left;
    return nodes ? nodes : 1;
}

int node_of_address(const struct vm *vm, uint64_t address)
{
    const uint64_t physical =
        address < ARCH_USER_LIMIT ? arch_translate(&vm->space, address) : PAGE_POOL_NONE;
    const struct numa_range *ranges;
    unsigned count = arch_numa_ranges(&ranges);

    if (physical == PAGE_POOL_NONE)
        return -ENOENT;
    for (unsigned i = 0; i < count; i++)
        if (physical - ranges[i].range.base < ranges[i].range.bytes)
            return (int)node_of_domain(ranges[i].domain);
    return 0;
}

void node_pages(const struct vm *vm, uint64_t start, uint64_t end, uint64_t pages[NODES_MAX])
{
    for (uint64_t address = start; address < end; address += ARCH_PAGE) {
        int node = node_of_address(vm, address);

        if (node >= 0)
            pages[node]++;
        if (address / ARCH_PAGE % PAGES_A_PIECE == 0)
            crosscall_serve();
    }
}
