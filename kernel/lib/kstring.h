/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kstring.h: the few functions of C's <string.h> that the kernel has, under their C names and with their C
 * meaning.
 *
 * The compiler itself calls memcpy, memmove, memset and memcmp, so the kernel must define them in any case.
 * Plain C in kernel/lib/kstring.c; an architecture's faster way to zero large blocks is
 * arch_zero (arch.h). Host tests link libc's. Pure functions; any context.
 */
#ifndef TACET_KSTRING_H
#define TACET_KSTRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *left, const void *right, size_t bytes);

size_t strlen(const char *text);
size_t strnlen(const char *text, size_t limit);
int strcmp(const char *left, const char *right);
int strncmp(const char *left, const char *right, size_t limit);

#endif
