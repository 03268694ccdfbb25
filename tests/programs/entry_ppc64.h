/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * entry_ppc64.h: entry.c for POWER, little-endian, on which a system call keeps r14 to r31 at least.
 */
#ifndef ENTRY_PPC64_H
#define ENTRY_PPC64_H

#include <stdint.h>

/* Named by the assembly below, which puts it far below the stack. */
struct entered {
    uint64_t gpr[32], link, counter, xer, condition, status, pad;
    uint32_t vscr[4];
    uint64_t vsr[64][2];
};

void check(const struct entered *entered);

#define GENERAL "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31"
#define VECTORS                                                                                          \
    GENERAL ",32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61" \
            ",62,63"
#define PRESERVED "14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31"

__asm__(".machine push\n"
        ".machine power9\n"
        ".globl _start\n"
        "_start:\n"
        "    .irp n," GENERAL "\n    std \\n, -8192+8*\\n(1)\n    .endr\n"
        "    mflr 3\n    std 3, -8192+256(1)\n"
        "    mfctr 3\n    std 3, -8192+264(1)\n"
        "    mfxer 3\n    std 3, -8192+272(1)\n"
        "    mfcr 3\n    std 3, -8192+280(1)\n"
        "    addi 3, 1, -8192+320\n"
        "    .irp n," VECTORS "\n    li 4, 16*\\n\n    stxvx \\n, 3, 4\n    .endr\n"
        "    mffs 0\n    stfd 0, -8192+288(1)\n"
        "    mfvscr 0\n    li 4, -16\n    stxvx 32, 3, 4\n"
        "    addi 3, 1, -8192\n"
        "    addi 1, 1, -16384\n"
        "    lis 12, check@ha\n    addi 12, 12, check@l\n    mtctr 12\n"
        "    bctrl\n"
        "    trap\n"
        /* getpid with a value of its own in every register that must stay */
        ".globl call_and_keep\n"
        "call_and_keep:\n"
        "    stdu 1, -256(1)\n"
        "    std 3, 40(1)\n"
        "    .irp n," PRESERVED "\n    std \\n, 8*\\n(1)\n    li \\n, 0x100+\\n\n    .endr\n"
        "    li 0, 20\n"
        "    sc\n"
        "    mr 4, 3\n"
        "    ld 3, 40(1)\n"
        "    .irp n," PRESERVED "\n    std \\n, 8*\\n(3)\n    ld \\n, 8*\\n(1)\n    .endr\n"
        "    mr 3, 4\n"
        "    addi 1, 1, 256\n"
        "    blr\n"
        ".machine pop\n");

long call_and_keep(uint64_t *kept);
extern char _start[];

__attribute__((noreturn)) static void end(long status)
{
    register long number __asm__("r0") = 234;
    register long argument __asm__("r3") = status;

    for (;;)
        __asm__ volatile("sc" : "+r"(number), "+r"(argument) : : "memory");
}

void check(const struct entered *entered)
{
    uint64_t kept[32];

    /* But for the stack and, by the ABI, the program's own first address. */
    for (int i = 0; i < 32; i++)
        if (entered->gpr[i] && i != 1 && i != 12)
            end(1);
    if (entered->gpr[12] != (uint64_t)_start)
        end(2);
    if (entered->link | entered->counter | entered->xer | entered->condition)
        end(3);
    if (entered->status)
        end(4); /* the FPSCR */
    if (entered->gpr[1] % 16 || *(const uint64_t *)entered->gpr[1] != 1)
        end(5);
    for (int i = 0; i < 64; i++)
        if (entered->vsr[i][0] | entered->vsr[i][1])
            end(6);
    /* Non-Java mode, as on Linux. */
    if (entered->vscr[0] != 0x10000 || entered->vscr[1] | entered->vscr[2] | entered->vscr[3])
        end(7);
    if (call_and_keep(kept) <= 0)
        end(9);
    for (int i = 14; i < 32; i++)
        if (kept[i] != 0x100U + (unsigned)i)
            end(10 + i);
    end(0);
}

#endif
