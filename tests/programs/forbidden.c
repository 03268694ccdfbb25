/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * forbidden.c DEED: does one thing that a program may not do, and returns 77 if that had no consequence.
 * `list` names all deeds with the signal that Linux gives for each; where the faulting instruction or address
 * is known beforehand, it is printed first as "instruction ADDRESS" and "address ADDRESS".
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <tacet.h>
#include <unistd.h>

#define NO_CONSEQUENCE 77

static const char constant[4096] = "constant";
static char data[64] = { (char)0xc3 }; /* a RET instruction */

typedef void function(void);

/* An instruction whose address is printed before it runs. */
#define DEED(name, instruction)                                            \
    extern char at_##name[];                                               \
    static void name(void)                                                 \
    {                                                                      \
        printf("instruction %lx\n", (unsigned long)at_##name);             \
        fflush(stdout);                                                    \
        __asm__ volatile(".globl at_" #name "\nat_" #name ": " instruction \
                         :                                                 \
                         : "a"(0L), "c"(0L), "d"(0L)                       \
                         : "memory", "rbx");                               \
    }

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

__attribute__((noipa)) static void touch(unsigned long address)
{
    printf("address %lx\n", address);
    fflush(stdout);
    *(volatile char *)address = 1;
}

__attribute__((noipa)) static void look(unsigned long address)
{
    printf("address %lx\n", address);
    fflush(stdout);
    (void)*(volatile char *)address;
}

__attribute__((noipa)) static void leap(unsigned long address)
{
    printf("instruction %lx\naddress %lx\n", address, address);
    fflush(stdout);
    ((function *)address)();
}

static void write_null(void)
{
    touch(0);
}

static void read_null(void)
{
    look(8);
}

static void jump_null(void)
{
    leap(0);
}

static void write_text(void)
{
    touch((unsigned long)write_text);
}

static void write_constant(void)
{
    touch((unsigned long)constant);
}

static void write_node_page(void)
{
    touch((unsigned long)tacet_node());
}

static void write_counters(void)
{
    touch((unsigned long)tacet_counters(0) + 8);
}

static void write_relro(void)
{
#ifdef __GLIBC__
    extern char __ehdr_start[];
    const uint64_t *header = (const uint64_t *)__ehdr_start;
    const char *entry = __ehdr_start + header[4];
    unsigned number = *(const uint16_t *)(__ehdr_start + 56);

    for (unsigned i = 0; i < number; i++, entry += 56)
        if (*(const uint32_t *)entry == 0x6474e552) /* PT_GNU_RELRO */
            touch(*(const uint64_t *)(entry + 16) & ~4095UL);
#endif
}

static void run_data(void)
{
    leap((unsigned long)data);
}

static void run_constant(void)
{
    leap((unsigned long)constant);
}

static void run_stack(void)
{
    volatile char code[16] = { (char)0xc3 };

    leap((unsigned long)code);
}

static void run_mapping(void)
{
    char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    at[0] = (char)0xc3;
    leap((unsigned long)at);
}

static void run_heap(void)
{
    char *at = (char *)syscall(SYS_brk, 0);

    syscall(SYS_brk, at + 4096);
    at[0] = (char)0xc3;
    leap((unsigned long)at);
}

static void run_node_page(void)
{
    leap((unsigned long)tacet_node());
}

static void read_kernel(void)
{
    look(0xffffffff80100000);
}

static void write_kernel(void)
{
    touch(0xffffffff80200000);
}

static void read_direct_map(void)
{
    look(0xffff800000100000);
}

static void jump_kernel(void)
{
    leap(0xffffffff80100000);
}

static void read_beyond(void)
{
    look(0x00007ffffffff000);
}

/* Such a fault reports no address: the CPU keeps none. */
__attribute__((noipa)) static void look_silently(unsigned long address)
{
    (void)*(volatile char *)address;
}

static void read_hole(void)
{
    look_silently(0x0000800000000000);
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

/* The report must come although the program's stack pointer is of no use. */
static void trap_without_stack(void)
{
    __asm__ volatile("xor %%esp, %%esp; ud2" : : : "memory");
}

static volatile char sink;

__attribute__((noinline)) static int recurse(int depth)
{
    volatile char frame[512];

    frame[0] = (char)depth;
    sink = frame[0];
    return depth > 0 ? recurse(depth + 1) + frame[0] : 0;
}

static void overflow_stack(void)
{
    recurse(1);
}

static void read_unmapped(void)
{
    look(0x123456789000);
}

static void read_protected(void)
{
    look((unsigned long)mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

static void write_protected(void)
{
    char *at = mmap(NULL, 4UL << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    at[8192] = 1;
    mprotect(at + 8192, 4096, PROT_READ);
    touch((unsigned long)at + 8192);
}

static void read_freed(void)
{
    char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    at[0] = 1;
    munmap(at, 4096);
    look((unsigned long)at);
}

static void abort_itself(void)
{
    abort();
}

/* The direction, alignment-check and trap flags must not reach the kernel: these calls have to work as
 * ever. */
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

static const struct {
    const char *name;
    function *run;
    int signal;
} deeds[] = {
#define ROW(name, signal) { #name, name, signal },
    // clang-format off
    ROW(halt, SIGSEGV) ROW(interrupts_off, SIGSEGV) ROW(read_port, SIGSEGV) ROW(write_port, SIGSEGV)
    ROW(read_cr0, SIGSEGV) ROW(write_cr3, SIGSEGV) ROW(write_cr4, SIGSEGV) ROW(read_msr, SIGSEGV)
    ROW(write_msr, SIGSEGV) ROW(load_idt, SIGSEGV) ROW(load_tr, SIGSEGV) ROW(swap_gs, SIGSEGV)
    ROW(sysenter, SIGSEGV) ROW(system_return, SIGSEGV) ROW(invalidate, SIGSEGV) ROW(write_xcr0, SIGSEGV)
    ROW(write_debug, SIGSEGV)
    ROW(interrupt_80, SIGSEGV) ROW(interrupt_2, SIGSEGV) ROW(interrupt_14, SIGSEGV) ROW(interrupt_32, SIGSEGV)
    ROW(interrupt_255, SIGSEGV) ROW(undefined, SIGILL) ROW(divide_by_zero, SIGFPE)
    ROW(null_stack_segment, SIGSEGV) ROW(breakpoint, SIGTRAP) ROW(debug_instruction, SIGTRAP)
    ROW(single_step, SIGTRAP) ROW(divide_overflow, SIGFPE) ROW(x87_error, SIGFPE) ROW(simd_error, SIGFPE)
    ROW(write_null, SIGSEGV) ROW(read_null, SIGSEGV) ROW(jump_null, SIGSEGV) ROW(write_text, SIGSEGV)
    ROW(write_constant, SIGSEGV) ROW(write_node_page, SIGSEGV) ROW(write_counters, SIGSEGV)
    ROW(run_data, SIGSEGV) ROW(run_constant, SIGSEGV) ROW(run_stack, SIGSEGV) ROW(run_mapping, SIGSEGV)
    ROW(run_heap, SIGSEGV) ROW(run_node_page, SIGSEGV) ROW(read_kernel, SIGSEGV) ROW(write_kernel, SIGSEGV)
    ROW(read_direct_map, SIGSEGV) ROW(jump_kernel, SIGSEGV) ROW(read_beyond, SIGSEGV) ROW(read_hole, SIGSEGV)
    ROW(jump_hole, SIGSEGV) ROW(stack_in_hole, SIGBUS) ROW(stack_in_kernel, SIGSEGV)
    ROW(trap_without_stack, SIGILL) ROW(overflow_stack, SIGSEGV) ROW(read_unmapped, SIGSEGV)
    ROW(read_protected, SIGSEGV) ROW(write_protected, SIGSEGV) ROW(read_freed, SIGSEGV)
    ROW(abort_itself, SIGABRT) ROW(flags_into_call, 0)
#ifdef __GLIBC__
    ROW(write_relro, SIGSEGV)
#endif
    // clang-format on
};

int main(int count, char **arguments)
{
    const char *requested = count > 1 ? arguments[1] : "list";

    (void)write_relro;
    for (unsigned i = 0; i < sizeof(deeds) / sizeof(deeds[0]); i++) {
        if (strcmp(requested, "list") == 0)
            printf("%s %d\n", deeds[i].name, deeds[i].signal);
        else if (strcmp(requested, deeds[i].name) == 0)
            deeds[i].run();
    }
    return strcmp(requested, "list") == 0 ? 0 : NO_CONSEQUENCE;
}
