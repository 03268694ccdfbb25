/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * forbidden.c DEED: does one thing that a program may not do, and returns 77 if that had no consequence.
 * `list` names all deeds with the signal that Linux gives for each. If the faulting instruction or address is
 * known before, it is printed first as "instruction ADDRESS" and "address ADDRESS". Deeds of one architecture
 * are in forbidden_ARCH.h; a signal of 0 stands for a harmless deed.
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

#include "machine.h"

#define NO_CONSEQUENCE 77

static const char constant[4096] __attribute__((aligned(128))) = MACHINE_RETURN_42;
static char data[64] __attribute__((aligned(64))) = MACHINE_RETURN_42;

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
                         : DEED_OPERANDS                                   \
                         : DEED_CHANGES);                                  \
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

static char *mapped(int rights)
{
    return mmap(NULL, MACHINE_PAGE, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

#if defined(__x86_64__)
#include "forbidden_x86_64.h"
#elif defined(__powerpc64__)
#include "forbidden_ppc64.h"
#endif

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
            touch(*(const uint64_t *)(entry + 16) & ~(MACHINE_PAGE - 1));
#endif
}

static void run_data(void)
{
    leap((unsigned long)data);
}

static void run_stack(void)
{
    char code[16] __attribute__((aligned(16))) = MACHINE_RETURN_42;

    __asm__ volatile("" : : "r"(code) : "memory");
    leap((unsigned long)code);
}

static void run_mapping(void)
{
    char *at = mapped(PROT_READ | PROT_WRITE);

    memcpy(at, data, sizeof(data));
    leap((unsigned long)at);
}

static void run_heap(void)
{
    char *at = (char *)syscall(SYS_brk, 0);

    syscall(SYS_brk, at + MACHINE_PAGE);
    memcpy(at, data, sizeof(data));
    leap((unsigned long)at);
}

static void run_node_page(void)
{
    leap((unsigned long)tacet_node());
}

static void read_kernel(void)
{
    look(KERNEL_IMAGE - 0x100000);
}

static void write_kernel(void)
{
    touch(KERNEL_IMAGE);
}

static void read_memory(void)
{
    look(KERNEL_MEMORY);
}

static void write_memory(void)
{
    touch(KERNEL_MEMORY);
}

static void read_device(void)
{
    look(KERNEL_DEVICES);
}

static void jump_kernel(void)
{
    leap(KERNEL_IMAGE);
}

static void read_beyond(void)
{
    look(MACHINE_USER_LIMIT);
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
    look(NOT_THERE);
}

static void read_protected(void)
{
    look((unsigned long)mapped(PROT_NONE));
}

static void write_protected(void)
{
    char *at = mmap(NULL, 4UL << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    at[2 * MACHINE_PAGE] = 1;
    mprotect(at + 2 * MACHINE_PAGE, MACHINE_PAGE, PROT_READ);
    touch((unsigned long)at + 2 * MACHINE_PAGE);
}

static void read_freed(void)
{
    char *at = mapped(PROT_READ | PROT_WRITE);

    at[0] = 1;
    munmap(at, MACHINE_PAGE);
    look((unsigned long)at);
}

static void abort_itself(void)
{
    abort();
}

static const struct {
    const char *name;
    function *run;
    int signal;
} deeds[] = {
#define ROW(name, signal) { #name, name, signal },
    // clang-format off
    ROW(undefined, SIGILL) ROW(breakpoint, SIGTRAP)
    ROW(write_null, SIGSEGV) ROW(read_null, SIGSEGV) ROW(jump_null, SIGSEGV) ROW(write_text, SIGSEGV)
    ROW(write_constant, SIGSEGV) ROW(write_node_page, SIGSEGV) ROW(write_counters, SIGSEGV)
    ROW(run_data, SIGSEGV) ROW(run_stack, SIGSEGV) ROW(run_mapping, SIGSEGV)
    ROW(run_heap, SIGSEGV) ROW(run_node_page, SIGSEGV) ROW(read_kernel, SIGSEGV) ROW(write_kernel, SIGSEGV)
    ROW(read_memory, SIGSEGV) ROW(write_memory, SIGSEGV) ROW(read_device, SIGSEGV) ROW(jump_kernel, SIGSEGV)
    ROW(read_beyond, SIGSEGV) ROW(read_hole, SIGSEGV) ROW(jump_hole, SIGSEGV) ROW(stack_in_kernel, SIGSEGV)
    ROW(trap_without_stack, SIGILL) ROW(overflow_stack, SIGSEGV) ROW(read_unmapped, SIGSEGV)
    ROW(read_protected, SIGSEGV) ROW(write_protected, SIGSEGV) ROW(read_freed, SIGSEGV)
    ROW(abort_itself, SIGABRT)
    MACHINE_ROWS
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
