/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * promise.h: how a test program tells what held: PROMISE(condition, …) prints a line to standard error where it did not, promises_kept() is
 * the status to return from main, and says on standard output how many there were.
 */
#ifndef PROMISE_H
#define PROMISE_H

#include <stdio.h>

static unsigned promises_made, promises_broken;

#define PROMISE(condition, ...)                                                                                                        \
    do {                                                                                                                               \
        promises_made++;                                                                                                               \
        if (!(condition)) {                                                                                                            \
            promises_broken++;                                                                                                         \
            fprintf(stderr, "%s:%d: broken: %s: ", __FILE__, __LINE__, #condition);                                                    \
            fprintf(stderr, __VA_ARGS__);                                                                                              \
            fputc('\n', stderr);                                                                                                       \
        }                                                                                                                              \
    } while (0)

static inline int promises_kept(void)
{
    printf("promises: %u, broken: %u\n", promises_made, promises_broken);
    return promises_broken ? 1 : 0;
}

#endif
