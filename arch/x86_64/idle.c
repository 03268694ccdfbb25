/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * idle.c: how a CPU waits inside the kernel, and how another one ends its wait.
 *
 * Three ways (`idle=`): HLT, ended by an interrupt; MWAIT on a word of the CPU's area, ended by a store,
 * which disturbs nobody and needs no interrupt; watching that word. By default MWAIT on bare metal, HLT below
 * a hypervisor, which wants to know that the CPU has nothing to do. In each of them the waiting CPU takes
 * interrupts; nowhere else in the kernel does one.
 *
 * A waker sets the word first and then looks how the other CPU waits; the other one says how it waits first
 * and then looks at the word: so one of them sees the other, and no wake is lost.
 *
 * Sources: Intel SDM 2B (MONITOR, MWAIT), 3A §9.10.4 (both in idle loops).
 */
#include "arch.h"
#include "arch/local_apic.h"
#include "arch/setup.h"
#include "arch/trap.h"
#include "lib/command_line.h"
#include "lib/errno.h"
#include "lib/kstring.h"

static enum wait_way { WAIT_HALT, WAIT_MONITOR, WAIT_POLL } way;

int arch_idle_configure(const struct command_line *line, struct message *why)
{
    const char *text = command_line_option(line, "idle");

    if (!text)
        way = cpu_features()->monitor && !cpu_features()->hypervisor ? WAIT_MONITOR : WAIT_HALT;
    else if (strcmp(text, "halt") == 0)
        way = WAIT_HALT;
    else if (strcmp(text, "poll") == 0)
        way = WAIT_POLL;
    else if (strcmp(text, "mwait") == 0 && cpu_features()->monitor)
        way = WAIT_MONITOR;
    else if (strcmp(text, "mwait") == 0)
        return message_set(why, -EINVAL, "idle=mwait: this CPU has no MONITOR and MWAIT");
    else
        return message_set(why, -EINVAL, "idle=%s: a CPU can wait by halt, mwait or poll", text);
    return 0;
}

void arch_cpu_idle(void)
{
    struct cpu *cpu = cpu_this();

    /* Interrupts come in only between STI, which holds them off for one more instruction, and CLI. The NOP is
     * for emulators that hold them off until the wait has ended. */
    if (way == WAIT_HALT) {
        __asm__ volatile("sti; hlt; cli" : : : "memory");
        return;
    }
    __atomic_store_n(&cpu->watches, true, __ATOMIC_SEQ_CST);
    if (way == WAIT_MONITOR)
        __asm__ volatile("monitor" : : "a"(&cpu->woken), "c"(0), "d"(0));
    if (way == WAIT_MONITOR && !__atomic_load_n(&cpu->woken, __ATOMIC_SEQ_CST))
        __asm__ volatile("sti; mwait; nop; cli" : : "a"(0), "c"(0) : "memory");
    else
        __asm__ volatile("sti; pause; nop; cli" : : : "memory");
    __atomic_store_n(&cpu->watches, false, __ATOMIC_SEQ_CST);
    if (__atomic_exchange_n(&cpu->woken, false, __ATOMIC_SEQ_CST))
        kernel_woken();
}

void ipi_send(struct cpu *cpu)
{
    if (way != WAIT_HALT) {
        __atomic_store_n(&cpu->woken, true, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&cpu->watches, __ATOMIC_SEQ_CST))
            return;
    }
    local_apic_send_interrupt(cpu->apic_id, VECTOR_IPI);
}
