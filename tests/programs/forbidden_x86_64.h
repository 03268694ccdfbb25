/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * forbidden_x86_64.h: the deeds of forbidden.c that are x86_64's own.
 */
#ifndef FORBIDDEN_X86_64_H
#define FORBIDDEN_X86_64_H

#define DEED_OPERANDS "a"(0L), "c"(0L), "d"(0L)
#define DEED_CHANGES  "memory", "rbx"

DEED(halt, "hlt")
DEED(interrupts_off, "cli")
DEED(read_port, "in $0x80, %%al")
DEED(write_port, "out %%al, $0x80")
DEED(read_cr0, "mov %%cr0, %%rbx")
DEED(write_cr3, "mov %%rax, %%cr3")
DEED(write_cr4, "mov %%rax, %%cr4")
DEED(read_msr, "rdmsr")
DEED(write_msr, "wrmsr")
DEED(load_idt, "lidt (%%rsp)")
DEED(load_tr, "ltr %%ax")
DEED(swap_gs, "swapgs")
DEED(sysenter, "sysenter")
DEED(system_return, "sysretq")
DEED(invalidate, "invlpg (%%rsp)")
DEED(write_xcr0, "xsetbv")
DEED(write_debug, "mov %%rax, %%dr7")
DEED(interrupt_80, "int $0x80")
DEED(interrupt_2, "int $2")
DEED(interrupt_14, "int $14")
DEED(interrupt_32, "int $32")
DEED(interrupt_255, "int $255")
DEED(undefined, "ud2")
DEED(divide_by_zero, "idivq %%rcx")
DEED(null_stack_segment, "mov %%ecx, %%ss")

static void breakpoint(void)
{
    __asm__ volatile("int3");
}

static void debug_instruction(void)
{
    __asm__ volatile(".byte 0xf1"); /* INT1 */
}

static void single_step(void)
{
    __asm__ volatile("pushf; orq $0x100, (%%rsp); popf; nop; nop" : : : "memory", "cc");
}

static void divide_overflow(void)
{
    volatile long most = 1;

    __asm__ volatile("idivq %1" : : "a"(0L), "m"(most), "d"(1L << 62) : "cc");
}

static void x87_error(void)
{
    static const uint16_t unmasked = 0x37b; /* divide by zero raises */
    static const double zero = 0.0;

    __asm__ volatile("fldcw %0; fld1; fdivl %1; fwait" : : "m"(unmasked), "m"(zero));
}

static void simd_error(void)
{
    static const uint32_t unmasked = 0x1d80;
    static const double zero = 0.0;

    __asm__ volatile("ldmxcsr %0; movsd %1, %%xmm0; movsd %1, %%xmm1; divsd %%xmm1, %%xmm0; "
                     "movsd %2, %%xmm2; divsd %%xmm1, %%xmm2"
                     :
                     : "m"(unmasked), "m"(zero), "m"((const double){ 1.0 })
                     : "xmm0", "xmm1", "xmm2");
}

/* Faults in a way for which the CPU keeps no address, so the fault reports none. */
__attribute__((noipa)) static void look_silently(unsigned long address)
{
    (void)*(volatile char *)address;
}

static void read_hole(void)
{
    static const unsigned long addresses[] = { ADDRESS_HOLE };

    look_silently(addresses[1]);
}

static void jump_hole(void)
{
    __asm__ volatile("mov $0x1234567812345678, %%rax; jmp *%%rax" : : : "rax");
}

static void stack_in_hole(void)
{
    __asm__ volatile("mov $0x1234567812345678, %%rsp; push %%rax" : : : "memory");
}

static void stack_in_kernel(void)
{
    __asm__ volatile("mov $0xffffffff80200000, %%rsp; push %%rax" : : : "memory");
}

/* Traps with an unusable stack pointer; the report must come all the same. */
static void trap_without_stack(void)
{
    __asm__ volatile("xor %%esp, %%esp; ud2" : : : "memory");
}

/* Makes calls with the direction, alignment-check and trap flags set: they must not reach the kernel, and the
 * calls must work as usual. */
static void flags_into_call(void)
{
    long result = 0;

    __asm__ volatile("std; pushf; orq $0x40000, (%%rsp); popf; syscall; pushf; andq $~0x40400, (%%rsp); "
                     "popf; cld"
                     : "=a"(result)
                     : "0"(39L)
                     : "rcx", "r11", "memory", "cc");
    exit(result > 0 ? 0 : 1);
}

/* Runs a constant. Not on POWER, whose linker puts constants next to code. */
static void run_constant(void)
{
    leap((unsigned long)constant);
}

// clang-format off
#define MACHINE_ROWS                                                                                        \
    ROW(halt, SIGSEGV) ROW(interrupts_off, SIGSEGV) ROW(read_port, SIGSEGV) ROW(write_port, SIGSEGV)        \
    ROW(read_cr0, SIGSEGV) ROW(write_cr3, SIGSEGV) ROW(write_cr4, SIGSEGV) ROW(read_msr, SIGSEGV)           \
    ROW(write_msr, SIGSEGV) ROW(load_idt, SIGSEGV) ROW(load_tr, SIGSEGV) ROW(swap_gs, SIGSEGV)              \
    ROW(sysenter, SIGSEGV) ROW(system_return, SIGSEGV) ROW(invalidate, SIGSEGV) ROW(write_xcr0, SIGSEGV)    \
    ROW(write_debug, SIGSEGV) ROW(interrupt_80, SIGSEGV) ROW(interrupt_2, SIGSEGV)                          \
    ROW(interrupt_14, SIGSEGV) ROW(interrupt_32, SIGSEGV) ROW(interrupt_255, SIGSEGV)                       \
    ROW(divide_by_zero, SIGFPE) ROW(null_stack_segment, SIGSEGV) ROW(debug_instruction, SIGTRAP)            \
    ROW(single_step, SIGTRAP) ROW(divide_overflow, SIGFPE) ROW(x87_error, SIGFPE) ROW(simd_error, SIGFPE)   \
    ROW(run_constant, SIGSEGV) ROW(stack_in_hole, SIGBUS) ROW(flags_into_call, 0)
// clang-format on

#endif
