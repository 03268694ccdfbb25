/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_signals.c: what the processor refuses becomes a signal that reports what and where. */
#include "tests/conformance/conform.h"
#include "tests/conformance/faults.h"

#include <ucontext.h>

static uint64_t address, error_code;

static void note(int number, siginfo_t *info, void *context)
{
    reported = *info;
    address = (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[16];    /* REG_RIP */
    error_code = (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[19]; /* REG_ERR */
    siglongjmp(back, number);
}

CONFORM(fault_signals)
{
    static const uint16_t unmasked = 0x37b; /* the x87's control word: a division by 0 raises its exception */
    static volatile char *volatile nowhere = NOWHERE;
    static const int numbers[] = { SIGSEGV, SIGFPE, SIGILL, SIGBUS, SIGTRAP };
    struct sigaction action = { .sa_sigaction = note, .sa_flags = SA_SIGINFO };

    for (unsigned i = 0; i < 5; i++)
        if (sigaction(numbers[i], &action, NULL) != 0) {
            holds("a handler", false);
            return;
        }
    TRY("nobody's memory", *nowhere = 1);
    holds("its address", reported.si_addr == NOWHERE && address != 0);
    result("a write by the user, to what is not there", (long)error_code);
    TRY("the kernel's memory", *(volatile char *)KERNEL_SIDE = 1);
    TRY("an address that is none", *(volatile char *)0x8000000000000000 = 1);
    TRY("a division by 0", __asm__ volatile("xor %%eax, %%eax\n\txor %%ecx, %%ecx\n\tcltd\n\tidiv %%ecx"
                                            :
                                            :
                                            : "rax", "rcx", "rdx"));
    holds("the address of the instruction", (uint64_t)reported.si_addr == address);
    TRY("no instruction", __asm__ volatile("ud2"));
    holds("its address there", (uint64_t)reported.si_addr == address);
    TRY("a privileged instruction", __asm__ volatile("hlt"));
    TRY("a breakpoint", __asm__ volatile("int3"));
    TRY("a port", __asm__ volatile("outb %al, $0x80"));
    TRY("memory that is not to be run", ((void (*)(void))(uintptr_t)read_only())());
    TRY("a floating division by 0, unmasked", __asm__ volatile("fldcw %0\n\tfld1\n\tfldz\n\tfdivrp\n\tfwait"
                                                               :
                                                               : "m"(unmasked)));
    __asm__ volatile("fninit");
    TRY("nobody's memory again", *nowhere = 1);
}
