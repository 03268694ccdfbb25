/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signals_x86_64.h: the part of signals.c that is about registers and instructions of x86_64.
 */
#ifndef SIGNALS_X86_64_H
#define SIGNALS_X86_64_H

#include <cpuid.h>

#define TRAP_FLAG      0x100L
#define DIRECTION_FLAG 0x400L
#define KERNEL_ADDRESS 0xffffffff80100000UL
#define NON_CANONICAL  0x0000900000000000UL

static struct { /* of the machine context */
    long long rip, rsp, trap, error, address, flags, handler_flags;
    uint64_t context;
} seen_at;

static void note(int signal, siginfo_t *info, void *context)
{
    const ucontext_t *user = context;

    (void)signal;
    __asm__ volatile("pushfq; popq %0" : "=r"(seen_at.handler_flags));
    seen = *info;
    seen_at.rip = user->uc_mcontext.gregs[REG_RIP];
    seen_at.rsp = user->uc_mcontext.gregs[REG_RSP];
    seen_at.trap = user->uc_mcontext.gregs[REG_TRAPNO];
    seen_at.error = user->uc_mcontext.gregs[REG_ERR];
    seen_at.address = user->uc_mcontext.gregs[REG_CR2];
    seen_at.flags = user->uc_mcontext.gregs[REG_EFL];
    seen_at.context = (uint64_t)context;
    handler_stack = (uint64_t)__builtin_frame_address(0);
    runs++;
}

/* ---- Faults ---- */

extern char at_divide[], at_illegal[], after_breakpoint[], at_halt[];

static void faults_report_what_happened(void)
{
    static const int faulting[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP };
    static const double zero = 0.0, one = 1.0, tiny = 1e-308, huge = 1e308;
    volatile char *volatile low = (volatile char *)8;
    char *none = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *read_only = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *gone = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    munmap(gone, 4096);
    for (unsigned i = 0; i < sizeof(faulting) / sizeof(faulting[0]); i++)
        install(faulting[i], note_and_jump_out, 0);

/* Whether the page was present depends on when memory is handed out. */
#define SEGMENT_FAULT(where, expected_code, expected_error, ...)                                             \
    PROMISE(FAULT(__VA_ARGS__) == 1 && seen.si_signo == SIGSEGV && seen.si_code == (expected_code) &&        \
                seen.si_addr == (void *)(where) && seen_at.trap == 14 &&                                     \
                (seen_at.error | 1) == ((expected_error) | 1) && (void *)seen_at.address == (void *)(where), \
            "code %d address %p trap %lld error %llx cr2 %llx", seen.si_code, seen.si_addr, seen_at.trap,    \
            seen_at.error, seen_at.address)
    SEGMENT_FAULT(low, SEGV_MAPERR, 4, (void)*low);
    SEGMENT_FAULT(gone, SEGV_MAPERR, 6, *(volatile char *)gone = 1);
    SEGMENT_FAULT(read_only + 7, SEGV_ACCERR, 7, *(volatile char *)(read_only + 7) = 1);
    SEGMENT_FAULT(none + 5, SEGV_ACCERR, 4, (void)*(volatile char *)(none + 5));
    SEGMENT_FAULT(KERNEL_ADDRESS, SEGV_MAPERR, 5, (void)*(volatile char *)KERNEL_ADDRESS);
    SEGMENT_FAULT(read_only, SEGV_ACCERR, 0x15, ((void (*)(void))read_only)());
    PROMISE(seen_at.rip == (long long)read_only, "rip %llx", seen_at.rip);

    PROMISE(FAULT((void)*(volatile char *)NON_CANONICAL) == 1 && seen.si_signo == SIGSEGV &&
                seen.si_code == CODE_BY_KERNEL && !seen.si_addr && seen_at.trap == 13,
            "code %d address %p trap %lld", seen.si_code, seen.si_addr, seen_at.trap);
    PROMISE(FAULT(__asm__ volatile("at_halt: hlt")) == 1 && seen.si_signo == SIGSEGV &&
                seen.si_code == CODE_BY_KERNEL && seen_at.rip == (long long)at_halt,
            "code %d", seen.si_code);
    PROMISE(FAULT(__asm__ volatile("at_divide: idivq %0"
                                   :
                                   : "r"(0L), "a"(1L), "d"(0L)
                                   : "cc")) == 1 &&
                seen.si_signo == SIGFPE && seen.si_code == FPE_INTDIV && seen.si_addr == at_divide &&
                seen_at.rip == (long long)at_divide && seen_at.trap == 0,
            "code %d address %p", seen.si_code, seen.si_addr);
    PROMISE(FAULT(__asm__ volatile("at_illegal: ud2")) == 1 && seen.si_signo == SIGILL &&
                seen.si_code == ILL_ILLOPN && seen.si_addr == at_illegal && seen_at.trap == 6,
            "code %d address %p", seen.si_code, seen.si_addr);
    PROMISE(FAULT(__asm__ volatile("int3; after_breakpoint: nop")) == 1 && seen.si_signo == SIGTRAP &&
                seen.si_code == CODE_BY_KERNEL && seen_at.rip == (long long)after_breakpoint &&
                seen_at.trap == 3,
            "code %d rip %llx", seen.si_code, seen_at.rip);
    PROMISE(FAULT(__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq; nop; nop"
                                   :
                                   :
                                   : "cc", "memory")) == 1 &&
                seen.si_signo == SIGTRAP && seen.si_code == TRAP_TRACE &&
                seen.si_addr == (void *)seen_at.rip && (seen_at.flags & TRAP_FLAG) &&
                !(seen_at.handler_flags & TRAP_FLAG),
            "code %d flags %llx", seen.si_code, seen_at.flags);

#define X87(control, expected_code, ...)                                                          \
    PROMISE(FAULT(__asm__ volatile("fninit; fldcw %0"                                             \
                                   :                                                              \
                                   : "m"((const uint16_t){ control }));                           \
                  __VA_ARGS__) == 1 &&                                                            \
                seen.si_signo == SIGFPE && seen.si_code == (expected_code) && seen_at.trap == 16, \
            "code %d trap %lld", seen.si_code, seen_at.trap)
    X87(0x37b, FPE_FLTDIV, __asm__ volatile("fldl %0; fdivl %1; fwait" : : "m"(one), "m"(zero)));
    X87(0x37e, FPE_FLTINV, __asm__ volatile("fldl %0; fdivl %0; fwait" : : "m"(zero)));
    X87(0x377, FPE_FLTOVF, double out; __asm__ volatile("fldl %1; fmull %1; fstpl %0; fwait"
                                                        : "=m"(out)
                                                        : "m"(huge)));
    X87(0x36f, FPE_FLTUND, double out; __asm__ volatile("fldl %1; fmull %1; fstpl %0; fwait"
                                                        : "=m"(out)
                                                        : "m"(tiny)));
    __asm__ volatile("fninit");

    for (unsigned i = 0; i < sizeof(faulting) / sizeof(faulting[0]); i++)
        signal(faulting[i], SIG_DFL);
}

/* ---- What a handler changes: nothing ---- */

#define WIDEST 64 /* bytes of a ZMM register */

static uint8_t before[32][WIDEST], after[32][WIDEST], image[32][WIDEST];
static uint64_t masks_before[8], masks_after[8];
static unsigned width_bytes; /* of the vector registers that there are */

static void clobber(int signal, siginfo_t *info, void *context)
{
    note(signal, info, context);
    if (width_bytes == 64)
        __asm__ volatile("vpternlogd $0xff, %%zmm0, %%zmm0, %%zmm0; vmovdqa64 %%zmm0, %%zmm7; "
                         "vmovdqa64 %%zmm0, %%zmm15; vmovdqa64 %%zmm0, %%zmm31;"
                         "kxnorw %%k0, %%k0, %%k1; kxnorw %%k0, %%k0, %%k7"
                         :
                         :
                         : "memory");
    else if (width_bytes == 32)
        __asm__ volatile("vzeroall" : : : "memory");
    __asm__ volatile("pcmpeqd %%xmm0, %%xmm0; movdqa %%xmm0, %%xmm7; movdqa %%xmm0, %%xmm15; fninit; "
                     "fldpi; fldpi; fldcw %0; ldmxcsr %1"
                     :
                     : "m"((const uint16_t){ 0x27f }), "m"((const uint32_t){ 0x7f80 })
                     : "memory");
    __asm__ volatile("mov $-1, %%rax; mov %%rax, %%rcx; mov %%rax, %%r8; "
                     "mov %%rax, %%r11"
                     :
                     :
                     : "rax", "rcx", "r8", "r11");
}

__attribute__((target("avx512f,avx512bw"))) static void vectors_512(long pid)
{
#define LOAD(n) "vmovdqu64 " #n "*64(%[from]), %%zmm" #n ";"
#define KEEP(n) "vmovdqu64 %%zmm" #n ", " #n "*64(%[to]);"
#define EACH_16(what)                                                                                 \
    what(0) what(1) what(2) what(3) what(4) what(5) what(6) what(7) what(8) what(9) what(10) what(11) \
        what(12) what(13) what(14) what(15)
#define EACH_32(what)                                                                                  \
    EACH_16(what)                                                                                      \
    what(16) what(17) what(18) what(19) what(20) what(21) what(22) what(23) what(24) what(25) what(26) \
        what(27) what(28) what(29) what(30) what(31)
    long result = SYS_kill;

    // clang-format off
    __asm__ volatile(EACH_32(LOAD)
                     "kmovw %[k], %%k1; kmovw %[k], %%k7; syscall;"
                     EACH_32(KEEP)
                     "kmovw %%k1, %%ecx; mov %%rcx, (%[masks]); kmovw %%k7, %%ecx; mov %%rcx, 8(%[masks])"
                     : "+a"(result)
                     : [from] "r"(image), [to] "r"(after), "D"(pid), "S"((long)SIGUSR1), [k] "r"(0x1235),
                       [masks] "r"(masks_after)
                     : "rcx", "r11", "memory");
    // clang-format on
    masks_before[0] = masks_before[1] = 0x1235;
#undef LOAD
#undef KEEP
}

__attribute__((target("avx"))) static void vectors_256(long pid)
{
#define LOAD(n) "vmovdqu " #n "*64(%[from]), %%ymm" #n ";"
#define KEEP(n) "vmovdqu %%ymm" #n ", " #n "*64(%[to]);"
    long result = SYS_kill;

    __asm__ volatile(EACH_16(LOAD) "syscall;" EACH_16(KEEP)
                     : "+a"(result)
                     : [from] "r"(image), [to] "r"(after), "D"(pid), "S"((long)SIGUSR1)
                     : "rcx", "r11", "memory");
#undef LOAD
#undef KEEP
}

static void vectors_128(long pid)
{
#define LOAD(n) "movdqu " #n "*64(%[from]), %%xmm" #n ";"
#define KEEP(n) "movdqu %%xmm" #n ", " #n "*64(%[to]);"
    long result = SYS_kill;

    __asm__ volatile(EACH_16(LOAD) "syscall;" EACH_16(KEEP)
                     : "+a"(result)
                     : [from] "r"(image), [to] "r"(after), "D"(pid), "S"((long)SIGUSR1)
                     : "rcx", "r11", "memory");
}

static unsigned width_find(void)
{
    unsigned a, b, c, d, low, high;

    __cpuid(1, a, b, c, d);
    if (!(c & bit_OSXSAVE))
        return 16;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    __cpuid_count(7, 0, a, b, c, d);
    return (low & 0xe0) == 0xe0 && (b & bit_AVX512F) ? 64 : low & 4 ? 32 : 16;
}

static void handlers_leave_every_register_as_it_was(void)
{
    unsigned count;
    uint32_t mxcsr = 0x1fa0, mxcsr_after;
    uint16_t control = 0x27f, control_after;
    double stack_top = 0.0;

    width_bytes = width_find();
    count = width_bytes == 64 ? 32 : 16;
    for (unsigned i = 0; i < 32; i++)
        for (unsigned j = 0; j < WIDEST; j++)
            image[i][j] = before[i][j] = (uint8_t)(i * 67 + j * 5 + 1);
    install(SIGUSR1, clobber, 0);
    runs = 0;
    __asm__ volatile("fninit; fldcw %0; fld1; fldl2e; ldmxcsr %1" : : "m"(control), "m"(mxcsr));
    if (width_bytes == 64)
        vectors_512(getpid());
    else if (width_bytes == 32)
        vectors_256(getpid());
    else
        vectors_128(getpid());
    __asm__ volatile("fnstcw %0; stmxcsr %1; fstpl %2; "
                     "fstpl %2"
                     : "=m"(control_after), "=m"(mxcsr_after), "=m"(stack_top));
    __asm__ volatile("fninit; ldmxcsr %0" : : "m"((const uint32_t){ 0x1f80 }));
    PROMISE(runs == 1, "%d", (int)runs);
    for (unsigned i = 0; i < count; i++)
        PROMISE(memcmp(before[i], after[i], width_bytes) == 0, "vector register %u of %u bytes", i,
                width_bytes);
    PROMISE(memcmp(masks_before, masks_after, sizeof(masks_before)) == 0, "mask registers %lx %lx",
            masks_after[0], masks_after[1]);
    PROMISE(control_after == control && mxcsr_after == mxcsr && stack_top == 1.0, "%x %x %g", control_after,
            mxcsr_after, stack_top);
}

static void general_registers_stay(void)
{
    uint64_t given[16];

    install(SIGUSR1, clobber, 0);
    for (unsigned i = 0; i < 16; i++)
        given[i] = 0x1111111111111111UL * (i % 8 + 1);
    /* All but those that the call itself changes, and its arguments; given[8…] takes what they hold
     * afterwards. */
    __asm__ volatile("mov (%%rbx), %%rdx; mov 8(%%rbx), %%r8; mov 16(%%rbx), %%r9; mov 24(%%rbx), %%r10; "
                     "mov 32(%%rbx), %%r12; mov 40(%%rbx), %%r13;"
                     "mov 48(%%rbx), %%r14; mov 56(%%rbx), %%r15; syscall; mov %%rdx, 64(%%rbx); "
                     "mov %%r8, 72(%%rbx); mov %%r9, 80(%%rbx);"
                     "mov %%r10, 88(%%rbx); mov %%r12, 96(%%rbx); mov %%r13, 104(%%rbx); "
                     "mov %%r14, 112(%%rbx); mov %%r15, 120(%%rbx)"
                     :
                     : "b"(given), "D"((long)getpid()), "S"((long)SIGUSR1), "a"((long)SYS_kill)
                     : "memory", "cc", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15");
    PROMISE(memcmp(given, given + 8, 64) == 0, "a register has changed");
}

/* A handler may change what it returns to. */
extern char skipped_to[];

static void redirect(int signal, siginfo_t *info, void *context)
{
    ucontext_t *user = context;

    note(signal, info, context);
    user->uc_mcontext.gregs[REG_RIP] = (long long)skipped_to;
    user->uc_mcontext.gregs[REG_RBX] = 0x123456789abcdef;
    user->uc_mcontext.gregs[REG_EFL] |= 0x3000 | 0x200 | 1; /* I/O privilege is not the program's to have */
    sigaddset(&user->uc_sigmask, SIGUSR2);
}

static void handlers_may_change_what_they_return_to(void)
{
    uint64_t rbx = 0, flags;
    sigset_t mask;

    install(SIGILL, redirect, 0);
    runs = 0;
    __asm__ volatile("ud2; mov $1, %%ebx; skipped_to: pushfq; "
                     "popq %1"
                     : "+b"(rbx), "=r"(flags)
                     :
                     : "cc", "memory");
    PROMISE(runs == 1 && rbx == 0x123456789abcdef, "runs %d rbx %lx", (int)runs, rbx);
    PROMISE((flags & 1) && !(flags & 0x3000), "flags %lx", flags);
    sigprocmask(SIG_SETMASK, NULL, &mask);
    PROMISE(sigismember(&mask, SIGUSR2) == 1, "the mask of the context was not taken");
    sigemptyset(&mask);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    signal(SIGILL, SIG_DFL);
}

/* ---- The frame ---- */

static void frames_are_linux_s(void)
{
    uint64_t rsp;

    install(SIGUSR1, note, 0);
    for (int shift = 0; shift < 16; shift += 4) { /* a stack that is not aligned */
        runs = 0;
        __asm__ volatile("mov %%rsp, %%rbx; sub %[shift], %%rsp; sub $256, %%rsp; movq $77, -8(%%rsp); "
                         "movq $78, -128(%%rsp); std; syscall; cld; "
                         "mov %%rsp, %[rsp]; cmpq $77, -8(%%rsp); jne 1f; cmpq $78, -128(%%rsp); je 2f; "
                         "1: xor %[rsp], %[rsp]; 2: mov %%rbx, %%rsp"
                         : [rsp] "=&r"(rsp)
                         : [shift] "r"((long)shift), "a"((long)SYS_kill), "D"((long)getpid()),
                           "S"((long)SIGUSR1)
                         : "rbx", "rcx", "r11", "memory", "cc");
        PROMISE(runs == 1 && rsp != 0, "the red zone was overwritten, or no handler ran: %d", (int)runs);
        PROMISE(rsp == (uint64_t)seen_at.rsp, "%lx %llx", rsp, seen_at.rsp);
        /* pushed RBP: 16 below the call's alignment */
        PROMISE(handler_stack % 16 == 0, "frame address %lx", handler_stack);
        PROMISE(!(seen_at.handler_flags & DIRECTION_FLAG) && (seen_at.flags & DIRECTION_FLAG), "%llx %llx",
                seen_at.handler_flags, seen_at.flags);
        PROMISE(seen.si_signo == SIGUSR1 && seen.si_code == SI_USER && seen.si_pid == getpid(), "%d %d",
                seen.si_code, seen.si_pid);
    }
}

static struct {
    uint32_t magic, extended, state_bytes, end;
    uint64_t features, address;
} state_note;

static void note_state(int signal, siginfo_t *info, void *context)
{
    const ucontext_t *user = context;
    const char *state = (const char *)user->uc_mcontext.fpregs;

    note(signal, info, context);
    memcpy(&state_note.magic, state + 464, 4);
    memcpy(&state_note.extended, state + 468, 4);
    memcpy(&state_note.features, state + 472, 8);
    memcpy(&state_note.state_bytes, state + 480, 4);
    if (state_note.magic == 0x46505853)
        memcpy(&state_note.end, state + state_note.state_bytes, 4);
    state_note.address = (uint64_t)state;
    PROMISE(user->uc_flags == (state_note.magic ? 7 : 6), "%lx", user->uc_flags);
    PROMISE(user->uc_mcontext.gregs[REG_CSGSFS] >> 48 == 0x1b ||
                user->uc_mcontext.gregs[REG_CSGSFS] >> 48 == 0x2b,
            "%llx", user->uc_mcontext.gregs[REG_CSGSFS]);
}

static void vector_state_stands_where_linux_puts_it(void)
{
    install(SIGUSR1, note_state, 0);
    raise(SIGUSR1);
    PROMISE(state_note.address % 64 == 0, "%lx", state_note.address);
    if (width_bytes == 16)
        return; /* there may be no XSAVE */
    PROMISE(state_note.magic == 0x46505853 && state_note.end == 0x46505845, "%x %x", state_note.magic,
            state_note.end);
    PROMISE((state_note.features & 7) == 7 && state_note.state_bytes >= 832 &&
                state_note.extended == state_note.state_bytes + 4,
            "%lx %u %u", state_note.features, state_note.state_bytes, state_note.extended);
}

#endif
