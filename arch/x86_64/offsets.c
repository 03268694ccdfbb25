/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * offsets.c: constants of C that the assembly needs. Never linked: compiled to assembly text, whose lines
 * "->NAME value" become build/x86_64/offsets.inc.
 */
#include "arch/boot_protocol.h"
#include "arch/cpu.h"
#include "arch/trap.h"
#include "lib/errno.h"
#include "syscall/syscall.h"

#define DEFINE(name, value)       __asm__ volatile("\n->" #name " %0" : : "i"((uint64_t)(value)))
#define OFFSET(name, type, field) DEFINE(name, offsetof(struct type, field))

void offsets(void)
{
    DEFINE(KERNEL_BASE, KERNEL_BASE);
    DEFINE(DIRECT_MAP_SLOT, DIRECT_MAP_SLOT);
    DEFINE(MULTIBOOT2_LOADER_MAGIC, MULTIBOOT2_LOADER_MAGIC);
    DEFINE(BOOT_PVH, BOOT_PVH);
    DEFINE(BOOT_UNKNOWN, BOOT_UNKNOWN);
    DEFINE(BOOT_FURTHER_CPU, BOOT_FURTHER_CPU);
    DEFINE(SELECTOR_KERNEL_CODE, SELECTOR_KERNEL_CODE);
    DEFINE(SELECTOR_USER_CODE, SELECTOR_USER_CODE);
    DEFINE(SELECTOR_USER_DATA, SELECTOR_USER_DATA);
    OFFSET(CPU_USER_STACK, cpu, user_stack);
    OFFSET(CPU_KERNEL_STACK, cpu, kernel_stack);
    OFFSET(CPU_KERNEL_TICKS, cpu, kernel_ticks);
    OFFSET(CPU_SYSTEM_CALLS, cpu, counters.system_calls);
    OFFSET(CPU_EXCEPTIONS, cpu, counters.exceptions);
    OFFSET(CPU_INTERRUPTS, cpu, counters.interrupts);
    DEFINE(FRAME_BYTES, sizeof(struct trap_frame));
    OFFSET(FRAME_VECTOR, trap_frame, vector);
    DEFINE(TRAP_STUB_BYTES, TRAP_STUB_BYTES);
    OFFSET(FRAME_CODE_SELECTOR, trap_frame, code_selector);
    DEFINE(VECTOR_SYSTEM_CALL, VECTOR_SYSTEM_CALL);
    DEFINE(SYSCALL_SLOTS, SYSCALL_SLOTS);
    DEFINE(FLAGS_FIXED, FLAGS_FIXED);
    DEFINE(FLAGS_INTERRUPT, FLAGS_INTERRUPT);
    DEFINE(EFAULT_RESULT, -EFAULT);
}
