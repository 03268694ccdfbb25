/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * idle.c: how a CPU idles inside the kernel, and the IPI that ends its idling or interrupts its program.
 *
 * Two ways to idle (`idle=`): the hypervisor gets the CPU back until an interrupt comes (H_CEDE), which is
 * the default, or it polls a word of its area, which costs the sender no interrupt. The hypervisor lets
 * interrupts in and gives the CPU away in one step: an interrupt that comes before that, while interrupts are
 * off, ends the call at once [PAPR §14.11.3.3]. In the kernel only an idle CPU takes interrupts.
 *
 * H_PROD would end the call without an interrupt. But that it was called is kept for the CPU only while it is
 * about to wait: QEMU clears it whenever the CPU resumes.
 *
 * A sender sets the word first and then reads whether the other CPU polls it; the other CPU first sets that
 * it polls and then reads the word: so one of them sees the other, and no IPI is lost.
 */
#include "arch.h"
#include "arch/firmware.h"
#include "arch/interrupts.h"
#include "arch/setup.h"
#include "lib/command_line.h"
#include "smp/crosscall.h"

/* The words of idle=, in their order. */
enum { IDLE_CEDE, IDLE_POLL };
static unsigned method;

int arch_idle_configure(const struct command_line *line, struct message *why)
{
    return option_word(line, "idle", "cede, poll", &method, why);
}

void arch_interrupts_accept(void)
{
    __asm__ volatile("mtmsrd %0, 1" : : "r"(MSR_INTERRUPTS | MSR_RECOVERABLE) : "memory");
    __asm__ volatile("mtmsrd %0, 1" : : "r"(MSR_RECOVERABLE) : "memory");
}

static void cede(void)
{
    hypercall(H_CEDE, 0, 0, 0, 0, NULL);
    __asm__ volatile("mtmsrd %0, 1" : : "r"(MSR_RECOVERABLE) : "memory");
}

void arch_cpu_idle(void)
{
    struct cpu *cpu = cpu_this();

    if (method == IDLE_CEDE) {
        cede();
        return;
    }
    __atomic_store_n(&cpu->polls_ipi, true, __ATOMIC_SEQ_CST);
    arch_pause();
    arch_interrupts_accept();
    __atomic_store_n(&cpu->polls_ipi, false, __ATOMIC_SEQ_CST);
    if (__atomic_exchange_n(&cpu->ipi_pending, false, __ATOMIC_SEQ_CST))
        crosscall_serve();
}

_Noreturn void arch_cpu_park(void)
{
    for (;;)
        cede();
}

void arch_ipi_send(unsigned cpu)
{
    struct cpu *to = cpu_area(cpu);

    if (method == IDLE_POLL) {
        __atomic_store_n(&to->ipi_pending, true, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&to->polls_ipi, __ATOMIC_SEQ_CST))
            return;
    }
    interrupt_controller->send(to);
}
