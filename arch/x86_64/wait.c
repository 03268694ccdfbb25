/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait.c: how a CPU waits inside the kernel, and how another one ends its wait.
 *
 * Three ways (`idle=`): HLT, ended by an interrupt; MWAIT on a word of the CPU's area, ended by a store,
 * which disturbs nobody and needs no interrupt; watching that word. By default MWAIT on bare metal, HLT below
 * a hypervisor, which wants to know that the CPU has nothing to do. In each of them the waiting CPU takes
 * interrupts; nowhere else in the kernel does one.
 *
 * A waker sets the word first and then looks how the other CPU waits; the other one says how it waits first
 * and then looks at the word: so one of them sees the other, and no wake is lost.
 *
 * Sources: Intel SDM 2B (MONITOR, MWAIT), 3A §9.10.4 (both in idle loops), CPUID leaf 5.
 */
#include "arch.h"
#include "arch/local_apic.h"
#include "arch/setup.h"
#include "arch/trap.h"
#include "command_line.h"
#include "kstring.h"

#define MWAIT_BREAKS_ON_INTERRUPT 1 /* ECX: although interrupts are off */

static enum wait_way { WAIT_HALT, WAIT_MONITOR, WAIT_POLL } way;

static bool monitor_usable(void)
{
    const uint32_t wanted = 3; /* leaf 5 tells extensions; MWAIT_BREAKS_ON_INTERRUPT is one of them */

    return cpu_features()->monitor && cpu_features()->basic_leaves >= 5 && (cpuid(5, 0).c & wanted) == wanted;
}

int arch_wait_configure(const struct command_line *line, struct message *why)
{
    const char *text = command_line_option(line, "idle");

    if (!text)
        way = monitor_usable() && !cpu_features()->hypervisor ? WAIT_MONITOR : WAIT_HALT;
    else if (strcmp(text, "halt") == 0)
        way = WAIT_HALT;
    else if (strcmp(text, "poll") == 0)
        way = WAIT_POLL;
    else if (strcmp(text, "mwait") == 0 && monitor_usable())
        way = WAIT_MONITOR;
    else if (strcmp(text, "mwait") == 0)
        return message_set(why, -EINVAL, "idle=mwait: this CPU has no MWAIT that interrupts end");
    else
        return message_set(why, -EINVAL, "idle=%s: a CPU can wait by halt, mwait or poll", text);
    return 0;
}

static void monitored_wait(struct cpu *cpu)
{
    __asm__ volatile("monitor" : : "a"(&cpu->woken), "c"(0), "d"(0));
    if (!__atomic_load_n(&cpu->woken, __ATOMIC_SEQ_CST))
        __asm__ volatile("mwait" : : "a"(0), "c"(MWAIT_BREAKS_ON_INTERRUPT) : "memory");
}

void arch_cpu_wait(void)
{
    struct cpu *cpu = cpu_this();

    if (way == WAIT_HALT) {
        /* An interrupt ends the wait; interrupts come in only between STI, which holds them off for one more
         * instruction, and the end of HLT. */
        __asm__ volatile("sti; hlt; cli" : : : "memory");
        return;
    }
    __atomic_store_n(&cpu->watches, true, __ATOMIC_SEQ_CST);
    if (way == WAIT_MONITOR)
        monitored_wait(cpu);
    else
        arch_pause();
    __asm__ volatile("sti; nop; cli" : : : "memory");
    __atomic_store_n(&cpu->watches, false, __ATOMIC_SEQ_CST);
    if (__atomic_exchange_n(&cpu->woken, false, __ATOMIC_SEQ_CST))
        kernel_woken();
}

void cpu_wake(struct cpu *cpu)
{
    if (way != WAIT_HALT) {
        __atomic_store_n(&cpu->woken, true, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&cpu->watches, __ATOMIC_SEQ_CST))
            return;
    }
    local_apic_send_interrupt(cpu->apic_id, VECTOR_WAKE);
}
