/* SPDX-License-Identifier: BSD-2-Clause */
/* clone.c: a thread by the bare call: its stack, its number reported in two places, its end a wake-up. */
#include "conform.h"

#define THREAD                                                                          \
    (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | \
     CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)

static int parents_word, childs_word;
int conform_clone_sum; /* known to x86's assembler by its name */

/* The new thread's first and last instructions: clone returns 0 on the new stack, where nothing may be relied
 * on but that. */
static long thread_started(void *stack)
{
#if defined(__x86_64__)
    register long r10 __asm__("r10") = (long)&childs_word;
    long value;

    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "lock addl $42, conform_clone_sum(%%rip)\n\t"
                     "mov %[exit], %%eax\n\t"
                     "xor %%edi, %%edi\n\t"
                     "syscall\n"
                     "1:"
                     : "=a"(value)
                     : "a"(SYS_clone), "D"(THREAD), "S"(stack), "d"(&parents_word),
                       "r"(r10), [exit] "i"(SYS_exit)
                     : "rcx", "r11", "memory");
    return value;
#else
    register long r0 __asm__("r0") = SYS_clone;
    register long r3 __asm__("r3") = THREAD;
    register void *r4 __asm__("r4") = stack;
    register int *r5 __asm__("r5") = &parents_word;
    register long r6 __asm__("r6") = 0;
    register int *r7 __asm__("r7") = &childs_word;
    register int *sum __asm__("r14") = &conform_clone_sum;

    __asm__ volatile("sc\n\t"
                     "bns 3f\n\t"
                     "neg 3, 3\n\t"
                     "b 1f\n"
                     "3: cmpdi 3, 0\n\t"
                     "bne 1f\n"
                     "2: lwarx 4, 0, 14\n\t"
                     "addi 4, 4, 42\n\t"
                     "stwcx. 4, 0, 14\n\t"
                     "bne- 2b\n\t"
                     "li 0, %[exit]\n\t"
                     "li 3, 0\n\t"
                     "sc\n"
                     "1:"
                     : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6), "+r"(r7)
                     : "r"(sum), [exit] "i"(SYS_exit)
                     : "r8", "r9", "r10", "r11", "r12", "cr0", "ctr", "xer", "memory");
    return r3;
#endif
}

CONFORM(clone)
{
    static char stack[8192] __attribute__((aligned(16)));
    long thread;

    childs_word = 1;
    thread = thread_started(stack + sizeof(stack));
    holds("a number of its own", thread > 0 && thread != sys(SYS_gettid));
    if (thread > 0) {
        while (__atomic_load_n(&childs_word, __ATOMIC_SEQ_CST) == 1)
            sys(SYS_futex, &childs_word, FUTEX_WAIT, 1, NULL);
        holds("reported to the parent", parents_word == thread);
        result("its word at its end", childs_word);
        result("what it did", conform_clone_sum);
        /* The word may be faster than the kernel is with its end. */
        for (int i = 0; i < 10000 && sys(SYS_tgkill, sys(SYS_getpid), thread, 0) == 0; i++)
            rest_ms(1);
        result("it has ended", sys(SYS_tgkill, sys(SYS_getpid), thread, 0));
    }
    result("CLONE_SIGHAND without CLONE_VM", sys(SYS_clone, CLONE_SIGHAND, 0));
    result("CLONE_THREAD without CLONE_SIGHAND", sys(SYS_clone, CLONE_THREAD | CLONE_VM, 0));
    result("clone3 of no size", sys(SYS_clone3, NULL, 0));
    result("clone3 at nobody's", sys(SYS_clone3, NOWHERE, 64));
    result("clone3 of a size too large", sys(SYS_clone3, stack, 8192 * 2));
}
