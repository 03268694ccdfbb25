/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * interrupts.c: see arch/interrupts.h. Of devices, only terminals are known, each with a source of the
 * controller's (arch_input_route). Interrupts off.
 */
#include "arch/interrupts.h"
#include "arch.h"
#include "arch/setup.h"
#include "beat/nettick.h"
#include "debug/console.h"
#include "debug/klog.h"
#include "debug/stop.h"
#include "smp/crosscall.h"

const struct interrupt_controller *interrupt_controller;

void interrupts_initialise(struct page_pool *pool)
{
    if (machine.controller == CONTROLLER_XIVE)
        interrupt_controller = &xive;
    else if (machine.controller == CONTROLLER_XICS)
        interrupt_controller = &xics;
    else
        node_stop(STOP_BAD_INPUT,
                  "the interrupt controller is %s; supported: ibm,power-ivpe (XIVE) and "
                  "IBM,ppc-xicp (XICS)",
                  machine.controller == CONTROLLER_NONE ? "not in the device tree" : machine.controller_name);

    int64_t status = interrupt_controller->initialise();
    if (!status)
        status = interrupt_controller->prepare(&boot_cpu, pool);
    if (status)
        node_stop(STOP_BAD_INPUT, "%s: the hypervisor lets no interrupt reach the first CPU (%ld)",
                  interrupt_controller->name, status);
    interrupt_controller->open();
}

bool interrupts_prepare(struct cpu *cpu, struct page_pool *pool)
{
    const int64_t status = interrupt_controller->prepare(cpu, pool);

    if (status)
        kernel_print("%s: the hypervisor lets no interrupt reach CPU %u (%ld)\n", interrupt_controller->name,
                     cpu->server, status);
    return status == 0;
}

uint64_t interrupts_cpu_bytes(void)
{
    return machine.controller == CONTROLLER_XIVE ? xive.cpu_bytes : xics.cpu_bytes;
}

void interrupts_close(void)
{
    if (interrupt_controller)
        interrupt_controller->close();
}

void interrupt_note(enum interrupt_number number)
{
    struct cpu *cpu = cpu_this();

    cpu->counters.interrupts[number]++;
    klog(interrupt, number, cpu->interrupted);
}

void interrupts_serve(void)
{
    if (!interrupt_controller->serve())
        interrupt_note(INTERRUPT_SPURIOUS);
}

/* Counts and serves an interrupt. One from another CPU is a heartbeat, or a crosscall, or both. */
void interrupt_arrived(enum interrupt_number number)
{
    struct cpu *cpu = cpu_this();

    if (number == INTERRUPT_IPI && __atomic_exchange_n(&cpu->beat_pending, false, __ATOMIC_SEQ_CST))
        number = INTERRUPT_BEAT;
    interrupt_note(number);
    if (number == INTERRUPT_INPUT)
        input_interrupt();
    else
        crosscall_serve();
    if (number == INTERRUPT_BEAT)
        nettick_interrupt();
}

const char *arch_interrupt_name(unsigned number)
{
    static const char *const names[256] = { [INTERRUPT_TIMER] = "LOC Local timer interrupts",
                                            [INTERRUPT_IPI] = "RES Wake-ups from other CPUs",
                                            [INTERRUPT_INPUT] = "INP Input has arrived",
                                            [INTERRUPT_BEAT] = "BEA Heartbeats",
                                            [INTERRUPT_RANGE] = "DEC Ends of the decrementer's range",
                                            [INTERRUPT_SPURIOUS] = "SPU Spurious interrupts" };

    return number < 256 ? names[number] : NULL;
}

/* ---- To other CPUs ---- */

void arch_beat_send(bool to_itself)
{
    for (unsigned cpu = 0; cpu < arch_cpu_count(); cpu++) {
        if (cpu == arch_cpu_index() && !to_itself)
            continue;
        __atomic_store_n(&cpu_area(cpu)->beat_pending, true, __ATOMIC_SEQ_CST);
        interrupt_controller->send(cpu_area(cpu));
    }
}

/* ---- Devices ---- */

bool arch_input_route(unsigned line, unsigned cpu)
{
    return interrupt_controller->route(line, cpu_area(cpu));
}

void interrupts_mute(uint32_t source, bool muted)
{
    if (interrupt_controller)
        interrupt_controller->mute(source, muted);
}
