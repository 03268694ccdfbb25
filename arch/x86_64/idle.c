/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * idle.c: how a CPU idles inside the kernel, and the IPI that ends its idling or interrupts its program.
 *
 * Three ways to idle (`idle=`): HLT, ended by an interrupt; MWAIT on a word of the CPU's area, ended by a
 * store, which costs no interrupt; polling that word. The default is MWAIT on bare metal and HLT on a
 * hypervisor, which gives the real CPU to others then. In the kernel only an idle CPU takes interrupts.
 *
 * A sender sets the word first and then reads whether the other CPU polls it; the other CPU first sets that
 * it polls and then reads the word: so one of them sees the other, and no IPI is lost.
 *
 * Sources: Intel SDM 2B (MONITOR, MWAIT), 3A §9.10.4 (both in idle loops).
 */
#include "arch.h"
#include "arch/local_apic.h"
#include "arch/setup.h"
#include "arch/trap.h"
#include "smp/crosscall.h"
#include "lib/command_line.h"
#include "lib/errno.h"

/* The words of idle=, in their order. */
enum { IDLE_HALT, IDLE_MONITOR, IDLE_POLL };
static unsigned method;

int arch_idle_configure(const struct command_line *line, struct message *why)
{
    method = cpu_features.monitor && !cpu_features.hypervisor ? IDLE_MONITOR : IDLE_HALT;
    if (option_word(line, "idle", "halt, mwait, poll", &method, why))
        return -EINVAL;
    if (method == IDLE_MONITOR && !cpu_features.monitor)
        return message_set(why, -EINVAL, "idle=mwait: this CPU has no MONITOR and MWAIT");
    return 0;
}

void arch_cpu_idle(void)
{
    struct cpu *cpu = cpu_this();

    /* Interrupts come in only between STI, which holds them off for one more instruction, and CLI. The NOP is
     * for emulators that hold them off until the wait has ended. */
    if (method == IDLE_HALT) {
        __asm__ volatile("sti; hlt; cli" : : : "memory");
        return;
    }
    __atomic_store_n(&cpu->polls_ipi, true, __ATOMIC_SEQ_CST);
    if (method == IDLE_MONITOR)
        __asm__ volatile("monitor" : : "a"(&cpu->ipi_pending), "c"(0), "d"(0));
    if (method == IDLE_MONITOR && !__atomic_load_n(&cpu->ipi_pending, __ATOMIC_SEQ_CST))
        __asm__ volatile("sti; mwait; nop; cli" : : "a"(0), "c"(0) : "memory");
    else
        __asm__ volatile("sti; pause; nop; cli" : : : "memory");
    __atomic_store_n(&cpu->polls_ipi, false, __ATOMIC_SEQ_CST);
    if (__atomic_exchange_n(&cpu->ipi_pending, false, __ATOMIC_SEQ_CST))
        crosscall_serve();
}

void arch_interrupts_accept(void)
{
    __asm__ volatile("sti; nop; nop; cli" : : : "memory");
}

_Noreturn void arch_cpu_park(void)
{
    for (;;)
        __asm__ volatile("sti; hlt; cli" : : : "memory");
}

void arch_ipi_send(unsigned cpu)
{
    struct cpu *to = cpu_area(cpu);

    if (method != IDLE_HALT) {
        __atomic_store_n(&to->ipi_pending, true, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&to->polls_ipi, __ATOMIC_SEQ_CST))
            return;
    }
    local_apic_send(to->apic_id, VECTOR_IPI);
}
