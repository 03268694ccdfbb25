/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crosscall.c: see crosscall.h.
 *
 * A caller has at most one call at a time, in its own CPU's struct call. Each CPU has a set of the callers
 * whose call is pending there, and a flag that the set is not empty, so that a CPU that is not called reads
 * one word. A caller enters itself before it sets the flag, and the CPU clears the flag before it takes the
 * callers: so none is missed. Each has a full barrier between its two steps: on every machine one comes
 * before an access that is seq_cst. Interrupts off; nothing is locked.
 */
#include "smp/crosscall.h"
#include "arch.h"
#include "smp/per_cpu.h"

struct call {
    bool is_called;
    struct cpu_mask callers; /* CPUs whose call is pending on this CPU */

    /* This CPU's own call. */
    void (*function)(void *context);
    void *context;
    unsigned pending; /* CPUs that have not run it yet */
} __attribute__((aligned(64)));

PER_CPU static struct call call;

/* Runs the pending calls. Out of line, so that a CPU that is not called loses no time. */
static __attribute__((noinline)) void serve(struct call *here)
{
    if (!__atomic_exchange_n(&here->is_called, false, __ATOMIC_SEQ_CST))
        return; /* an interrupt has served it before */
    CPU_MASK_WORDS_EACH(word, &here->callers) {
        uint64_t callers = __atomic_load_n(&here->callers.words[word], __ATOMIC_RELAXED)
                               ? __atomic_exchange_n(&here->callers.words[word], 0, __ATOMIC_ACQUIRE)
                               : 0;

        for (; callers; callers &= callers - 1) {
            struct call *of = PER_CPU_OF(call, (unsigned)(word * 64) + (unsigned)__builtin_ctzll(callers));

            of->function(of->context);
            __atomic_fetch_sub(&of->pending, 1, __ATOMIC_RELEASE);
        }
    }
}

void crosscall_serve(void)
{
    struct call *here = PER_CPU_HERE(call);

    if (__atomic_load_n(&here->is_called, __ATOMIC_RELAXED))
        serve(here);
}

void crosscall(const struct cpu_mask *cpus, void (*function)(void *context), void *context)
{
    const unsigned self = arch_cpu_index();
    struct call *here = PER_CPU_HERE(call);
    const struct cpu_mask called = *cpus; /* the set may change */

    here->function = function;
    here->context = context;
    __atomic_store_n(&here->pending, cpu_mask_count(&called) - cpu_mask_test(&called, self),
                     __ATOMIC_RELAXED);
    CPU_MASK_EACH(cpu, &called) {
        if (cpu == self)
            continue;
        struct call *there = PER_CPU_OF(call, (unsigned)cpu);

        cpu_mask_set_atomic(&there->callers, self);
        __atomic_store_n(&there->is_called, true, __ATOMIC_SEQ_CST);
        arch_ipi_send((unsigned)cpu);
    }
    while (__atomic_load_n(&here->pending, __ATOMIC_ACQUIRE)) {
        arch_pause();
        crosscall_serve();
    }
}

static void call_plain(void *context)
{
    void (*function)(void) = context;

    function();
}

void crosscall_all(void (*function)(void))
{
    const struct cpu_mask all = cpu_mask_below(arch_cpu_count());

    function();
    crosscall(&all, call_plain, function);
}
