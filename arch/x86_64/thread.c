/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread.c: a thread's first registers, the switch to another one, and the slow return to its program.
 *
 * Runs on the thread's own CPU, interrupts off, on its kernel stack. The vector state stays in the CPU's
 * registers while the kernel runs, which uses none; it is copied only for a new thread, at a switch to
 * another one, and for a signal's handler.
 *
 * Sources: Intel SDM 1 §13.7-13.8 (XSAVE, XRSTOR), 3A §3.4.4.1 (FS and GS bases).
 */
#include "process/thread.h"
#include "arch/setup.h"
#include "arch/trap.h"
#include "lib/errno.h"
#include "lib/kstring.h"

void vector_state_save(void *area)
{
    uint8_t *header = (uint8_t *)area + XSAVE_HEADER;

    arch_zero(header, XSAVE_HEADER_BYTES); /* XSAVE leaves a part of it as it was */
    if (cpu_features.xsave)                /* of all that XCR0 enables */
        __asm__ volatile("xsave64 (%0)" : : "r"(area), "a"(-1), "d"(-1) : "memory");
    else
        __asm__ volatile("fxsave64 (%0)" : : "r"(area) : "memory");
}

void vector_state_restore(const void *area)
{
    if (cpu_features.xsave)
        __asm__ volatile("xrstor64 (%0)" : : "r"(area), "a"(-1), "d"(-1) : "memory");
    else
        __asm__ volatile("fxrstor64 (%0)" : : "r"(area) : "memory");
}

_Alignas(64) uint8_t vector_state_initial[XSAVE_HEADER + XSAVE_HEADER_BYTES];

/* Prepares what stack_switch pops: registers that do not matter, and where it goes on. The word above is the
 * return address of that function, which has none. */
static uint64_t stack_prepare(uint64_t top, void (*function)(void))
{
    uint64_t *words = (uint64_t *)top;

    words[-1] = 0;
    words[-2] = (uint64_t)function;
    return (uint64_t)(words - 2 - sizeof(struct kept_registers) / sizeof(uint64_t));
}

void arch_start_initial(struct arch_context *context, uint64_t kernel_stack, uint64_t entry, uint64_t stack)
{
    arch_zero(context, sizeof(*context));
    context->kernel_stack = kernel_stack;
    context->stack = stack_prepare(kernel_stack, thread_begin);
    context->frame.instruction = entry;
    context->frame.stack = stack;
    context->frame.flags = FLAGS_FIXED | FLAGS_INTERRUPT;
    context->frame.code_selector = SELECTOR_USER_CODE;
    context->frame.stack_selector = SELECTOR_USER_DATA;
    memcpy(context->vector_state, vector_state_initial, CONTROL_END);
}

/* Saves what the CPU's area and registers hold of its thread. */
static void context_save(struct arch_context *context)
{
    const struct cpu *cpu = cpu_this();

    context->user_stack = cpu->user_stack;
    context->fault_address = cpu->fault_address;
    context->fs_base = msr_read(MSR_FS_BASE);
    context->gs_base = msr_read(MSR_KERNEL_GS_BASE);
    vector_state_save(context->vector_state);
}

void arch_start_clone(struct arch_context *context, uint64_t kernel_stack, const void *kept_by_c,
                      uint64_t stack, const uint64_t *thread_pointer)
{
    const struct kept_registers *kept = kept_by_c;
    const uint64_t *pushed = (const uint64_t *)cpu_this()->kernel_stack; /* by syscall_entry.asm */

    context_save(context);
    context->kernel_stack = kernel_stack;
    context->stack = stack_prepare(kernel_stack, thread_begin);
    context->frame = (struct trap_frame){
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
    if (thread_pointer)
        context->fs_base = *thread_pointer;
}

void arch_switch(struct arch_context *from, const struct arch_context *to)
{
    struct cpu *cpu = cpu_this();
    uint64_t ended, stack;

    if (from)
        context_save(from);
    if (to) {
        cpu->user_stack = to->user_stack;
        cpu->fault_address = to->fault_address;
        cpu->kernel_stack = cpu->task_state.rsp[0] = to->kernel_stack;
        msr_write(MSR_FS_BASE, to->fs_base);
        msr_write(MSR_KERNEL_GS_BASE, to->gs_base);
        vector_state_restore(to->vector_state);
        stack = to->stack;
    } else {
        stack = stack_prepare((uint64_t)cpu->stack + CPU_STACK_BYTES, thread_idle);
    }
    stack_switch(from ? &from->stack : &ended, stack);
}

void arch_request_slow_return(void)
{
    uint64_t *pushed = (uint64_t *)cpu_this()->kernel_stack, *next = &pushed[-CALL_WORDS - 1];

    /* By a system call: the program's flags. By a trap, which returns by way of C anyway: the selector of the
     * stack, whose bit is 0 in all flags. */
    _Static_assert(SELECTOR_USER_DATA & FLAGS_ZERO, "");
    if (pushed[-1] & FLAGS_ZERO)
        return;
    if (*next == (uint64_t)call_return)
        *next = (uint64_t)call_return_slow;
}

long arch_thread_option(uint32_t operation, uint64_t argument)
{
    (void)operation, (void)argument; /* there is none */
    return -EINVAL;
}

void program_return(struct trap_frame *frame)
{
    thread_slow_return(frame);
    while (frame->instruction >= ARCH_USER_LIMIT) { /* IRETQ would fault in the kernel */
        struct fault fault = {
            .signal = SIGNAL_SEGV,
            .code = SIGNAL_BY_KERNEL,
            .cause = "the program would go on at an address that is not canonical",
            .frame = frame,
        };

        trap_user_fault(&fault);
        thread_slow_return(
            frame); /* to a handler, whose address may not be canonical either, until the stack is full */
    }
}

void interrupt_return(struct trap_frame *frame)
{
    if (thread_must_return_slowly())
        program_return(frame);
}

_Noreturn void arch_start_enter(struct arch_context *context)
{
    program_return(&context->frame);
    frame_enter(&context->frame);
}
