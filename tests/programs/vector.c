/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vector.c: vector instructions work, with the registers that the CPU offers; system calls and faults inside
 * them leave the registers alone. Prints which set was tried.
 */
#define _GNU_SOURCE
#include "promise.h"

#if defined(__x86_64__)
#include "vector_x86_64.h"
#else
#include "vector_ppc64.h"
#endif

int main(void)
{
    printf("set: %s\n", vectors_try());
    return promises_kept();
}
