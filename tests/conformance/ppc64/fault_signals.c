/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_signals.c: what the processor refuses becomes a signal that reports what and where. */
#include "tests/conformance/conform.h"
#include "tests/conformance/faults.h"

#include <sys/prctl.h>
#include <ucontext.h>

/* Places in gp_regs. */
enum { NIP = 32, TRAP = 40, DAR = 41 };

static uint64_t address, vector, data;

static void note(int number, siginfo_t *info, void *context)
{
    const ucontext_t *user = context;

    reported = *info;
    address = user->uc_mcontext.gp_regs[NIP];
    vector = user->uc_mcontext.gp_regs[TRAP] & ~15UL;
    data = user->uc_mcontext.gp_regs[DAR];
    siglongjmp(back, number);
}

static void floating_status(uint64_t bits)
{
    const union {
        uint64_t bits;
        double value;
    } state = { bits };

    __asm__ volatile("mtfsf 0xff, %0" : : "d"(state.value));
}

CONFORM(fault_signals)
{
    static volatile char *volatile nowhere = NOWHERE;
    static volatile double zero;
    static const int numbers[] = { SIGSEGV, SIGFPE, SIGILL, SIGBUS, SIGTRAP };
    static uint32_t words[2];
    struct sigaction action = { .sa_sigaction = note, .sa_flags = SA_SIGINFO };

    for (unsigned i = 0; i < 5; i++)
        if (sigaction(numbers[i], &action, NULL) != 0) {
            holds("a handler", false);
            return;
        }
    TRY("nobody's memory", *nowhere = 1);
    holds("its address", reported.si_addr == NOWHERE && address != 0 && data == (uint64_t)NOWHERE);
    result("the interrupt's vector", (long)vector);
    TRY("the kernel's memory", *(volatile char *)0xc000000000000000 = 1);
    TRY("an address that is none", *(volatile char *)0x0010000000000000 = 1);
    result("its vector", (long)vector);
    TRY("no instruction", __asm__ volatile(".long 0"));
    holds("its address there", (uint64_t)reported.si_addr == address);
    TRY("a privileged instruction", __asm__ volatile("mfmsr %%r9" : : : "r9"));
    TRY("a register of the kernel's", __asm__ volatile("mfspr %%r9, 27" : : : "r9")); /* SRR1 */
    TRY("a trap", __asm__ volatile("trap"));
    holds("the address of the instruction", (uint64_t)reported.si_addr == address);
    TRY("memory that is not to be run", __asm__ volatile("mtctr %0\n\tbctrl"
                                                         :
                                                         : "r"(read_only())
                                                         : "ctr", "lr", "memory"));
    holds("its address, too", reported.si_addr == read_only() && address == (uint64_t)read_only());
    TRY("a reservation across words", __asm__ volatile("lwarx %%r9, 0, %0"
                                                       :
                                                       : "b"((char *)words + 1)
                                                       : "r9", "memory"));
    result("precise exceptions of numbers", prctl(PR_SET_FPEXC, PR_FP_EXC_PRECISE));
    TRY("a floating division by 0, unmasked", floating_status(0x10), zero = 1 / zero);
    holds("the address of the division", (uint64_t)reported.si_addr == address);
    floating_status(0);
    prctl(PR_SET_FPEXC, PR_FP_EXC_DISABLED);
    TRY("nobody's memory again", *nowhere = 1);
}
