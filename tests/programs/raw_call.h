/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * raw_call.h: a system call as such, without the C library: any number, any six arguments; the answer is the
 * kernel's.
 */
#ifndef RAW_CALL_H
#define RAW_CALL_H

#include <stdint.h>

static long bare(long number, const uint64_t *a)
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

#endif
