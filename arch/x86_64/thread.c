/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread.c: a thread's first registers, and the slow return to its program.
 *
 * Runs on the thread's own CPU, interrupts off, on its kernel stack. The vector state stays in the CPU's
 * registers while the kernel runs, which uses none; it is copied only for a new thread, for one that moves to
 * another CPU, and for a signal's handler.
 *
 * Sources: Intel SDM 1 §13.7-13.8 (XSAVE, XRSTOR), 3A §3.4.4.1 (FS and GS bases).
 */
#include "process/thread.h"
#include "arch/setup.h"
#include "arch/trap.h"
#include "lib/kstring.h"
#include "syscall/syscall.h"

void vector_state_save(void *area)
{
    uint8_t *header = (uint8_t *)area + XSAVE_HEADER;

    arch_zero(header, XSAVE_HEADER_BYTES); /* XSAVE leaves a part of it as it was */
    if (cpu_features()->xsave)             /* of all that XCR0 enables */
        __asm__ volatile("xsave64 (%0)" : : "r"(area), "a"(-1), "d"(-1) : "memory");
    else
        __asm__ volatile("fxsave64 (%0)" : : "r"(area) : "memory");
}

void vector_state_restore(const void *area)
{
    if (cpu_features()->xsave)
        __asm__ volatile("xrstor64 (%0)" : : "r"(area), "a"(-1), "d"(-1) : "memory");
    else
        __asm__ volatile("fxrstor64 (%0)" : : "r"(area) : "memory");
}

_Alignas(64) const uint8_t vector_state_initial[XSAVE_HEADER + XSAVE_HEADER_BYTES] = {
    [CONTROL_AT] = 0x7f, [CONTROL_AT + 1] = 0x03, [MXCSR_AT] = 0x80, [MXCSR_AT + 1] = 0x1f
};

void arch_start_initial(struct arch_start *start, uint64_t entry, uint64_t stack)
{
    *start = (struct arch_start){ 0 };
    start->frame.instruction = entry;
    start->frame.stack = stack;
    start->frame.flags = FLAGS_FIXED | FLAGS_INTERRUPT;
    start->frame.code_selector = SELECTOR_USER_CODE;
    start->frame.stack_selector = SELECTOR_USER_DATA;
    memcpy(start->vector_state, vector_state_initial, CONTROL_END);
}

static void thread_state_save(struct arch_start *start)
{
    start->fs_base = msr_read(MSR_FS_BASE);
    start->gs_base = msr_read(MSR_KERNEL_GS_BASE);
    vector_state_save(start->vector_state);
}

void arch_start_clone(struct arch_start *start, const void *kept_by_c, uint64_t stack,
                      const uint64_t *thread_pointer)
{
    const struct kept_registers *kept = kept_by_c;
    const uint64_t *pushed = (const uint64_t *)cpu_this()->kernel_stack; /* by syscall_entry.asm */

    start->frame = (struct trap_frame){
        .rbx = kept->rbx,
        .rbp = kept->rbp,
        .r12 = kept->r12,
        .r13 = kept->r13,
        .r14 = kept->r14,
        .r15 = kept->r15,
        .flags = pushed[-1],
        .instruction = pushed[-2],
        .rdi = pushed[-3],
        .rsi = pushed[-4],
        .rdx = pushed[-5],
        .r10 = pushed[-6],
        .r8 = pushed[-7],
        .r9 = pushed[-8],
        .r11 = pushed[-1],
        .rcx = pushed[-2],
        .rax = 0,
        .stack = stack ? stack : cpu_this()->user_stack,
        .code_selector = SELECTOR_USER_CODE,
        .stack_selector = SELECTOR_USER_DATA,
    };
    thread_state_save(start);
    if (thread_pointer)
        start->fs_base = *thread_pointer;
}

void arch_start_move(struct arch_start *start, const void *frame)
{
    start->frame = *(const struct trap_frame *)frame;
    thread_state_save(start);
}

void arch_request_slow_return(void)
{
    uint64_t *instruction = (uint64_t *)cpu_this()->kernel_stack - 2;

    *instruction |= RETURN_SLOW;
}

void program_return(struct trap_frame *frame)
{
    thread_slow_return(frame);
    while (frame->instruction >= ARCH_USER_LIMIT) { /* IRETQ would fault in the kernel */
        struct fault fault = {
            .signal = SIGNAL_SEGV,
            .code = SIGNAL_BY_KERNEL,
            .cause = "the program would go on at an address that is not canonical",
            .instruction = frame->instruction,
            .frame = frame,
        };

        trap_user_fault(&fault);
        thread_slow_return(
            frame); /* to a handler, whose address may be such a one again: until the stack is full */
    }
}

_Noreturn void arch_start_enter(struct arch_start *start)
{
    vector_state_restore(start->vector_state);
    msr_write(MSR_FS_BASE, start->fs_base);
    msr_write(MSR_KERNEL_GS_BASE, start->gs_base);
    cpu_this()->kernel_ticks = -cpu_ticks();
    program_return(&start->frame);
    frame_enter(&start->frame);
}
