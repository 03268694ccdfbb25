/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trap.c: exceptions and interrupts, after trap_entry.asm has counted them.
 *
 * An exception is handled in one of three ways: a fault inside a user copy makes the copy return -EFAULT; a
 * program's fault raises a signal; a fault of the kernel itself is a bug, and stops the node with registers
 * and call chain. Of interrupts, only the timer's, IPIs, those of awaited input and of the network are
 * expected; any other is acknowledged and named on the console. Runs with interrupts off, on the kernel
 * stack; #DB, NMI, #DF and #MC have stacks of their own.
 *
 * Sources: Intel SDM 3A §6.14 (64-bit IDT), §6.15 (exceptions), §4.7 (page-fault error code).
 */
#include "arch.h"
#include "arch/local_apic.h"
#include "arch/setup.h"
#include "arch/trap.h"
#include "beat/nettick.h"
#include "time/timer.h"
#include "smp/crosscall.h"
#include "debug/console.h"
#include "lib/elf_image.h"
#include "lib/format.h"
#include "debug/klog.h"
#include "lib/signal_numbers.h"
#include "debug/stop.h"

extern const uint8_t trap_stubs_start[256][TRAP_STUB_BYTES];
extern const uint8_t boot_stack[CPU_STACK_BYTES]; /* entry.asm */

/* user_copy.asm, msr.asm: the instructions that may fault, and where all of them continue then. */
extern const uint64_t user_copy_table_start[], user_copy_table_end[];
extern const uint8_t user_copy_fault[];

static struct {
    uint16_t offset_low, selector;
    uint8_t ist, type;
    uint16_t offset_middle;
    uint32_t offset_high, reserved;
} idt[256];

/* The name of each exception that can come in 64-bit mode, and the signal that Linux raises for it: the cause
 * in words, si_code if the vector alone determines it, and whether si_addr is the address of the
 * instruction. */
static const struct {
    const char *name;
    const char *cause;
    uint8_t signal, code;
    bool at_instruction;
} exceptions[TRAP_LAST + 1] = {
    [TRAP_DIVIDE] = { "divide error", "integer division by zero, or its quotient does not fit", SIGNAL_FPE,
                      FPE_INTEGER_DIVIDE, true },
    [TRAP_DEBUG] = { "debug", "debug trap", SIGNAL_TRAP, 0, true },
    [TRAP_NMI] = { .name = "non-maskable interrupt" },
    [TRAP_BREAKPOINT] = { "breakpoint", "breakpoint instruction", SIGNAL_TRAP, SIGNAL_BY_KERNEL, false },
    [TRAP_OVERFLOW] = { "overflow", "overflow trap", SIGNAL_SEGV, SIGNAL_BY_KERNEL, false },
    [TRAP_INVALID_OPCODE] = { "invalid opcode",
                              "an instruction that this CPU does not have, or that is not allowed",
                              SIGNAL_ILL, ILL_OPERAND, true },
    [TRAP_DOUBLE_FAULT] = { .name = "double fault" },
    [TRAP_INVALID_TSS] = { "invalid TSS", "invalid task state", SIGNAL_SEGV, SIGNAL_BY_KERNEL, false },
    [TRAP_NO_SEGMENT] = { "segment not present", "segment not present", SIGNAL_BUS, SIGNAL_BY_KERNEL, false },
    [TRAP_STACK] = { "stack fault", "stack address that is not canonical", SIGNAL_BUS, SIGNAL_BY_KERNEL,
                     false },
    [TRAP_PROTECTION] = { "general protection", "privileged instruction, or an address that is not canonical",
                          SIGNAL_SEGV, SIGNAL_BY_KERNEL, false },
    [TRAP_PAGE_FAULT] = { .name = "page fault", .signal = SIGNAL_SEGV },
    [TRAP_FPU] = { "x87 error", "unmasked x87 floating-point error", SIGNAL_FPE, 0, true },
    [TRAP_ALIGNMENT] = { "alignment check", "unaligned access while the program has alignment checks on",
                         SIGNAL_BUS, BUS_ALIGNMENT, false },
    [TRAP_MACHINE_CHECK] = { .name = "machine check" },
    [TRAP_SIMD] = { "SIMD error", "unmasked SIMD floating-point error", SIGNAL_FPE, 0, true },
};

/* The interrupts that are expected, from VECTOR_IPI on: the label and the words of /proc/interrupts, and what
 * serves each. */
static const struct {
    const char *name;
    void (*serve)(void);
} interrupts[] = {
    [VECTOR_IPI - VECTOR_IPI] = { "RES Wake-ups from other CPUs", crosscall_serve },
    [VECTOR_TIMER - VECTOR_IPI] = { "LOC Local timer interrupts", timer_interrupt },
    [VECTOR_INPUT - VECTOR_IPI] = { "INP Input has arrived", input_interrupt },
    [VECTOR_DEVICE - VECTOR_IPI] = { "NET Network devices", device_interrupt },
    [VECTOR_BEAT - VECTOR_IPI] = { "BEA Heartbeats", nettick_interrupt },
};
#define INTERRUPTS (sizeof(interrupts) / sizeof(interrupts[0]))

const char *arch_interrupt_name(unsigned number)
{
    if (number == VECTOR_SPURIOUS)
        return "SPU Spurious interrupts";
    return number - VECTOR_IPI < INTERRUPTS ? interrupts[number - VECTOR_IPI].name : NULL;
}

const char *arch_exception_name(unsigned number)
{
    return number <= TRAP_LAST ? exceptions[number].name : NULL;
}

void trap_initialise(void)
{
    static const uint8_t own_stack[256] = {
        [TRAP_DEBUG] = 1, [TRAP_NMI] = 2, [TRAP_DOUBLE_FAULT] = 3, [TRAP_MACHINE_CHECK] = 4
    };
    struct table_pointer pointer = { sizeof(idt) - 1, (uint64_t)idt };

    for (unsigned vector = 0; vector < 256; vector++) {
        uint64_t stub = (uint64_t)trap_stubs_start[vector];
        bool user_may_raise = vector == TRAP_BREAKPOINT || vector == TRAP_OVERFLOW; /* INT3, INTO */

        idt[vector].offset_low = (uint16_t)stub;
        idt[vector].offset_middle = (uint16_t)(stub >> 16);
        idt[vector].offset_high = (uint32_t)(stub >> 32);
        idt[vector].selector = SELECTOR_KERNEL_CODE;
        idt[vector].ist = own_stack[vector];
        idt[vector].type = user_may_raise ? 0xee : 0x8e; /* interrupt gate: present, interrupts off */
    }
    __asm__ volatile("lidt %0" : : "m"(pointer));
}

void arch_registers_print(const void *pointer)
{
    const struct trap_frame *f = pointer;

    kernel_print("  rip %016lx  rsp %016lx  rflags %06lx\n", f->instruction, f->stack, f->flags);
    kernel_print("  rax %016lx  rbx %016lx  rcx %016lx  rdx %016lx\n", f->rax, f->rbx, f->rcx, f->rdx);
    kernel_print("  rsi %016lx  rdi %016lx  rbp %016lx  r8  %016lx\n", f->rsi, f->rdi, f->rbp, f->r8);
    kernel_print("  r9  %016lx  r10 %016lx  r11 %016lx  r12 %016lx\n", f->r9, f->r10, f->r11, f->r12);
    kernel_print("  r13 %016lx  r14 %016lx  r15 %016lx\n", f->r13, f->r14, f->r15);
}

/* Returns whether two words at `address` are on one of this CPU's stacks, or on the boot stack. */
static bool on_stack(uint64_t address)
{
    const struct cpu *cpu = cpu_this();
    const uint64_t thread_low = cpu->kernel_stack - ARCH_KERNEL_STACK_BYTES;

    return address % 8 == 0 && (address - thread_low <= ARCH_KERNEL_STACK_BYTES - 16 ||
                                address - (uint64_t)cpu->stack <= sizeof(cpu->stack) - 16 ||
                                address - (uint64_t)cpu->ist_stacks <= sizeof(cpu->ist_stacks) - 16 ||
                                address - (uint64_t)boot_stack <= CPU_STACK_BYTES - 16);
}

/* Prints return addresses along the chain of frame pointers, for as long as these stay on the CPU's stacks
 * and ascend. The outermost frame pointer is the program's own, and ends the walk. */
static void backtrace_from(const uint64_t *frame)
{
    for (unsigned depth = 0; depth < 16 && on_stack((uint64_t)frame); depth++) {
        if (frame[1] < KERNEL_BASE)
            return;
        kernel_print("  called from %016lx\n", frame[1]);
        if (frame[0] <= (uint64_t)frame)
            return;
        frame = (const uint64_t *)frame[0];
    }
}

void arch_backtrace_print(void)
{
    backtrace_from(__builtin_frame_address(0));
}

static uint64_t fault_address(void)
{
    uint64_t address;

    __asm__ volatile("mov %%cr2, %0" : "=r"(address));
    return address;
}

/* Returns which right a page fault's access needs. */
static unsigned fault_right(const struct trap_frame *frame)
{
    if (frame->error & PAGE_FAULT_FETCH)
        return RIGHT_EXECUTE;
    return frame->error & PAGE_FAULT_WRITE ? RIGHT_WRITE : RIGHT_READ;
}

/* Returns whether the page tables allow the access by now, so that the instruction is to be retried. */
static bool page_fault_retry(const struct trap_frame *frame, bool from_user)
{
    return !(frame->error & ~(uint64_t)PAGE_FAULT_ORDINARY) &&
           page_fault_is_spurious(fault_address(), fault_right(frame), from_user);
}

static bool user_copy_recover(struct trap_frame *frame)
{
    if (frame->vector != TRAP_PAGE_FAULT && frame->vector != TRAP_PROTECTION)
        return false;
    for (const uint64_t *entry = user_copy_table_start; entry < user_copy_table_end; entry++) {
        if (*entry != frame->instruction)
            continue;
        if (frame->vector != TRAP_PAGE_FAULT || !page_fault_retry(frame, false))
            frame->instruction = (uint64_t)user_copy_fault;
        return true;
    }
    return false;
}

static const char *page_fault_cause(const struct trap_frame *frame)
{
    static const char *const causes[][2] = {
        [RIGHT_READ] = { "read of where nothing is mapped", "read of a page that it may not read" },
        [RIGHT_WRITE] = { "write to where nothing is mapped", "write to a page that it may not write" },
        [RIGHT_EXECUTE] = { "jump to where nothing is mapped", "jump to a page that it may not execute" },
    };

    if (frame->error & PAGE_FAULT_RESERVED)
        return "a reserved bit is set in a page table";
    return causes[fault_right(frame)][frame->error & PAGE_FAULT_PRESENT];
}

/* Returns si_code for a floating-point error: of the exceptions that are raised and not masked, the one that
 * Linux ranks first. */
static int float_code(unsigned vector)
{
    enum { INVALID = 1, DENORMAL = 2, DIVIDE = 4, OVERFLOW = 8, UNDERFLOW = 16, INEXACT = 32 };
    uint16_t control, status;
    uint32_t mxcsr, raised;

    if (vector == TRAP_FPU) {
        __asm__ volatile("fnstcw %0; fnstsw %1" : "=m"(control), "=m"(status));
        raised = status & ~(uint32_t)control;
    } else {
        __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
        raised = mxcsr & ~(mxcsr >> 7); /* the mask bits are 7 bits above the flags */
    }
    if (raised & INVALID)
        return FPE_INVALID;
    if (raised & DIVIDE)
        return FPE_DIVIDE;
    if (raised & OVERFLOW)
        return FPE_OVERFLOW;
    if (raised & (UNDERFLOW | DENORMAL))
        return FPE_UNDERFLOW;
    return raised & INEXACT ? FPE_INEXACT : SIGNAL_BY_KERNEL;
}

/* Returns whether the trap flag has caused this #DB; resets DR6. */
static bool debug_is_step(void)
{
    const uint64_t step = 1 << 14, reset_value = 0xffff0ff0;
    uint64_t status;

    __asm__ volatile("mov %%dr6, %0" : "=r"(status));
    __asm__ volatile("mov %0, %%dr6" : : "r"(reset_value));
    return status & step;
}

/* Returns si_code. */
static int exception_code(unsigned vector)
{
    if (vector == TRAP_FPU || vector == TRAP_SIMD)
        return float_code(vector);
    if (vector == TRAP_DEBUG)
        return debug_is_step() ? TRAP_BY_STEP : TRAP_BY_BREAKPOINT;
    return exceptions[vector].code;
}

static void user_trap(struct trap_frame *frame)
{
    struct fault fault = {
        .signal = exceptions[frame->vector].signal,
        .code = exception_code((unsigned)frame->vector),
        .cause = exceptions[frame->vector].cause,
        .frame = frame,
    };

    if (frame->vector == TRAP_PAGE_FAULT) {
        fault.cause = page_fault_cause(frame);
        fault.address = cpu_this()->fault_address = fault_address();
        fault.has_address = true;
        if (fault.address >= ARCH_USER_LIMIT)
            frame->error |=
                PAGE_FAULT_PRESENT; /* as on Linux, so that a program cannot probe the kernel's half */
    }
    if (exceptions[frame->vector].at_instruction)
        fault.address = frame->instruction;
    trap_user_fault(&fault);
}

_Noreturn static void machine_check(const struct trap_frame *frame)
{
    console_serving(false);
    kernel_print("machine check: the hardware reports an error it could not correct\n");
    machine_checks_print();
    arch_registers_print(frame);
    node_stop(STOP_MACHINE_CHECK, "machine check");
}

_Noreturn static void kernel_fault(const struct trap_frame *frame)
{
    const char *name = arch_exception_name((unsigned)frame->vector);
    struct cpu *cpu = cpu_this();

    if (cpu->panicking)
        arch_power_off(); /* a fault while a fault was being reported */
    cpu->panicking = true;
    console_lock_break();

    kernel_print("the kernel itself faulted: %s (vector %lu, error %lx)\n",
                 name ? name : "unexpected interrupt", frame->vector, frame->error);
    if (frame->vector == TRAP_PAGE_FAULT)
        kernel_print("  %s, address %016lx\n", page_fault_cause(frame), fault_address());
    if (frame->vector == TRAP_DOUBLE_FAULT &&
        (fault_address() - (uint64_t)cpu->guard < ARCH_PAGE ||
         fault_address() - (uint64_t)boot_guard < ARCH_PAGE ||
         fault_address() - (cpu->kernel_stack - ARCH_KERNEL_STACK_BYTES - ARCH_PAGE) < ARCH_PAGE))
        kernel_print("  the kernel's stack has overflowed\n"); /* the page fault for the guard page could not
                                                                  push its frame */
    arch_registers_print(frame);
    backtrace_from((const uint64_t *)frame->rbp);
    node_stop(STOP_PANIC, "kernel fault: %s at %016lx", name ? name : "unexpected interrupt",
              frame->instruction);
}

static void interrupt_serve(uint64_t vector)
{
    void (*const serve)(void) = interrupts[vector - VECTOR_IPI].serve;

    if (vector == VECTOR_DEVICE) {
        serve();
        local_apic_acknowledge(); /* a line that has been served is not raised any more */
    } else {
        local_apic_acknowledge();
        serve();
    }
}

static void frame_handle(struct trap_frame *frame, bool from_user)
{
    /* The program may have set the flag that lifts SMAP (AC), or this may have interrupted a user copy, to
     * which the return restores it. */
    if (cpu_features.smap)
        __asm__ volatile("clac");

    if (frame->vector == TRAP_NMI && !from_user)
        ; /* not logged: it may have interrupted klog_write */
    else if (frame->vector < VECTOR_FIRST_INTERRUPT)
        klog(exception, frame->vector, frame->instruction);
    else
        klog(interrupt, frame->vector, frame->instruction);
    if (frame->vector == TRAP_MACHINE_CHECK)
        machine_check(frame);
    if (frame->vector == TRAP_NMI) {
        console_serving(from_user);
        kernel_print("non-maskable interrupt of unknown origin, at %016lx\n", frame->instruction);
        console_serving(true);
        return;
    }
    if (frame->vector - VECTOR_IPI < INTERRUPTS) {
        interrupt_serve(frame->vector);
        return;
    }
    if (frame->vector == VECTOR_SPURIOUS)
        return; /* takes no acknowledgement */
    if (frame->vector <= TRAP_LAST && exceptions[frame->vector].signal) {
        if (from_user && frame->vector == TRAP_PAGE_FAULT && page_fault_retry(frame, true))
            return;
        if (from_user) {
            user_trap(frame);
            return;
        }
        if (user_copy_recover(frame))
            return;
    }
    if (frame->vector >= VECTOR_FIRST_INTERRUPT) {
        local_apic_acknowledge();
        kernel_print("unexpected interrupt %lu\n", frame->vector);
        return;
    }
    kernel_fault(frame);
}

void trap_handle(struct trap_frame *frame)
{
    bool from_user = frame->code_selector & 3;

    frame_handle(frame, from_user);
    if (from_user && frame->vector < VECTOR_FIRST_INTERRUPT)
        program_return(frame);
    else if (from_user)
        interrupt_return(frame);
}
