/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * offsets.c: constants of C that the assembly needs. Never linked: compiled to assembly text, whose lines
 * "->NAME value" become build/ppc64/offsets.inc.
 */
#include "arch/cpu.h"
#include "arch/setup.h"
#include "arch/trap.h"
#include "lib/errno.h"
#include "syscall/syscall.h"

#define DEFINE(name, value)       __asm__ volatile("\n->" #name " %0" : : "i"((int64_t)(value)))
#define OFFSET(name, type, field) DEFINE(name, offsetof(struct type, field))
#define CPU_OFFSET(name, field)   DEFINE(name, (int64_t)offsetof(struct cpu, field) - (int64_t)CPU_MIDDLE)

void offsets(void)
{
    DEFINE(BOOT_STACK, offsetof(struct cpu, stack) + CPU_STACK_BYTES - 32);
    DEFINE(FURTHER_MSR,
           MSR_VECTORS | MSR_MACHINE_CHECKS | MSR_TRANSLATION | MSR_RECOVERABLE | MSR_LITTLE_ENDIAN);
    DEFINE(PROCESS_NONE_NUMBER, PROCESS_NONE);
    DEFINE(SYSCALL_SLOTS, SYSCALL_SLOTS);
    DEFINE(CPU_MIDDLE_AT, CPU_MIDDLE);
    DEFINE(CPU_FIELDS, -(int64_t)CPU_FIELDS_BYTES);
    CPU_OFFSET(CPU_KERNEL_STACK, kernel_stack);
    CPU_OFFSET(CPU_CALL_STACK, call_stack);
    CPU_OFFSET(CPU_SCRATCH, scratch);
    CPU_OFFSET(CPU_KERNEL_TICKS, kernel_ticks);
    CPU_OFFSET(CPU_TABLE_OF_KERNEL, table_of_kernel);
    CPU_OFFSET(CPU_CALLS, calls);
    CPU_OFFSET(CPU_CALL_UNKNOWN, call_unknown);
    CPU_OFFSET(CPU_SYSTEM_CALLS, counters.system_calls);
    DEFINE(DIRECT_MAP_VECTORED, DIRECT_MAP + VECTORED_AT);
    DEFINE(VECTORED_BYTES, VECTORS_AT - VECTORED_AT);
    DEFINE(VECTOR_CALL, TRAP_SYSTEM_CALL);
    DEFINE(VECTOR_CALL_VECTORED, TRAP_SYSTEM_CALL_VECTORED);
    DEFINE(VECTOR_DATA, TRAP_DATA);
    DEFINE(VECTOR_MACHINE_CHECK, TRAP_MACHINE_CHECK);
    DEFINE(SUMMARY_OVERFLOW, SUMMARY_OVERFLOW);
    DEFINE(SWITCH_BYTES, SWITCH_BYTES);
    DEFINE(MSR_VECTORS, MSR_VECTORS);
    DEFINE(EFAULT_RESULT, -EFAULT);
    DEFINE(FRAME_MIN_BYTES, FRAME_MIN_BYTES);
    DEFINE(FRAME_BYTES, sizeof(struct trap_frame));
    OFFSET(FRAME_INSTRUCTION, trap_frame, instruction);
    OFFSET(FRAME_MSR, trap_frame, msr);
    OFFSET(FRAME_LINK, trap_frame, link);
    OFFSET(FRAME_COUNTER, trap_frame, counter);
    OFFSET(FRAME_XER, trap_frame, xer);
    OFFSET(FRAME_CONDITION, trap_frame, condition);
    OFFSET(FRAME_ADDRESS, trap_frame, address);
    OFFSET(FRAME_STATUS, trap_frame, status);
    OFFSET(FRAME_PRIORITY, trap_frame, priority);
    OFFSET(FRAME_VECTOR, trap_frame, vector);
    OFFSET(FRAME_RETURNS_SLOWLY, trap_frame, returns_slowly);
    OFFSET(VECTORS_FLOATING_STATUS, vector_state, floating_status);
    OFFSET(VECTORS_MASK, vector_state, vector_mask);
    OFFSET(VECTORS_STATUS, vector_state, vector_status);
    OFFSET(VECTORS_TARGET, vector_state, target);
    OFFSET(VECTORS_STREAM_CONTROL, vector_state, stream_control);
}
