/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * entry_x86_64.h: entry.c for x86_64, on which a system call changes RAX, RCX and R11.
 */
#ifndef ENTRY_X86_64_H
#define ENTRY_X86_64_H

#include <stdint.h>

/* Named by the assembly below.
 *
 * RAX RBX RCX RDX RSI RDI RBP R8-R15 flags RSP, then XMM0-15, the MXCSR, the x87 control and status words. */
struct {
    uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15, flags, rsp;
    uint8_t pad[8];
    uint8_t fxsave[512];
} __attribute__((aligned(16))) entered;

uint64_t kept[12];

void check(void);

__asm__(".globl _start\n"
        "_start:\n"
        "    mov %rax, entered\n"
        "    mov %rbx, entered+8\n"
        "    mov %rcx, entered+16\n"
        "    mov %rdx, entered+24\n"
        "    mov %rsi, entered+32\n"
        "    mov %rdi, entered+40\n"
        "    mov %rbp, entered+48\n"
        "    mov %r8, entered+56\n"
        "    mov %r9, entered+64\n"
        "    mov %r10, entered+72\n"
        "    mov %r11, entered+80\n"
        "    mov %r12, entered+88\n"
        "    mov %r13, entered+96\n"
        "    mov %r14, entered+104\n"
        "    mov %r15, entered+112\n"
        "    mov %rsp, entered+128\n"
        "    pushf\n"
        "    popq entered+120\n"
        "    fxsave64 entered+144\n"
        "    and $-16, %rsp\n"
        "    call check\n"
        "    ud2\n"
        /* getpid with a value of its own in every register that must stay */
        ".globl call_and_keep\n"
        "call_and_keep:\n"
        "    push %rbx\n    push %rbp\n    push %r12\n    push %r13\n    push %r14\n    push %r15\n"
        "    mov $39, %eax\n"
        "    mov $0x101, %rbx\n    mov $0x102, %rdx\n    mov $0x103, %rsi\n    mov $0x104, %rdi\n"
        "    mov $0x105, %rbp\n    mov $0x108, %r8\n    mov $0x109, %r9\n    mov $0x10a, %r10\n"
        "    mov $0x10c, %r12\n    mov $0x10d, %r13\n    mov $0x10e, %r14\n    mov $0x10f, %r15\n"
        "    syscall\n"
        "    mov %rbx, kept\n    mov %rdx, kept+8\n    mov %rsi, kept+16\n    mov %rdi, kept+24\n"
        "    mov %rbp, kept+32\n    mov %r8, kept+40\n    mov %r9, kept+48\n    mov %r10, kept+56\n"
        "    mov %r12, kept+64\n    mov %r13, kept+72\n    mov %r14, kept+80\n    mov %r15, kept+88\n"
        "    pop %r15\n    pop %r14\n    pop %r13\n    pop %r12\n    pop %rbp\n    pop %rbx\n"
        "    ret\n");

long call_and_keep(void);
extern char _start[];

__attribute__((noreturn)) static void end(long status)
{
    for (;;)
        __asm__ volatile("syscall" : : "a"(231L), "D"(status) : "rcx", "r11", "memory");
}

void check(void)
{
    static const uint64_t expected[12] = { 0x101, 0x102, 0x103, 0x104, 0x105, 0x108,
                                           0x109, 0x10a, 0x10c, 0x10d, 0x10e, 0x10f };

    if (entered.rax | entered.rbx | entered.rdx | entered.rsi | entered.rdi | entered.rbp)
        end(1);
    if (entered.r8 | entered.r9 | entered.r10 | entered.r12 | entered.r13 | entered.r14 | entered.r15)
        end(2);
    /* What SYSRET itself sets: the program's own first address and its own flags. */
    if ((entered.rcx && entered.rcx != (uint64_t)_start) || (entered.r11 && (entered.r11 & ~0x202ULL)))
        end(3);
    if (entered.flags != 0x202)
        end(4);
    if (entered.rsp % 16 || *(uint64_t *)entered.rsp != 1)
        end(5);
    for (int i = 160; i < 416; i++)
        if (entered.fxsave[i])
            end(6); /* XMM0-15 */
    for (int i = 32; i < 160; i++)
        if (entered.fxsave[i])
            end(7); /* x87 registers */
    if (*(uint16_t *)entered.fxsave != 0x37f || *(uint16_t *)(entered.fxsave + 2) != 0 ||
        *(uint32_t *)(entered.fxsave + 24) != 0x1f80)
        end(8);
    if (call_and_keep() <= 0)
        end(9);
    for (int i = 0; i < 12; i++)
        if (kept[i] != expected[i])
            end(10 + i);
    end(0);
}

#endif
