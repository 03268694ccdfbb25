/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * raw_call.h: a system call as such, without the C library: any number, any six arguments; the answer is the
 * kernel's, an error a negative errno.
 */
#ifndef RAW_CALL_H
#define RAW_CALL_H

#include <stdint.h>

#if defined(__x86_64__)

static inline long bare(long number, const uint64_t *a)
{
    register uint64_t r10 __asm__("r10") = a[3];
    register uint64_t r8 __asm__("r8") = a[4];
    register uint64_t r9 __asm__("r9") = a[5];
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#elif defined(__powerpc64__)

/* An error comes as a positive errno, with the bit of summary overflow set [Power Architecture 64-bit ELF V2
 * ABI's supplement for Linux]. */
static inline long bare(long number, const uint64_t *a)
{
    register long r0 __asm__("r0") = number;
    register uint64_t r3 __asm__("r3") = a[0];
    register uint64_t r4 __asm__("r4") = a[1];
    register uint64_t r5 __asm__("r5") = a[2];
    register uint64_t r6 __asm__("r6") = a[3];
    register uint64_t r7 __asm__("r7") = a[4];
    register uint64_t r8 __asm__("r8") = a[5];

    __asm__ volatile("sc\n\tbns+ 1f\n\tneg 3, 3\n1:"
                     : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6), "+r"(r7), "+r"(r8)
                     :
                     : "r9", "r10", "r11", "r12", "cr0", "ctr", "xer", "memory");
    return (long)r3;
}

#endif

/* The same with three arguments. */
static inline long bare_call(long number, uint64_t a, uint64_t b, uint64_t c)
{
    return bare(number, (const uint64_t[6]){ a, b, c });
}

#endif
