/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signals_ppc64.h: the part of signals.c that is about registers and instructions of POWER, little-endian.
 */
#ifndef SIGNALS_PPC64_H
#define SIGNALS_PPC64_H

#include "machine.h"
#include "vsx_ppc64.h"

#include <sys/prctl.h>

#define NO_ADDRESS 0x0010000000000000UL /* the first that no page of a program can have */

/* Places in gp_regs, after the 32 general registers. */
enum {
    NIP = 32,
    MSR,
    ARGUMENT,
    CTR,
    LINK,
    XER,
    CONDITION,
    TRAP = 40,
    DAR,
};

static struct { /* of the machine context */
    uint64_t nip, r1, trap, dar, condition;
    uint64_t msr, context, handler_status, handler_chain;
} seen_at;

static void floating_status_set(uint64_t bits)
{
    const union {
        uint64_t bits;
        double value;
    } state = { bits };

    __asm__ volatile("mtfsf 0xff, %0" : : "d"(state.value));
}

static void note(int signal, siginfo_t *info, void *context)
{
    const ucontext_t *user = context;
    const uint64_t *registers = (const uint64_t *)user->uc_mcontext.gp_regs;

    (void)signal;
    seen_at.handler_status = floating_status();
    seen = *info;
    seen_at.nip = registers[NIP];
    seen_at.r1 = registers[1];
    seen_at.trap = registers[TRAP] & ~15UL;
    seen_at.dar = registers[DAR];
    seen_at.condition = registers[CONDITION];
    seen_at.msr = registers[MSR];
    seen_at.context = (uint64_t)context;
    handler_stack = (uint64_t)__builtin_frame_address(0);
    /* Up the chain of frames, from this function to the handler's own and to what it has interrupted. */
    seen_at.handler_chain = handler_stack;
    for (int up = 0; up < 4 && seen_at.handler_chain != seen_at.r1; up++)
        seen_at.handler_chain = *(uint64_t *)seen_at.handler_chain;
    runs++;
}

/* ---- Faults ---- */

extern char at_trap[], at_illegal[], at_privileged[], at_divide[];

static void faults_report_what_happened(void)
{
    static const int faulting[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP };
    static char faulting_word[8] __attribute__((aligned(8)));
    static const volatile double zero = 0.0, one = 1.0, tiny = 1e-308, huge = 1e308;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    volatile char *volatile low = (volatile char *)8;
    char *none = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *read_only = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *gone = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    munmap(gone, page);
    for (unsigned i = 0; i < sizeof(faulting) / sizeof(faulting[0]); i++)
        install(faulting[i], note_and_jump_out, 0);

#define SEGMENT_FAULT(where, expected_code, expected_trap, ...)                                       \
    PROMISE(FAULT(__VA_ARGS__) == 1 && seen.si_signo == SIGSEGV && seen.si_code == (expected_code) && \
                seen.si_addr == (void *)(where) && seen_at.trap == (expected_trap) &&                 \
                ((expected_trap) == 0x400 || (void *)seen_at.dar == (void *)(where)),                 \
            "code %d address %p trap %lx dar %lx", seen.si_code, seen.si_addr, seen_at.trap, seen_at.dar)
    SEGMENT_FAULT(low, SEGV_MAPERR, 0x300, (void)*low);
    SEGMENT_FAULT(gone, SEGV_MAPERR, 0x300, *(volatile char *)gone = 1);
    SEGMENT_FAULT(read_only + 7, SEGV_ACCERR, 0x300, *(volatile char *)(read_only + 7) = 1);
    SEGMENT_FAULT(none + 5, SEGV_ACCERR, 0x300, (void)*(volatile char *)(none + 5));
    SEGMENT_FAULT(KERNEL_IMAGE, SEGV_MAPERR, 0x300, (void)*(volatile char *)KERNEL_IMAGE);
    SEGMENT_FAULT(NO_ADDRESS, SEGV_BNDERR, 0x380, (void)*(volatile char *)NO_ADDRESS);
    SEGMENT_FAULT(read_only, SEGV_ACCERR, 0x400, ((void (*)(void))read_only)());
    PROMISE(seen_at.nip == (uint64_t)read_only, "nip %lx", seen_at.nip);

#define FAULT_AT(expected_signal, expected_code, where, ...)                                            \
    PROMISE(FAULT(__VA_ARGS__) == 1 && seen.si_signo == (expected_signal) &&                            \
                seen.si_code == (expected_code) && seen.si_addr == (where) &&                           \
                seen_at.nip == (uint64_t)(where) && seen_at.trap == 0x700,                              \
            "signal %d code %d address %p nip %lx trap %lx", seen.si_signo, seen.si_code, seen.si_addr, \
            seen_at.nip, seen_at.trap)
    FAULT_AT(SIGTRAP, TRAP_BRKPT, at_trap, __asm__ volatile("at_trap: trap"));
    FAULT_AT(SIGILL, ILL_ILLOPC, at_illegal, __asm__ volatile("at_illegal: .long 0"));
    FAULT_AT(SIGILL, ILL_PRVOPC, at_privileged, __asm__ volatile("at_privileged: mfmsr 0" : : : "r0"));

    PROMISE(FAULT(__asm__ volatile("mfspr 9, 806" /* BESCR */
                                   :
                                   :
                                   : "r9")) == 1 &&
                seen.si_signo == SIGILL && seen.si_code == ILL_ILLOPC && seen_at.trap == 0xf60,
            "signal %d code %d trap %lx", seen.si_signo, seen.si_code, seen_at.trap);
    PROMISE(FAULT(__asm__ volatile("lwarx 9, 0, %0"
                                   :
                                   : "r"(faulting_word + 1)
                                   : "r9")) == 1 &&
                seen.si_signo == SIGBUS && seen.si_code == BUS_ADRALN && seen.si_addr == faulting_word + 1 &&
                seen_at.trap == 0x600,
            "signal %d code %d address %p trap %lx", seen.si_signo, seen.si_code, seen.si_addr, seen_at.trap);

#define FLOAT_FAULT(enabled, expected_code, a, operation, b)                                              \
    PROMISE(FAULT(volatile double out; floating_status_set(enabled); out = (a)operation(b); (void)out) == \
                    1 &&                                                                                  \
                seen.si_signo == SIGFPE && seen.si_code == (expected_code) && seen_at.trap == 0x700 &&    \
                seen_at.handler_status == 0,                                                              \
            "code %d trap %lx status %lx", seen.si_code, seen_at.trap, seen_at.handler_status)
    prctl(PR_SET_FPEXC, PR_FP_EXC_PRECISE);
    FLOAT_FAULT(0x10, FPE_FLTDIV, one, /, zero);
    FLOAT_FAULT(0x80, FPE_FLTINV, zero, /, zero);
    FLOAT_FAULT(0x40, FPE_FLTOVF, huge, *, huge);
    FLOAT_FAULT(0x20, FPE_FLTUND, tiny, *, tiny);
    FLOAT_FAULT(0x08, FPE_FLTRES, one, /, huge);
    prctl(PR_SET_FPEXC, PR_FP_EXC_DISABLED);
    floating_status_set(0);

    for (unsigned i = 0; i < sizeof(faulting) / sizeof(faulting[0]); i++)
        signal(faulting[i], SIG_DFL);
}

/* ---- What a handler changes: nothing ---- */

typedef struct {
    uint64_t half[2];
} __attribute__((aligned(16))) vector_register;

static vector_register image[64], after[64];

/* Goes on after the instruction, a trap. */
static void clobber(int signal, siginfo_t *info, void *context)
{
    ucontext_t *user = context;

    note(signal, info, context);
    __asm__ volatile(
        ".set n, 0; .rept 64; xxlxor n, n, n; .set n, n + 1; .endr; vspltisw 0, -1; mtvscr 0; li 0, -1; "
        "mtspr 256, 0"
        :
        :
        : "vs0", "vs1", "vs2", "vs3", "vs4", "vs5", "vs6", "vs7", "vs8", "vs9", "vs10", "vs11", "vs12",
          "vs13", "vs32", "vs33", "vs34", "vs35", "vs36", "vs37", "vs38", "vs39", "vs40", "vs41", "vs42",
          "vs43", "vs44", "vs45", "vs46", "vs47", "vs48", "vs49", "vs50", "vs51", "r0");
    floating_status_set(3);
    __asm__ volatile("li 0, -1; mtctr 0; mtxer 0; mtcrf 0x83, 0; li 5, -1; li 6, -1; li 7, -1; li 8, -1; "
                     "li 9, -1; li 10, -1; li 11, -1; li 12, -1"
                     :
                     :
                     : "r0", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "ctr", "xer", "cr0", "cr6",
                       "cr7");
    user->uc_mcontext.gp_regs[NIP] += 4;
}

/* Sets all general registers except r1, r2 and r13 from given[n], then CTR, LR, XER and CR from given[32] on,
 * traps, and stores them in `found`: void registers_pass(const uint64_t *given, uint64_t *found). */
__asm__(".text\n"
        ".balign 16\n"
        ".type registers_pass, @function\n"
        "registers_pass:\n"
        "mflr 0; std 0, 16(1); mfcr 0; stw 0, 8(1); stdu 1, -1024(1)\n"
        ".set n, 14; .rept 18; std n, 64 + 8 * n(1); .set n, n + 1; .endr\n"
        "std 4, 336(1); std 2, 24(1)\n"
        "ld 0, 256(3); mtctr 0; ld 0, 264(3); mtlr 0; ld 0, 272(3); mtxer 0; ld 0, 280(3); mtcr 0\n"
        "ld 0, 0(3)\n"
        ".set n, 4; .rept 9; ld n, 8 * n(3); .set n, n + 1; .endr\n"
        ".set n, 14; .rept 18; ld n, 8 * n(3); .set n, n + 1; .endr\n"
        "ld 3, 24(3)\n"
        "trap\n"
        "std 0, 512(1)\n"
        ".set n, 3; .rept 10; std n, 512 + 8 * n(1); .set n, n + 1; .endr\n"
        ".set n, 14; .rept 18; std n, 512 + 8 * n(1); .set n, n + 1; .endr\n"
        "mfctr 0; std 0, 768(1); mflr 0; std 0, 776(1); mfxer 0; std 0, 784(1); mfcr 0; std 0, 792(1)\n"
        "ld 2, 24(1); ld 4, 336(1); li 5, 36; mtctr 5; addi 5, 1, 504; addi 4, 4, -8\n"
        "1: ldu 0, 8(5); stdu 0, 8(4); bdnz 1b\n"
        ".set n, 14; .rept 18; ld n, 64 + 8 * n(1); .set n, n + 1; .endr\n"
        "addi 1, 1, 1024; ld 0, 16(1); mtlr 0; lwz 0, 8(1); mtcr 0; blr\n"
        ".size registers_pass, . - registers_pass\n");
void registers_pass(const uint64_t *given, uint64_t *found);

static void general_registers_stay(void)
{
    uint64_t given[36], found[36];

    install(SIGTRAP, clobber, 0);
    runs = 0;
    for (unsigned i = 0; i < 36; i++)
        given[i] = 0x0123456789abcdefUL * (i + 1);
    given[34] = 0xa0000000; /* XER has few bits */
    given[35] = 0x81248124;
    registers_pass(given, found);
    PROMISE(runs == 1, "%d", (int)runs);
    for (unsigned i = 0; i < 36; i++)
        PROMISE(i == 1 || i == 2 || i == 13 || given[i] == found[i], "register %u: %lx, then %lx", i,
                given[i], found[i]);
    signal(SIGTRAP, SIG_DFL);
}

#define STATUS     0x02000082UL /* inexact has been raised, invalid is enabled, towards infinity */
#define SATURATION 1UL

static void handlers_leave_every_register_as_it_was(void)
{
    static const vector_register status_before = { { SATURATION, 0 } };
    static vector_register status_after;
    uint64_t mask = 0x12345678, floating;

    for (unsigned i = 0; i < 64; i++)
        image[i] = (vector_register){ { 0x1122334455667788UL * (i + 1), ~0x0807060504030201UL * (i + 3) } };
    install(SIGTRAP, clobber, 0);
    runs = 0;
    floating_status_set(STATUS);
    __asm__ volatile(
        "lxv 32, 0(%[status]); mtvscr 0; mtspr 256, %[mask];"
        ".set n, 0; .rept 64; lxv n, 16 * n(%[from]); .set n, n + 1; .endr; "
        "trap; "
        ".set n, 0; .rept 64; stxv n, 16 * n(%[to]); .set n, n + 1; .endr; "
        "mfspr %[mask], 256; mfvscr 0; stxv 32, 0(%[status_after])"
        : [mask] "+r"(mask)
        : [from] "b"(image), [to] "b"(after), [status] "b"(&status_before), [status_after] "b"(&status_after)
        : "memory", EVERY_VECTOR);
    floating = floating_status();
    floating_status_set(0);
    PROMISE(runs == 1 && seen_at.handler_status == 0, "%d %lx", (int)runs, seen_at.handler_status);
    for (unsigned i = 0; i < 64; i++)
        PROMISE(memcmp(&image[i], &after[i], sizeof(image[i])) == 0, "VSR %u", i);
    PROMISE((floating & 0xff) == (STATUS & 0xff) && (floating & STATUS) == STATUS, "FPSCR %lx", floating);
    PROMISE(mask == 0x12345678, "VRSAVE %lx", mask);
    PROMISE(status_after.half[0] == SATURATION, "VSCR %lx", status_after.half[0]);
    signal(SIGTRAP, SIG_DFL);
}

/* A handler may change what it returns to. */
extern char skipped_to[];

static void redirect(int signal, siginfo_t *info, void *context)
{
    ucontext_t *user = context;

    note(signal, info, context);
    user->uc_mcontext.gp_regs[NIP] = (unsigned long)skipped_to;
    user->uc_mcontext.gp_regs[30] = 0x123456789abcdef;
    user->uc_mcontext.gp_regs[CONDITION] ^= 0x80000000;
    user->uc_mcontext.gp_regs[MSR] = 0x9000000000000033; /* a kernel's, which is not the program's to have */
    sigaddset(&user->uc_sigmask, SIGUSR2);
}

static void handlers_may_change_what_they_return_to(void)
{
    register uint64_t r30 __asm__("r30") = 0;
    uint64_t before, condition, read;
    sigset_t mask;

    install(SIGILL, redirect, 0);
    runs = 0;
    __asm__ volatile("mfcr %1; .long 0; li 30, 1; skipped_to: mfcr %2"
                     : "+r"(r30), "=&r"(before), "=&r"(condition)
                     :
                     : "memory");
    read = r30;
    PROMISE(runs == 1 && read == 0x123456789abcdef, "runs %d r30 %lx", (int)runs, read);
    PROMISE((before ^ condition) == 0x80000000, "condition %lx, then %lx", before, condition);
    sigprocmask(SIG_SETMASK, NULL, &mask);
    PROMISE(sigismember(&mask, SIGUSR2) == 1, "the mask of the context was not taken");
    sigemptyset(&mask);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    install(SIGILL, note_and_jump_out, 0);
    PROMISE(FAULT(__asm__ volatile("mfmsr 0"
                                   :
                                   :
                                   : "r0")) == 1 &&
                seen.si_code == ILL_PRVOPC && (seen_at.msr & 0x4000),
            "the program has got rights: runs %d, msr %lx", (int)runs, seen_at.msr);
    signal(SIGILL, SIG_DFL);
}

/* ---- The frame ---- */

static void frames_are_linux_s(void)
{
    uint64_t stack, near, far;

    install(SIGTRAP, clobber, 0);
    for (int shift = 0; shift < 16; shift += 4) { /* a stack that is not aligned */
        runs = 0;
        __asm__ volatile("mr 30, 1; subf 1, %[shift], 1; addi 1, 1, -1024; li 0, 77; std 0, -288(1); "
                         "std 0, -512(1); trap; mr %[stack], 1; ld %[near], -288(1); ld %[far], -512(1); "
                         "mr 1, 30"
                         : [stack] "=&r"(stack), [near] "=&r"(near), [far] "=&r"(far)
                         : [shift] "r"((long)shift)
                         : "r0", "r30", "memory");
        PROMISE(runs == 1 && near == 77 && far == 77, "runs %d, below the stack %lu %lu", (int)runs, near,
                far);
        PROMISE(stack == seen_at.r1, "%lx %lx", stack, seen_at.r1);
        PROMISE(handler_stack % 16 == 0, "frame address %lx", handler_stack);
        PROMISE(seen_at.handler_chain == seen_at.r1, "the chain of frames: %lx, then %lx",
                seen_at.handler_chain, seen_at.r1);
    }
    signal(SIGTRAP, SIG_DFL);
}

static vector_register kept[32 + 2 + 16];
static uint64_t kept_floating[33], kept_head[8];
static long reserve_at, general_at;

static void note_state(int signal, siginfo_t *info, void *context)
{
    ucontext_t *user = context;
    const uint64_t *machine = (const uint64_t *)&user->uc_mcontext;

    clobber(signal, info, context);
    memcpy(kept_head, machine, sizeof(kept_head));
    memcpy(kept_floating, user->uc_mcontext.fp_regs, sizeof(kept_floating));
    memcpy(kept, user->uc_mcontext.v_regs, sizeof(kept));
    reserve_at = (char *)user->uc_mcontext.v_regs - (char *)&user->uc_mcontext;
    general_at = (char *)kept_head[7] - (char *)&user->uc_mcontext;
}

static void vector_state_stands_where_linux_puts_it(void)
{
    install(SIGTRAP, note_state, 0);
    __asm__ volatile("lxv 1, 16(%[from]); lxv 31, 496(%[from]); lxv 33, 528(%[from]); lxv 63, 1008(%[from]); "
                     "trap"
                     :
                     : [from] "b"(image)
                     : "vs1", "vs31", "vs33", "vs63", "memory");
    PROMISE(reserve_at == 64 + 48 * 8 + 33 * 8 + 16 && general_at == 64, "v_regs %ld, regs %ld", reserve_at,
            general_at);
    PROMISE((int)kept_head[4] == SIGTRAP && kept_head[5] == (uint64_t)note_state, "signal %d handler %lx",
            (int)kept_head[4], kept_head[5]);
    PROMISE(kept_floating[1] == image[1].half[1] && kept_floating[31] == image[31].half[1], "%lx %lx",
            kept_floating[1], kept_floating[31]);
    PROMISE(memcmp(&kept[1], &image[33], 16) == 0 && memcmp(&kept[31], &image[63], 16) == 0, "VMX");
    PROMISE(kept[34].half[1] == image[1].half[0] && kept[34 + 15].half[1] == image[31].half[0],
            "lower halves %lx %lx", kept[34].half[1], kept[34 + 15].half[1]);
    signal(SIGTRAP, SIG_DFL);
}

#endif
