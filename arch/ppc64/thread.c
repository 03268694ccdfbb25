/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread.c: a thread's first registers, its change for another one, and system calls. The frame of an entry
 * from the program lies at the top of the thread's kernel stack.
 *
 * Linux's convention on powerpc: number in r0, arguments in r3 to r8; the result in r3, and where that is an
 * error, its positive number there and the summary overflow bit of CR0.
 */
#include "process/thread.h"
#include "arch/setup.h"
#include "arch/trap.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "syscall/syscall.h"

#define SUMMARY_OVERFLOW 0x10000000ULL
#define USER_MSR                                                                                         \
    (1ULL << 63 | MSR_INTERRUPTS | MSR_PROBLEM | MSR_TRANSLATION | MSR_RECOVERABLE | MSR_LITTLE_ENDIAN | \
     MSR_VECTORS)

void stack_switch(uint64_t *from, uint64_t to);
void vector_state_save(void *area);
void vector_state_restore(const void *area);
void begin_thread(void), begin_idle(void);
extern void *const syscall_table[SYSCALL_SLOTS];
_Noreturn void frame_enter(const struct trap_frame *frame);

static struct trap_frame *call_frame(void)
{
    return (struct trap_frame *)(cpu_this()->kernel_stack - sizeof(struct trap_frame));
}

/* What stack_switch loads: registers that do not matter, and where it goes on. */
static uint64_t stack_prepare(uint64_t top, void (*function)(void))
{
    uint64_t *frame = (uint64_t *)(top - sizeof(struct trap_frame) - 64);

    frame[0] = 0;
    frame[2] = (uint64_t)function;
    return (uint64_t)frame - SWITCH_BYTES;
}

void arch_start_initial(struct arch_context *context, uint64_t kernel_stack, uint64_t entry, uint64_t stack)
{
    arch_zero(context, sizeof(*context));
    context->kernel_stack = kernel_stack;
    context->stack = stack_prepare(kernel_stack, begin_thread);
    context->frame.instruction = entry;
    context->frame.gpr[12] = entry;
    context->frame.gpr[1] = stack;
    context->frame.msr = USER_MSR;
}

void arch_start_clone(struct arch_context *context, uint64_t kernel_stack, const void *kept, uint64_t stack,
                      const uint64_t *thread_pointer)
{
    vector_state_save(context->vector_state);
    context->kernel_stack = kernel_stack;
    context->stack = stack_prepare(kernel_stack, begin_thread);
    context->frame = *(const struct trap_frame *)kept;
    context->frame.gpr[3] = 0;
    context->frame.condition &= ~SUMMARY_OVERFLOW;
    if (stack)
        context->frame.gpr[1] = stack;
    if (thread_pointer)
        context->frame.gpr[13] = *thread_pointer;
}

void arch_switch(struct arch_context *from, const struct arch_context *to)
{
    struct cpu *cpu = cpu_this();
    uint64_t ended, stack;

    if (from)
        vector_state_save(from->vector_state);
    if (to) {
        cpu->kernel_stack = to->kernel_stack;
        vector_state_restore(to->vector_state);
        stack = to->stack;
    } else {
        stack = stack_prepare((uint64_t)cpu->stack + CPU_STACK_BYTES, begin_idle);
    }
    stack_switch(from ? &from->stack : &ended, stack);
}

_Noreturn void arch_start_enter(struct arch_context *context)
{
    thread_slow_return(&context->frame);
    cpu_this()->kernel_ticks += cpu_ticks();
    frame_enter(&context->frame);
}

/* ---- System calls ---- */

void arch_request_slow_return(void)
{
    call_frame()->returns_slowly = true;
}

uint64_t arch_call_stack(void)
{
    return call_frame()->gpr[1];
}

/* Only its address counts, in the table: system_call looks for it. */
void syscall_hole(void)
{
}

long sys_clone(uint64_t flags, uint64_t stack, uint64_t parent_tid, uint64_t tls, uint64_t child_tid)
{
    return thread_clone(flags, stack, parent_tid, child_tid, tls, call_frame());
}

void system_call(struct trap_frame *frame)
{
    typedef long handler(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
    const uint64_t number = frame->gpr[0], *a = &frame->gpr[3];
    long result;

    cpu_this()->counters.system_calls++;
    frame->argument = frame->gpr[3];
    if (number < SYSCALL_SLOTS && syscall_table[number] != (void *)syscall_hole)
        result = ((handler *)(uintptr_t)syscall_table[number])(a[0], a[1], a[2], a[3], a[4], a[5]);
    else
        result = syscall_unknown(number);
    if (result < 0 && result > -4096) {
        frame->gpr[3] = (uint64_t)-result;
        frame->condition |= SUMMARY_OVERFLOW;
    } else {
        frame->gpr[3] = (uint64_t)result;
        frame->condition &= ~SUMMARY_OVERFLOW;
    }
    if (frame->returns_slowly)
        thread_slow_return(frame);
}

bool arch_call_interrupted(const void *pointer)
{
    const struct trap_frame *frame = pointer;

    return frame->vector == TRAP_SYSTEM_CALL && (frame->condition & SUMMARY_OVERFLOW) &&
           frame->gpr[3] == EINTR;
}

void arch_call_restart(void *pointer, unsigned number)
{
    struct trap_frame *frame = pointer;

    frame->gpr[0] = number;
    frame->gpr[3] = frame->argument;
    frame->instruction -= 4;
}

uint64_t arch_frame_instruction(const void *frame)
{
    return ((const struct trap_frame *)frame)->instruction;
}

uint64_t arch_frame_stack(const void *frame)
{
    return ((const struct trap_frame *)frame)->gpr[1];
}
