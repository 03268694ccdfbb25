/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xics.c: XICS, the interrupt controller of POWER8 and before, which a hypervisor on POWER9 emulates [PAPR
 * §6.2, §14.5.4.2]. Each CPU has a priority below which it takes interrupts, a lower number being more
 * urgent, and a register for other CPUs: a priority stored there interrupts it for as long as it stands
 * there.
 */
#include "arch.h"
#include "arch/firmware.h"
#include "arch/interrupts.h"
#include "arch/setup.h"
#include <stddef.h>

#define PRIORITY_ALL    0xff /* of a CPU: takes all */
#define PRIORITY_CLOSED 0    /* takes none */
#define PRIORITY_IPI    4
#define PRIORITY_INPUT  5
#define PRIORITY_NONE   0xff /* of an interrupt: there is none */

/* What is to be served: the source in the low bits, the CPU's priority before above. */
#define XIRR_SOURCE 0xffffffULL
#define SOURCE_NONE 0
#define SOURCE_IPI  2

static int64_t xics_initialise(void)
{
    return 0;
}

static int64_t xics_prepare(struct cpu *cpu, struct page_pool *pool)
{
    (void)pool;
    return hypercall(H_IPI, cpu->server, PRIORITY_NONE, 0, 0, NULL);
}

static void xics_open(void)
{
    hypercall(H_CPPR, PRIORITY_ALL, 0, 0, 0, NULL);
}

static void xics_close(void)
{
    hypercall(H_CPPR, PRIORITY_CLOSED, 0, 0, 0, NULL);
}

static void xics_send(const struct cpu *cpu)
{
    __asm__ volatile("sync" : : : "memory");
    hypercall(H_IPI, cpu->server, PRIORITY_IPI, 0, 0, NULL);
}

/* Serves an interrupt. Takes the trigger back before looking at what this CPU was triggered for: what is
 * stored later triggers it again. */
static bool xics_serve(void)
{
    uint64_t out[4] = { SOURCE_NONE };

    if (hypercall(H_XIRR, 0, 0, 0, 0, out) || (out[0] & XIRR_SOURCE) == SOURCE_NONE)
        return false;

    const bool from_cpu = (out[0] & XIRR_SOURCE) == SOURCE_IPI;
    if (from_cpu)
        hypercall(H_IPI, cpu_this()->server, PRIORITY_NONE, 0, 0, NULL);
    hypercall(H_EOI, out[0] & UINT32_MAX, 0, 0, 0, NULL);
    interrupt_arrived(from_cpu ? INTERRUPT_IPI : INTERRUPT_INPUT);
    return true;
}

static bool xics_route(uint32_t source, const struct cpu *cpu)
{
    const uint32_t arguments[] = { source, cpu->server, PRIORITY_INPUT };

    return rtas_call(machine.set_xive, 3, arguments, 0, NULL) == 0;
}

static void xics_mute(uint32_t source, bool muted)
{
    rtas_call(muted ? machine.int_off : machine.int_on, 1, &source, 0, NULL);
}

const struct interrupt_controller xics = { .name = "XICS",
                                           .initialise = xics_initialise,
                                           .prepare = xics_prepare,
                                           .open = xics_open,
                                           .close = xics_close,
                                           .send = xics_send,
                                           .serve = xics_serve,
                                           .route = xics_route,
                                           .mute = xics_mute };
