/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vector_ppc64.h: the part of vector.c for POWER: VSX, which has the registers of floating point and of VMX;
 * and a thread's other registers, while another thread runs on its CPU.
 */
#ifndef VECTOR_PPC64_H
#define VECTOR_PPC64_H

#include "vsx_ppc64.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void control_words(void)
{
    uint64_t status[2] __attribute__((aligned(16)));

    __asm__ volatile("mfvscr 0; stxv 32, 0(%0)" : : "b"(status) : "memory", "vs32");
    PROMISE((floating_status() & 0xff) == 0, "FPSCR %lx", floating_status());
    PROMISE((status[0] & ~0x10000UL) == 0, "VSCR %lx", status[0]);
}

struct registers {
    uint64_t vector[64][2];
    uint64_t target, mask; /* TAR, VRSAVE */
} __attribute__((aligned(16)));

/* Makes a system call with all registers full; stores their contents after it in `found`. */
static long call_between(const struct registers *given, struct registers *found, long number, const void *a)
{
    register long r0 __asm__("r0") = number;
    register long r3 __asm__("r3") = (long)a;
    register long r4 __asm__("r4") = 0;
    register const struct registers *from __asm__("r14") = given;
    register struct registers *to __asm__("r15") = found;

    __asm__ volatile("ld 5, 1024(%[from]); mtspr 815, 5; "
                     "ld 5, 1032(%[from]); mtspr 256, 5;"
                     ".set n, 0; .rept 64; lxv n, 16 * n(%[from]); .set n, n + 1; .endr; "
                     "sc; bns+ 1f; neg 3, 3; 1:"
                     ".set n, 0; .rept 64; stxv n, 16 * n(%[to]); .set n, n + 1; .endr; "
                     "mfspr 5, 815; std 5, 1024(%[to]); mfspr 5, 256; "
                     "std 5, 1032(%[to])"
                     : "+r"(r0), "+r"(r3), "+r"(r4)
                     : [from] "b"(from), [to] "b"(to)
                     : "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "cr0", "ctr", "memory",
                       EVERY_VECTOR);
    return r3;
}

static struct registers filled(unsigned seed)
{
    struct registers registers;

    for (unsigned i = 0; i < 64; i++) {
        registers.vector[i][0] = 0x0102030405060708UL * (i + seed);
        registers.vector[i][1] = ~0x1020304050607080UL * (i + seed + 1);
    }
    registers.target = 0x1000 * seed;
    registers.mask = 0x01010101 * seed;
    return registers;
}

static void differences_report(const struct registers *given, const struct registers *found,
                               const char *where)
{
    unsigned wrong = 0;

    for (unsigned i = 0; i < 64; i++)
        wrong += memcmp(given->vector[i], found->vector[i], 16) != 0;
    PROMISE(wrong == 0, "%u vector registers changed %s", wrong, where);
    PROMISE(given->target == found->target && given->mask == found->mask,
            "%s: TAR %lx to %lx, VRSAVE %lx to %lx", where, given->target, found->target, given->mask,
            found->mask);
}

/* Checks registers over access(path) with a path that faults: the kernel takes an exception in between. */
static void registers_kept(void)
{
    const struct registers given = filled(3);
    struct registers found;
    const long result = call_between(&given, &found, SYS_access, (const void *)0x123456789000);

    PROMISE(result == -14, "the call answers EFAULT: %ld", result);
    differences_report(&given, &found, "in a system call");
}

static void *fill_and_yield(void *argument)
{
    const struct registers given = filled((unsigned)(uintptr_t)argument);
    struct registers found;

    for (int i = 0; i < 20; i++) {
        call_between(&given, &found, SYS_sched_yield, NULL);
        differences_report(&given, &found, "while another thread ran");
    }
    return NULL;
}

static void threads_have_their_own(void)
{
    pthread_t threads[3];
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    PROMISE(sched_setaffinity(0, sizeof(one), &one) == 0, "one CPU for all threads");
    for (uintptr_t i = 0; i < 3; i++)
        PROMISE(pthread_create(&threads[i], NULL, fill_and_yield, (void *)(5 + i)) == 0, "a thread");
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

/* Returns the name of the set that was tried. */
static const char *vectors_try(void)
{
    control_words();
    registers_kept();
    threads_have_their_own();
    return "vsx";
}

#endif
