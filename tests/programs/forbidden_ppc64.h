/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * forbidden_ppc64.h: the deeds of forbidden.c that are POWER's own. r9 is zero where an instruction uses it.
 */
#ifndef FORBIDDEN_PPC64_H
#define FORBIDDEN_PPC64_H

#include <sys/prctl.h>
#include <sys/time.h>

#define DEED_OPERANDS [zero] "b"(0L)
#define DEED_CHANGES  "memory", "r0", "r9", "r10", "r11", "r12", "cr0", "ctr", "lr"

/* ---- What is the kernel's, or the hypervisor's ---- */

DEED(read_state, "mfmsr 9")
DEED(write_state, "mtmsrd %[zero]")
DEED(interrupts_off, "mtmsrd %[zero], 1")
DEED(return_from_interrupt, "rfid")
DEED(return_from_hypervisor, "hrfid")
DEED(return_from_call, ".long 0x4c0000a4") /* rfscv */
DEED(write_return, "mtsrr0 %[zero]")
DEED(read_scratch, "mfsprg 9, 0")
DEED(write_scratch, "mtsprg 0, %[zero]")
DEED(write_control, "mtspr 318, %[zero]")    /* LPCR */
DEED(write_process, "mtspr 48, %[zero]")     /* PIDR */
DEED(write_facilities, "mtspr 153, %[zero]") /* FSCR */
DEED(write_watchpoint, "mtspr 180, %[zero]") /* DAWR */
DEED(write_decrementer, "mtdec %[zero]")
DEED(write_time, "mttbl %[zero]")
DEED(invalidate, ".long 0x7c000264")       /* tlbie */
DEED(invalidate_local, ".long 0x7c000224") /* tlbiel */
DEED(invalidate_wait, "tlbsync")
DEED(clear_segments, "slbia")
DEED(send_message, ".long 0x7c00019c")   /* msgsnd */
DEED(send_to_thread, ".long 0x7c00011c") /* msgsndp */
DEED(stop_cpu, ".long 0x4c0002e4")       /* stop */
DEED(read_real, ".long 0x7c6006aa")      /* lbzcix */
DEED(branch_by_event, "mfspr 9, 806")    /* BESCR */
DEED(transaction, ".long 0x7c00051d")    /* tbegin. */

/* ---- What is not there ---- */

DEED(undefined, ".long 0")
DEED(attention, ".long 0x200")
DEED(prefixed, ".long 0x06000000; nop") /* POWER10's */
DEED(call_level_1, ".long 0x44000021")  /* scv 1 */
DEED(call_level_127, ".long 0x44000fe1")

/* ---- Traps ---- */

DEED(breakpoint, "trap")
DEED(trap_if_equal, "tdeq %[zero], %[zero]")

/* Traps with an unusable stack pointer; the report must come all the same. */
static void trap_without_stack(void)
{
    __asm__ volatile("li 1, 0; .long 0" : : : "memory");
}

/* ---- Addresses ---- */

/* An instruction for an address, which is printed before it runs. */
#define STORAGE(name, where, instruction)                                                     \
    static void name(void)                                                                    \
    {                                                                                         \
        const unsigned long at = (unsigned long)(where);                                      \
                                                                                              \
        printf("address %lx\n", at);                                                          \
        fflush(stdout);                                                                       \
        __asm__ volatile(instruction : : [at] "b"(at) : "memory", "r9", "r10", "r11", "cr0"); \
    }

STORAGE(reserve_word, data + 1, "lwarx 9, 0, %[at]")
STORAGE(reserve_double, data + 4, "ldarx 9, 0, %[at]")
STORAGE(reserve_quad, data + 8, "lqarx 10, 0, %[at]")
STORAGE(store_conditional, data + 2, "stwcx. 9, 0, %[at]")
STORAGE(clear_constant, constant, "dcbz 0, %[at]")
STORAGE(clear_protected, mapped(PROT_NONE), "dcbz 0, %[at]")
STORAGE(clear_kernel, KERNEL_IMAGE, "dcbz 0, %[at]")
STORAGE(flush_kernel, KERNEL_IMAGE, "dcbf 0, %[at]")
STORAGE(invalidate_code, KERNEL_IMAGE, "icbi 0, %[at]")
STORAGE(stack_in_hole, 0x0010000000000000, "mr 1, %[at]; std 9, 0(1)")
STORAGE(stack_in_kernel, KERNEL_IMAGE, "mr 1, %[at]; std 9, 0(1)")

static void read_hole(void)
{
    static const unsigned long addresses[] = { ADDRESS_HOLE };

    look(addresses[1]);
}

static void jump_hole(void)
{
    leap(0x1234567812345678);
}

/* Jumps to an address whose last two bits are set, which the CPU ignores. */
static void jump_odd(void)
{
    printf("instruction %lx\n", NOT_THERE);
    fflush(stdout);
    __asm__ volatile("mtctr %0; bctr" : : "r"(NOT_THERE + 3) : "ctr");
}

/* ---- Floating point: raised where the program has asked for it ---- */

static void float_not_asked(void)
{
    static const volatile double zero = 0.0, one = 1.0;
    volatile double result;

    __asm__ volatile("mtfsb1 27"); /* enables division by zero */
    result = one / zero;
    (void)result;
    exit(0);
}

static void float_asked(void)
{
    if (prctl(PR_SET_FPEXC, PR_FP_EXC_PRECISE) == 0)
        float_not_asked();
}

/* ---- No harm ---- */

static void divide_by_zero(void)
{
    long result;

    __asm__ volatile("divd %0, %1, %1" : "=r"(result) : "r"(0L));
    exit(0);
}

/* Makes the hypervisor's call that writes to the terminal: from a program it does nothing. */
static void hypercall(void)
{
    static const char words[] = "BROKEN! BROKEN!";
    register long r3 __asm__("r3") = 0x58;
    register long r4 __asm__("r4") = 0x71000000; /* QEMU's first terminal */
    register long r5 __asm__("r5") = 15;
    register long r6 __asm__("r6") = *(const long *)words;
    register long r7 __asm__("r7") = *(const long *)(words + 8);

    __asm__ volatile(".long 0x44000022"
                     : "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6), "+r"(r7)
                     :
                     : "memory", "r0", "r8", "r9", "r10", "r11", "r12", "cr0", "ctr", "lr", "xer");
    exit(r3 < 0 ? 0 : 1);
}

static void end_well(int signal)
{
    (void)signal;
    _exit(0);
}

/* Waits for an interrupt, such as a timer's. */
static void wait_for_interrupt(void)
{
    const struct itimerval soon = { .it_value = { .tv_usec = 1000 } };

    signal(SIGALRM, end_well);
    setitimer(ITIMER_REAL, &soon, NULL);
    for (;;)
        __asm__ volatile(".long 0x7c00003c");
}

// clang-format off
#define MACHINE_ROWS                                                                                        \
    ROW(read_state, SIGILL) ROW(write_state, SIGILL) ROW(interrupts_off, SIGILL)                            \
    ROW(return_from_interrupt, SIGILL) ROW(return_from_hypervisor, SIGILL) ROW(return_from_call, SIGILL)    \
    ROW(write_return, SIGILL) ROW(read_scratch, SIGILL) ROW(write_scratch, SIGILL)                          \
    ROW(write_control, SIGILL) ROW(write_process, SIGILL) ROW(write_facilities, SIGILL)                     \
    ROW(write_watchpoint, SIGILL) ROW(write_decrementer, SIGILL) ROW(write_time, SIGILL)                    \
    ROW(invalidate, SIGILL) ROW(invalidate_local, SIGILL) ROW(invalidate_wait, SIGILL)                      \
    ROW(clear_segments, SIGILL) ROW(send_message, SIGILL) ROW(send_to_thread, SIGILL)                       \
    ROW(stop_cpu, SIGILL) ROW(read_real, SIGILL) ROW(branch_by_event, SIGILL) ROW(transaction, SIGILL)      \
    ROW(attention, SIGILL) ROW(prefixed, SIGILL) ROW(call_level_1, SIGILL) ROW(call_level_127, SIGILL)      \
    ROW(trap_if_equal, SIGTRAP)                                                                             \
    ROW(reserve_word, SIGBUS) ROW(reserve_double, SIGBUS) ROW(reserve_quad, SIGBUS)                         \
    ROW(store_conditional, SIGBUS) ROW(clear_constant, SIGSEGV) ROW(clear_protected, SIGSEGV)               \
    ROW(clear_kernel, SIGSEGV) ROW(flush_kernel, SIGSEGV) ROW(invalidate_code, SIGSEGV)                     \
    ROW(stack_in_hole, SIGSEGV) ROW(jump_odd, SIGSEGV) ROW(float_not_asked, 0) ROW(float_asked, SIGFPE)     \
    ROW(divide_by_zero, 0) ROW(hypercall, SIGILL) ROW(wait_for_interrupt, 0)
// clang-format on

#endif
