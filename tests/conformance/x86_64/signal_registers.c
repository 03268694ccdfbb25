/* SPDX-License-Identifier: BSD-2-Clause */
/* signal_registers.c: a handler leaves the interrupted program as it was: registers of all kinds, the stack's
 * red zone. */
#include "tests/conformance/conform.h"

static volatile int times;

static void spoil(int number)
{
    __asm__ volatile(
        "pcmpeqd %%xmm0, %%xmm0\n\tpcmpeqd %%xmm7, %%xmm7\n\tpcmpeqd %%xmm15, %%xmm15\n\tfld1\n\tfstp %%st"
        :
        :
        : "xmm0", "xmm7", "xmm15");
    times += number != 0;
}

CONFORM(signal_registers)
{
    struct sigaction action = { .sa_handler = spoil };
    uint64_t left = 0, vector[2] = { 0x1111, 0x2222 };

    if (sigaction(SIGUSR1, &action, NULL) != 0) {
        holds("a handler", false);
        return;
    }
    /* tkill(gettid(), SIGUSR1) with values in all registers that a system call keeps, and 16 bytes below the
     * stack. */
    __asm__ volatile("movdqu %[vector], %%xmm0\n\tmovdqu %[vector], %%xmm15\n\t"
                     "mov $0x51, %%rbx\n\tmov $0x52, %%r12\n\tmov $0x53, %%r13\n\t"
                     "mov $0x54, %%r14\n\tmov $0x55, %%r15\n\t"
                     "movq $0x77, -64(%%rsp)\n\tstd\n\t"
                     "syscall\n\t"
                     "pushfq\n\tpop %[left]\n\tcld\n\tshr $10, %[left]\n\tand $1, %[left]\n\t"
                     "shl $8, %[left]\n\tadd %%rbx, %[left]\n\tadd %%r12, %[left]\n\tadd %%r13, %[left]\n\t"
                     "add %%r14, %[left]\n\tadd %%r15, %[left]\n\t"
                     "movdqu %%xmm15, %[vector]\n\tpaddq %%xmm0, %%xmm15\n\tmovdqu %%xmm15, %[vector]"
                     : [left] "=&r"(left), [vector] "+m"(vector)
                     : "a"(SYS_tkill), "D"(sys(SYS_gettid)), "S"(SIGUSR1)
                     : "rbx", "rcx", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm15", "memory", "cc");
    result("the handler ran", times);
    result("the sum of what was in registers, and the direction flag", (long)left);
    result("what was in vector registers", (long)(vector[0] * 10 + vector[1]));
}
