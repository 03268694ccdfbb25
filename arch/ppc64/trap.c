/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trap.c: exceptions and interrupts, after vectors.S has stored the registers.
 *
 * An exception is handled in one of three ways: a fault inside a user copy makes the copy return -EFAULT; a
 * program's fault raises the signal that Linux would raise, with the same si_code; a fault of the kernel
 * itself is a bug, and stops the node with registers and call chain. So do machine checks and system resets,
 * wherever they come. Runs with interrupts off, on the kernel stack; what stops the node runs on the
 * emergency stack.
 *
 * Sources: Power ISA 3.0B III §6.5 (interrupts, what SRR1 and DSISR say), I §4.2.2 (FPSCR).
 */
#include "arch/trap.h"
#include "arch.h"
#include "arch/interrupts.h"
#include "arch/setup.h"
#include "debug/console.h"
#include "debug/klog.h"
#include "debug/stop.h"
#include "lib/elf_image.h"
#include "lib/kstring.h"
#include "lib/signal_numbers.h"
#include "process/thread.h"

extern const uint8_t image_start[], image_text_end[]; /* link.ld */
extern const uint8_t vectors[], vectors_end[], syscall_entry[], syscall_entry_vectored[];

/* By the address of the vector / 256: those of segments and of facilities share the number of related
 * ones. */
static const char *const names[16] = {
    [1] = "system reset",
    [2] = "machine check",
    [3] = "data storage",
    [4] = "instruction storage",
    [6] = "alignment",
    [7] = "program",
    [8] = "floating point unavailable",
    [13] = "trace",
    [15] = "facility unavailable",
};

const char *arch_exception_name(unsigned number)
{
    return number < 16 ? names[number] : NULL;
}

/* Puts a branch to code of the image where a copy of the vectors runs. */
static void branch_install(uint64_t at, const void *target)
{
    *(uint32_t *)arch_physical(at) =
        0x48000000 | (uint32_t)(((uint64_t)target - (uint64_t)arch_physical(at)) & 0x3fffffc);
}

void vectors_install(void)
{
    const uint64_t bytes = (uint64_t)(vectors_end - vectors);

    memcpy(arch_physical(0x100), vectors + 0x100, bytes - 0x100);
    memcpy(arch_physical(VECTORS_AT + 0x100), vectors + 0x100, bytes - 0x100);
    branch_install(VECTORS_AT + TRAP_SYSTEM_CALL, syscall_entry);
    memset(arch_physical(VECTORED_AT), 0, VECTORS_AT - VECTORED_AT);
    branch_install(VECTORED_AT, syscall_entry_vectored);
    for (uint64_t at = 0; at < 0x8000; at += 128)
        __asm__ volatile("dcbst 0, %0; sync; icbi 0, %0" : : "r"(arch_physical(at)) : "memory");
    __asm__ volatile("sync; isync" : : : "memory");
}

void arch_registers_print(const void *pointer)
{
    const struct trap_frame *f = pointer;

    for (unsigned i = 0; i < 32; i += 4)
        kernel_print("r%-2u %016lx %016lx %016lx %016lx\n", i, f->gpr[i], f->gpr[i + 1], f->gpr[i + 2],
                     f->gpr[i + 3]);
    kernel_print("nip %016lx msr %016lx lr %016lx ctr %016lx\n", f->instruction, f->msr, f->link, f->counter);
    kernel_print("dar %016lx dsisr %08lx cr %08lx xer %08lx\n", f->address, f->status, f->condition, f->xer);
}

/* Returns whether three words at `address` are on one of this CPU's stacks. */
static bool on_stack(uint64_t address)
{
    const struct cpu *cpu = cpu_this();
    const uint64_t thread_low = cpu->kernel_stack - ARCH_KERNEL_STACK_BYTES;
    const uint64_t cpu_low = (uint64_t)cpu->stack,
                   cpu_bytes = sizeof(cpu->stack) + sizeof(cpu->emergency_stack);

    return address % 8 == 0 &&
           (address - thread_low <= ARCH_KERNEL_STACK_BYTES - 24 || address - cpu_low <= cpu_bytes - 24);
}

/* Prints return addresses. Each frame begins with the address of its caller's, in which the return address is
 * third. The chain ends when it leaves the CPU's stacks, for the program's. */
static void backtrace_from(uint64_t frame)
{
    for (int depth = 0; depth < 16 && on_stack(frame); depth++) {
        const uint64_t *words = (const uint64_t *)frame;

        if (words[2] >= (uint64_t)image_start && words[2] < (uint64_t)image_text_end)
            kernel_print("  called from %016lx\n", words[2]);
        frame = words[0];
    }
}

/* Prints the call chain from the caller's frame on: its own may have ended by then. */
void arch_backtrace_print(void)
{
    backtrace_from(*(const uint64_t *)__builtin_frame_address(0));
}

#define STATUS_STORE  0x02000000ULL /* DSISR */
#define STATUS_ABSENT 0x40000000ULL /* DSISR, SRR1: nothing is mapped there */

/* SRR1 of a program interrupt. */
#define CAUSE_FLOAT      0x100000ULL
#define CAUSE_PRIVILEGED 0x40000ULL
#define CAUSE_TRAP       0x20000ULL

extern const uint64_t user_copy_table_start[], user_copy_table_end[];
extern const uint8_t user_copy_fault[];

static bool is_instruction(const struct trap_frame *frame)
{
    return frame->vector == TRAP_INSTRUCTION || frame->vector == TRAP_INSTRUCTION_SEGMENT;
}

static bool is_storage(const struct trap_frame *frame)
{
    return frame->vector == TRAP_DATA || frame->vector == TRAP_DATA_SEGMENT || is_instruction(frame);
}

static uint64_t storage_address(const struct trap_frame *frame)
{
    return is_instruction(frame) ? frame->instruction : frame->address;
}

/* Returns which right the access needs. */
static unsigned storage_right(const struct trap_frame *frame)
{
    if (is_instruction(frame))
        return RIGHT_EXECUTE;
    return frame->status & STATUS_STORE ? RIGHT_WRITE : RIGHT_READ;
}

static bool storage_retry(const struct trap_frame *frame, bool from_user)
{
    return (frame->vector == TRAP_DATA || frame->vector == TRAP_INSTRUCTION) &&
           page_fault_is_spurious(storage_address(frame), storage_right(frame), from_user);
}

static bool user_copy_recover(struct trap_frame *frame)
{
    if (frame->vector != TRAP_DATA && frame->vector != TRAP_DATA_SEGMENT)
        return false;
    for (const uint64_t *entry = user_copy_table_start; entry < user_copy_table_end; entry++) {
        if (*entry != frame->instruction)
            continue;
        if (!storage_retry(frame, false))
            frame->instruction = (uint64_t)user_copy_fault;
        return true;
    }
    return false;
}

/* Describes the access. A program does not learn what the kernel's half maps. */
static const char *storage_cause(const struct trap_frame *frame)
{
    const bool hidden = (frame->msr & MSR_PROBLEM) && storage_address(frame) >= ARCH_USER_LIMIT;
    const bool absent = ((is_instruction(frame) ? frame->msr : frame->status) & STATUS_ABSENT) && !hidden;

    if (frame->vector == TRAP_DATA_SEGMENT || frame->vector == TRAP_INSTRUCTION_SEGMENT)
        return is_instruction(frame) ? "jump to an address that no page can have"
                                     : "access to an address that no page can have";
    if (is_instruction(frame))
        return absent ? "jump to where nothing is mapped" : "jump to a page that it may not execute";
    if (frame->status & STATUS_STORE)
        return absent ? "write to where nothing is mapped" : "write to a page that it may not write";
    return absent ? "read of where nothing is mapped" : "read of a page that it may not read";
}

/* Returns si_code for a floating-point error: of the exceptions that are raised and enabled, the one that
 * Linux ranks first. In FPSCR the enabling bits of invalid operation, overflow, underflow, division and
 * inexact are 22 bits below the bits that say that an exception has been raised. */
static int float_code(void)
{
    enum { INVALID = 1 << 7, OVERFLOW = 1 << 6, UNDERFLOW = 1 << 5, DIVIDE = 1 << 4, INEXACT = 1 << 3 };
    const uint32_t state = vector_status(), raised = state >> 22 & state;

    if (raised & INVALID)
        return FPE_INVALID;
    if (raised & OVERFLOW)
        return FPE_OVERFLOW;
    if (raised & UNDERFLOW)
        return FPE_UNDERFLOW;
    if (raised & DIVIDE)
        return FPE_DIVIDE;
    return raised & INEXACT ? FPE_INEXACT : SIGNAL_BY_KERNEL;
}

/* Sets signal, si_code and cause of a fault of the program's that is not one of storage; si_addr is the
 * instruction. */
static void instruction_fault(const struct trap_frame *frame, struct fault *fault)
{
    fault->signal = SIGNAL_ILL;
    fault->code = ILL_OPERATION;
    fault->address = frame->instruction;
    fault->cause = "an instruction that this CPU does not have";
    if (frame->vector == TRAP_NO_FACILITY || frame->vector == TRAP_NO_VMX || frame->vector == TRAP_NO_VSX ||
        frame->vector == TRAP_NO_FLOATING_POINT) {
        fault->cause = "an instruction of a facility that programs do not have";
    } else if (frame->vector == TRAP_TRACE) {
        fault->signal = SIGNAL_TRAP;
        fault->code = TRAP_BY_STEP;
        fault->cause = "a single step";
    } else if (frame->msr & CAUSE_FLOAT) {
        fault->signal = SIGNAL_FPE;
        fault->code = float_code();
        fault->cause = "a floating-point exception that it has enabled";
    } else if (frame->msr & CAUSE_TRAP) {
        fault->signal = SIGNAL_TRAP;
        fault->code = TRAP_BY_BREAKPOINT;
        fault->cause = "a trap instruction";
    } else if (frame->msr & CAUSE_PRIVILEGED) {
        fault->code = ILL_PRIVILEGED;
        fault->cause = "an instruction that is not allowed to programs";
    }
}

static void user_fault(struct trap_frame *frame)
{
    struct fault fault = { .signal = SIGNAL_SEGV, .frame = frame };

    if (is_storage(frame)) {
        if (storage_retry(frame, true))
            return;
        if (frame->vector == TRAP_DATA_SEGMENT || frame->vector == TRAP_INSTRUCTION_SEGMENT)
            fault.code = SEGV_BOUND;
        fault.has_address = true;
        fault.address = storage_address(frame);
        fault.cause = storage_cause(frame);
    } else if (frame->vector == TRAP_ALIGNMENT) {
        fault.signal = SIGNAL_BUS;
        fault.code = BUS_ALIGNMENT;
        fault.has_address = true;
        fault.address = frame->address;
        fault.cause = "unaligned access";
    } else {
        instruction_fault(frame, &fault);
    }
    trap_user_fault(&fault);
}

static bool interrupt_serve(const struct trap_frame *frame)
{
    switch (frame->vector) {
    case TRAP_DECREMENTER:
        decrementer_interrupt();
        return true;
    case TRAP_EXTERNAL:
        interrupts_serve();
        return true;
    default:
        return false;
    }
}

static bool is_interrupt(const struct trap_frame *frame)
{
    return frame->vector == TRAP_EXTERNAL || frame->vector == TRAP_DECREMENTER;
}

/* Returns whether a stack has overflowed: the CPU's, or the thread's. */
static bool stack_has_overflowed(const struct trap_frame *frame)
{
    const struct cpu *cpu = cpu_this();

    return frame->vector == TRAP_DATA &&
           (frame->address - (uint64_t)cpu->guard < ARCH_PAGE ||
            frame->address - (cpu->kernel_stack - ARCH_KERNEL_STACK_BYTES - ARCH_PAGE) < ARCH_PAGE);
}

_Noreturn static void kernel_fault(const struct trap_frame *frame)
{
    const char *name = arch_exception_name(frame->vector >> 8) ?: "unexpected interrupt";
    const bool is_machine_check = frame->vector == TRAP_MACHINE_CHECK;
    struct cpu *cpu = cpu_this();

    if (cpu->stopping)
        arch_power_off(); /* a fault while a fault was being reported */
    cpu->stopping = true;
    if (!(frame->msr & MSR_PROBLEM) || frame->vector == TRAP_RESET) /* its holder is halted then */
        console_lock_break();
    if (is_machine_check)
        kernel_print("machine check: the hardware reports an error it could not correct\n");
    else if (frame->vector == TRAP_RESET)
        kernel_print("system reset: requested from outside of the node\n");
    else
        kernel_print("the kernel itself faulted: %s (vector %x)\n", name, frame->vector);
    if (is_storage(frame))
        kernel_print("  %s, address %016lx\n", storage_cause(frame), storage_address(frame));
    if (stack_has_overflowed(frame))
        kernel_print("  the kernel's stack has overflowed\n");
    arch_registers_print(frame);
    if (!(frame->msr & MSR_PROBLEM))
        backtrace_from(frame->gpr[1]);
    if (is_machine_check)
        node_stop(STOP_MACHINE_CHECK, "machine check");
    if (frame->vector == TRAP_RESET)
        node_stop(STOP_PANIC, "system reset at %016lx", frame->instruction);
    node_stop(STOP_PANIC, "kernel fault: %s at %016lx", name, frame->instruction);
}

static void user_trap_handle(struct trap_frame *frame)
{
    cpu_this()->kernel_ticks -= cpu_ticks();
    if (!interrupt_serve(frame))
        user_fault(frame);
    if (!is_interrupt(frame) || thread_must_return_slowly())
        thread_slow_return(frame);
    cpu_this()->kernel_ticks += cpu_ticks();
}

void trap_handle(struct trap_frame *frame)
{
    static bool reset_has_come;

    if (frame->vector <= TRAP_MACHINE_CHECK) { /* these come in real mode, a reset to all CPUs at once */
        kernel_map_activate();
        if (frame->vector == TRAP_RESET && __atomic_exchange_n(&reset_has_come, true, __ATOMIC_RELAXED))
            arch_halt();
        kernel_fault(frame);
    }
    if (is_interrupt(frame)) {
        cpu_this()->interrupted = frame->instruction; /* for interrupt_note, which knows which it is */
    } else {
        cpu_this()->counters.exceptions[frame->vector >> 8]++;
        klog(exception, frame->vector >> 8, frame->instruction);
    }
    if (frame->msr & MSR_PROBLEM)
        user_trap_handle(frame);
    else if (!interrupt_serve(frame) && !user_copy_recover(frame))
        kernel_fault(frame);
}
