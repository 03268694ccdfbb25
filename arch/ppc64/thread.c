/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread.c: a thread's first registers, the switch to another one, and the slow return of system calls
 * (syscall_entry.S). The frame of an entry from the program lies at the top of the thread's kernel stack.
 */
#include "process/thread.h"
#include "arch/setup.h"
#include "arch/trap.h"
#include "lib/errno.h"
#include "syscall/syscall.h"

typedef void call_handler(void);
extern call_handler *const syscall_table[SYSCALL_SLOTS];

#define USER_MSR                                                                                         \
    (1ULL << 63 | MSR_INTERRUPTS | MSR_PROBLEM | MSR_TRANSLATION | MSR_RECOVERABLE | MSR_LITTLE_ENDIAN | \
     MSR_VECTORS)

void stack_switch(uint64_t *from, uint64_t to);
void begin_thread(void), begin_idle(void), call_logged(void);
_Noreturn void frame_enter(const struct trap_frame *frame);

static struct trap_frame *frame_on(uint64_t kernel_stack)
{
    return (struct trap_frame *)(kernel_stack - sizeof(struct trap_frame));
}

static struct trap_frame *call_frame(void)
{
    return frame_on(cpu_this()->kernel_stack);
}

/* Prepares what stack_switch loads: registers that do not matter, and where it continues. */
static uint64_t stack_prepare(uint64_t top, void (*function)(void))
{
    uint64_t *frame = (uint64_t *)(top - sizeof(struct trap_frame) - 64);

    frame[0] = 0;
    frame[2] = (uint64_t)function;
    return (uint64_t)frame - SWITCH_BYTES;
}

/* Completes what the entry of a system call has stored: its result, and registers that are lost. */
static void call_complete(struct trap_frame *frame, long result, uint32_t vector)
{
    const bool fails = result < 0 && result > -4096;

    frame->vector = vector;
    frame->returns_slowly = 0;
    frame->argument = frame->gpr[3];
    frame->gpr[3] = (uint64_t)result;
    if (vector == TRAP_SYSTEM_CALL) {
        frame->gpr[3] = (uint64_t)(fails ? -result : result);
        frame->condition = (frame->condition & ~SUMMARY_OVERFLOW) | (fails ? SUMMARY_OVERFLOW : 0);
    }
    for (unsigned i = 9; i <= 12; i++)
        frame->gpr[i] = 0;
    frame->counter = frame->xer = 0;
    frame->priority = priority_get();
}

void arch_start_initial(struct arch_context *context, uint64_t kernel_stack, uint64_t entry, uint64_t stack)
{
    arch_zero(context, sizeof(*context));
    context->kernel_stack = kernel_stack;
    frame_on(kernel_stack)->returns_slowly = 0;
    context->stack = stack_prepare(kernel_stack, begin_thread);
    context->frame.instruction = entry;
    context->frame.gpr[12] = entry;
    context->frame.gpr[1] = stack;
    context->frame.msr = USER_MSR;
    context->vectors.vector_status[0] = VECTORS_NON_JAVA; /* as Linux begins a program */
    context->priority = context->frame.priority = PRIORITY_MEDIUM;
}

void arch_start_clone(struct arch_context *context, uint64_t kernel_stack, const void *kept, uint64_t stack,
                      const uint64_t *thread_pointer)
{
    vector_state_save(&context->vectors);
    context->kernel_stack = kernel_stack;
    frame_on(kernel_stack)->returns_slowly = 0;
    context->stack = stack_prepare(kernel_stack, begin_thread);
    context->frame = *(const struct trap_frame *)kept;
    call_complete(&context->frame, 0, TRAP_SYSTEM_CALL);
    context->priority = context->frame.priority;
    if (stack)
        context->frame.gpr[1] = stack;
    if (thread_pointer)
        context->frame.gpr[13] = *thread_pointer;
}

static void kernel_stack_set(struct cpu *cpu, uint64_t top)
{
    cpu->kernel_stack = top;
    cpu->call_stack = (uint64_t)frame_on(top) - FRAME_MIN_BYTES;
}

void arch_switch(struct arch_context *from, const struct arch_context *to)
{
    struct cpu *cpu = cpu_this();
    uint64_t ended, stack;

    if (from) {
        from->priority = priority_get();
        vector_state_save(&from->vectors);
    }
    if (to) {
        kernel_stack_set(cpu, to->kernel_stack);
        vector_state_restore(&to->vectors);
        priority_put(to->priority);
        stack = to->stack;
    } else {
        priority_put(PRIORITY_MEDIUM);
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

static call_handler *const logged_table[SYSCALL_SLOTS] = { [0 ... SYSCALL_SLOTS - 1] = call_logged };

static void calls_set(struct cpu *cpu, bool logged)
{
    cpu->calls = logged ? logged_table : syscall_table;
    cpu->call_unknown = (uint64_t)(logged ? call_logged : syscall_hole);
}

void arch_system_calls_log(bool on)
{
    calls_set(cpu_this(), on);
}

void entry_initialise(struct cpu *cpu)
{
    register uint64_t table_of_contents __asm__("r2");

    __asm__ volatile("" : "=r"(table_of_contents));
    cpu->table_of_kernel = table_of_contents;
    kernel_stack_set(cpu, (uint64_t)cpu->stack + CPU_STACK_BYTES);
    calls_set(cpu, false);
}

void arch_request_slow_return(void)
{
    call_frame()->returns_slowly = -1;
}

uint64_t arch_call_stack(void)
{
    return call_frame()->gpr[1];
}

void system_call_return(struct trap_frame *frame, long result, uint32_t vector)
{
    call_complete(frame, result, vector);
    thread_slow_return(frame);
    cpu_this()->kernel_ticks += cpu_ticks();
}

/* Sets or gets how precisely floating-point exceptions that the program has enabled interrupt it: at first,
 * not at all. */
long arch_thread_option(uint32_t operation, uint64_t argument)
{
    enum { GET_FPEXC = 11, SET_FPEXC = 12, PRECISE = 3 };
    struct trap_frame *frame = call_frame();
    const uint32_t mode = (frame->msr & MSR_FLOAT_0 ? 2 : 0) | (frame->msr & MSR_FLOAT_1 ? 1 : 0);

    if (operation == GET_FPEXC)
        return user_write(argument, &mode, sizeof(mode));
    if (operation != SET_FPEXC || argument > PRECISE)
        return -EINVAL;
    frame->msr &= ~(MSR_FLOAT_0 | MSR_FLOAT_1);
    frame->msr |= (argument & 2 ? MSR_FLOAT_0 : 0) | (argument & 1 ? MSR_FLOAT_1 : 0);
    return 0;
}

long arch_thread_pointer_call(uint64_t code, uint64_t address)
{
    (void)code;
    (void)address;
    return -ENOSYS;
}

bool arch_call_interrupted(const void *pointer)
{
    const struct trap_frame *frame = pointer;

    return frame->vector == TRAP_SYSTEM_CALL_VECTORED
               ? (long)frame->gpr[3] == -EINTR
               : frame->vector == TRAP_SYSTEM_CALL && (frame->condition & SUMMARY_OVERFLOW) &&
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
