/* SPDX-License-Identifier: BSD-2-Clause */
/* signal_registers.c: a handler leaves the interrupted program as it was: registers of all kinds, the 288
 * bytes below the stack that are the program's. */
#include "tests/conformance/conform.h"

static volatile int times;

static void spoil(int number)
{
    __asm__ volatile("vspltisw %%v0, 1\n\tvspltisw %%v19, 1\n\txxlxor 0, 0, 0\n\txxlxor 13, 13, 13\n\t"
                     "mtcrf 0xff, %0\n\tmtctr %0\n\tmtxer %0\n\tli %%r10, 1\n\tli %%r12, 1"
                     :
                     : "r"(0)
                     : "v0", "v19", "fr0", "fr13", "cr0", "cr1", "cr5", "cr6", "cr7", "ctr", "xer", "r10",
                       "r12");
    times += number != 0;
}

CONFORM(signal_registers)
{
    static uint32_t vectors[4][4] __attribute__((aligned(16)));
    struct sigaction action = { .sa_handler = spoil };
    register long r0 __asm__("r0") = SYS_tkill;
    register long r3 __asm__("r3");
    register long r4 __asm__("r4") = SIGUSR1;
    register void *base __asm__("r31") = vectors;
    long thread = sys(SYS_gettid), sum, condition;

    if (sigaction(SIGUSR1, &action, NULL) != 0) {
        holds("a handler", false);
        return;
    }
    r0 = SYS_tkill;
    r4 = SIGUSR1;
    base = vectors;
    r3 = thread;
    /* tkill(gettid(), SIGUSR1) with values in registers that a system call keeps, and at the end of what is
     * the program's below the stack. */
    __asm__ volatile("li 14, 0x51\n\tli 20, 0x52\n\tli 30, 0x53\n\t"
                     "li 9, 0x54\n\tstd 9, -288(1)\n\tli 9, 0x55\n\tstd 9, -8(1)\n\t"
                     "lis 9, 0x52\n\tori 9, 9, 0x4000\n\tmtcrf 0x38, 9\n\t"
                     "vspltisw 0, 5\n\tvspltisw 19, 6\n\tvspltisw 1, 7\n\t"
                     "xxlor 0, 33, 33\n\txxlor 13, 32, 32\n\t"
                     "sc\n\t"
                     "mfcr 9\n\trlwinm %[condition], 9, 0, 8, 19\n\t"
                     "add 14, 14, 20\n\tadd 14, 14, 30\n\tld 9, -288(1)\n\tadd 14, 14, 9\n\t"
                     "ld 9, -8(1)\n\tadd %[sum], 14, 9\n\t"
                     "li 9, 16\n\tstvx 0, 0, 31\n\tstvx 19, 9, 31\n\t"
                     "xxlor 32, 0, 0\n\txxlor 33, 13, 13\n\tli 9, 32\n\tstvx 0, 9, 31\n\t"
                     "li 9, 48\n\tstvx 1, 9, 31"
                     : "+r"(r0), "+r"(r3), "+r"(r4), [sum] "=&r"(sum), [condition] "=&r"(condition)
                     : "r"(base)
                     : "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "r14", "r20", "r30", "v0", "v1",
                       "v19", "fr0", "fr13", "cr0", "cr1", "cr2", "cr3", "cr4", "cr5", "cr6", "cr7", "ctr",
                       "lr", "xer", "memory");
    result("the handler ran", times);
    result("the sum of what was in registers and below the stack", sum);
    result("the condition register's fields that a call keeps", condition);
    result("what was in vector registers", (long)(vectors[0][0] * 10 + vectors[1][3]));
    result("what was in floating-point registers", (long)(vectors[2][0] * 10 + vectors[3][3]));
}
