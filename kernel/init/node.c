/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * node.c: see node.h. The facts' page is the kernel's own, shown to programs read-only; nothing else stands
 * on it.
 */
#include "init/node.h"
#include "arch.h"

static union {
    struct tacet_node node;
    uint8_t page[ARCH_PAGE];
} facts __attribute__((aligned(ARCH_PAGE)));

void node_facts_set(uint64_t kernel_bytes)
{
    facts.node.layout = TACET_LAYOUT;
    facts.node.cpu_count = arch_cpu_count();
    facts.node.clock_hz = arch_clock_hz();
    facts.node.boot_ticks = arch_boot_ticks();
    facts.node.kernel_bytes = kernel_bytes;
}

void node_zeroed_set(uint64_t bytes)
{
    facts.node.zeroed_bytes = bytes;
}

int node_pages_map(struct vm *vm, uint64_t address)
{
    int error = vm_map_kernel(vm, address, &facts, ARCH_PAGE, RIGHT_READ, "[tacet]");

    for (unsigned cpu = 0; cpu < arch_cpu_count() && !error; cpu++)
        error = vm_map_kernel(vm, address + (1 + cpu) * ARCH_PAGE, arch_counters(cpu), ARCH_PAGE, RIGHT_READ,
                              "[tacet]");
    return error;
}
