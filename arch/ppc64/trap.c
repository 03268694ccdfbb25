/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trap.c: exceptions and interrupts, after vectors.S has stored the registers. Runs with interrupts off, on
 * the kernel stack.
 */
#include "arch/trap.h"
#include "arch.h"
#include "arch/setup.h"
#include "debug/console.h"
#include "debug/stop.h"
#include "lib/elf_image.h"
#include "lib/kstring.h"
#include "lib/signal_numbers.h"
#include "process/thread.h"
#include "smp/crosscall.h"
#include "time/timer.h"

extern const uint8_t vectors[], vectors_end[];

static const char *const names[16] = {
    [1] = "system reset",
    [2] = "machine check",
    [3] = "data storage",
    [4] = "instruction storage",
    [5] = "external",
    [6] = "alignment",
    [7] = "program",
    [8] = "floating point unavailable",
    [9] = "decrementer",
    [10] = "doorbell",
    [12] = "system call",
    [13] = "trace",
    [15] = "facility unavailable",
};

const char *arch_exception_name(unsigned number)
{
    return number < 16 ? names[number] : NULL;
}

void vectors_install(void)
{
    const uint64_t bytes = (uint64_t)(vectors_end - vectors);

    memcpy(arch_physical(0x100), vectors + 0x100, bytes - 0x100);
    memcpy(arch_physical(0x4100), vectors + 0x100, bytes - 0x100);
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

/* Each frame begins with the address of its caller's, where the return address is third. */
void arch_backtrace_print(void)
{
    const uint64_t *frame = __builtin_frame_address(0);

    for (int i = 0; i < 16 && frame && *frame; i++) {
        frame = (const uint64_t *)*frame;
        kernel_print("  %lx\n", frame[2]);
    }
}

#define STATUS_STORE 0x02000000ULL /* DSISR */
#define CAUSE_TRAP   0x20000ULL    /* SRR1 of a program interrupt: a trap instruction */

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

static bool storage_retry(const struct trap_frame *frame, bool from_user)
{
    const uint64_t address = is_instruction(frame) ? frame->instruction : frame->address;
    const unsigned rights = is_instruction(frame)            ? RIGHT_EXECUTE
                            : (frame->status & STATUS_STORE) ? RIGHT_WRITE
                                                             : RIGHT_READ;

    return (frame->vector == TRAP_DATA || frame->vector == TRAP_INSTRUCTION) &&
           page_fault_is_spurious(address, rights, from_user);
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

static void user_fault(struct trap_frame *frame)
{
    struct fault fault = { .signal = SIGNAL_SEGV, .instruction = frame->instruction, .frame = frame };

    if (is_storage(frame)) {
        if (storage_retry(frame, true))
            return;
        fault.has_address = true;
        fault.address = is_instruction(frame) ? frame->instruction : frame->address;
        fault.cause = is_instruction(frame)            ? "page fault: fetch"
                      : (frame->status & STATUS_STORE) ? "page fault: write"
                                                       : "page fault: read";
    } else if (frame->vector == TRAP_ALIGNMENT) {
        fault.signal = SIGNAL_BUS;
        fault.cause = "unaligned access";
    } else {
        fault.signal = (frame->msr & CAUSE_TRAP) ? SIGNAL_TRAP : SIGNAL_ILL;
        fault.cause = "an instruction that this CPU does not have, or that is not allowed";
    }
    trap_user_fault(&fault);
}

static bool interrupt_serve(const struct trap_frame *frame)
{
    switch (frame->vector) {
    case TRAP_DECREMENTER:
        decrementer_quiet(); /* it interrupts for as long as it is below 0 */
        timer_interrupt();
        return true;
    case TRAP_DOORBELL:
        crosscall_serve();
        return true;
    default:
        return false;
    }
}

_Noreturn static void kernel_fault(const struct trap_frame *frame)
{
    arch_registers_print(frame);
    arch_backtrace_print();
    node_stop(STOP_PANIC, "kernel fault: %s at %lx, address %lx",
              arch_exception_name((unsigned)(frame->vector >> 8)) ?: "unknown", frame->instruction,
              frame->address);
}

static void user_trap_handle(struct trap_frame *frame)
{
    cpu_this()->kernel_ticks -= cpu_ticks();
    if (frame->vector == TRAP_SYSTEM_CALL) {
        system_call(frame);
    } else {
        if (!interrupt_serve(frame))
            user_fault(frame);
        if (thread_must_return_slowly())
            thread_slow_return(frame);
    }
    cpu_this()->kernel_ticks += cpu_ticks();
}

void trap_handle(struct trap_frame *frame)
{
    if (frame->msr & MSR_PROBLEM)
        user_trap_handle(frame);
    else if (!interrupt_serve(frame) && !user_copy_recover(frame))
        kernel_fault(frame);
}
