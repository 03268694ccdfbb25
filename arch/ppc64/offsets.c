/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * offsets.c: constants of C that the assembly needs. Never linked: compiled to assembly text, whose lines
 * "->NAME value" become build/ppc64/offsets.inc.
 */
#include "arch/cpu.h"
#include "arch/trap.h"
#include "lib/errno.h"
#include "syscall/syscall.h"

#define DEFINE(name, value)       __asm__ volatile("\n->" #name " %0" : : "i"((uint64_t)(value)))
#define OFFSET(name, type, field) DEFINE(name, offsetof(struct type, field))

void offsets(void);
void offsets(void)
{
    DEFINE(BOOT_STACK, offsetof(struct cpu, stack) + CPU_STACK_BYTES - 32);
    DEFINE(SYSCALL_SLOTS, SYSCALL_SLOTS);
    DEFINE(CPU_MIDDLE_AT, CPU_MIDDLE);
    DEFINE(CPU_KERNEL_STACK, offsetof(struct cpu, kernel_stack) - CPU_MIDDLE);
    DEFINE(CPU_SCRATCH, offsetof(struct cpu, scratch) - CPU_MIDDLE);
    DEFINE(SWITCH_BYTES, SWITCH_BYTES);
    DEFINE(EFAULT_RESULT, -EFAULT);
    DEFINE(FRAME_BYTES, sizeof(struct trap_frame));
    OFFSET(FRAME_INSTRUCTION, trap_frame, instruction);
    OFFSET(FRAME_MSR, trap_frame, msr);
    OFFSET(FRAME_LINK, trap_frame, link);
    OFFSET(FRAME_COUNTER, trap_frame, counter);
    OFFSET(FRAME_XER, trap_frame, xer);
    OFFSET(FRAME_CONDITION, trap_frame, condition);
    OFFSET(FRAME_ADDRESS, trap_frame, address);
    OFFSET(FRAME_STATUS, trap_frame, status);
    OFFSET(FRAME_VECTOR, trap_frame, vector);
}
