/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crosscall.c: see crosscall.h.
 *
 * A caller has at most one call at a time, in a slot of its own; each CPU has a word with a bit for every
 * caller whose call is pending there. Interrupts off; nothing is locked.
 */
#include "smp/crosscall.h"
#include "arch.h"
#include "smp/cpu_mask.h"

_Static_assert(ARCH_CPUS_MAX <= 64, "a mask of CPUs is one word");

static struct {
    uint64_t callers; /* a bit for each CPU whose call is pending on this one */

    /* This CPU's own call. */
    void (*function)(void *context);
    void *context;
    uint64_t pending; /* a bit for each CPU that has not run it yet */
} calls[ARCH_CPUS_MAX] __attribute__((aligned(64)));

void crosscall_serve(void)
{
    unsigned here = arch_cpu_index();

    if (__atomic_load_n(&calls[here].callers, __ATOMIC_RELAXED) == 0)
        return;

    uint64_t callers = __atomic_exchange_n(&calls[here].callers, 0, __ATOMIC_ACQUIRE);
    CPU_MASK_EACH(caller, callers)
    {
        calls[caller].function(calls[caller].context);
        __atomic_fetch_and(&calls[caller].pending, ~(1ULL << here), __ATOMIC_RELEASE);
    }
}

void crosscall(uint64_t cpus, void (*function)(void *context), void *context)
{
    unsigned here = arch_cpu_index();

    cpus &= ~(1ULL << here);
    calls[here].function = function;
    calls[here].context = context;
    __atomic_store_n(&calls[here].pending, cpus, __ATOMIC_RELAXED);
    CPU_MASK_EACH(cpu, cpus)
    {
        __atomic_fetch_or(&calls[cpu].callers, 1ULL << here, __ATOMIC_RELEASE);
        arch_ipi_send((unsigned)cpu);
    }
    while (__atomic_load_n(&calls[here].pending, __ATOMIC_ACQUIRE)) {
        arch_pause();
        crosscall_serve();
    }
}
