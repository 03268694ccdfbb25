/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * priority.c: the hardware priorities of threads: the field PRI of the program priority register (PPR).
 *
 * A program sets 2 (low), 3 and 4 (medium) by instructions that are moves of a register to itself, `or
 * 1, 1, 1`, `6, 6, 6` and `2, 2, 2`; 5 and 6 are the supervisor's, 7 is the hypervisor's, which this kernel
 * is not [Power ISA 3.0B II §3.1, III §4.3.6]. A system call runs with the program's priority, so that the
 * register is the thread's own meanwhile; the switch to another thread stores and loads it (thread.c), as
 * do interrupts, which run with the medium one (vectors.S).
 */
#include "arch.h"
#include "arch/trap.h"
#include "process/thread.h"

#define PRIORITY_SHIFT 50

unsigned arch_priority(const struct arch_context *context)
{
    const bool is_own = context == &arch_thread()->context;
    const uint64_t value = is_own ? priority_get() : __atomic_load_n(&context->priority, __ATOMIC_RELAXED);

    return (unsigned)(value >> PRIORITY_SHIFT) & 7;
}

void arch_priority_set(unsigned priority)
{
    const uint64_t value = (uint64_t)priority << PRIORITY_SHIFT;

    priority_put(value);
    __atomic_store_n(&arch_thread()->context.priority, value, __ATOMIC_RELAXED);
}
