/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * promise.h: how a test program reports its checks. PROMISE(condition, …) prints a line to standard error if
 * the condition is false. promises_kept() returns the status for main, and prints the number of promises to
 * standard output. IS(call, expected) and FAILS(call, error) are promises about a call of the C library.
 */
#ifndef PROMISE_H
#define PROMISE_H

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static unsigned promises_made, promises_broken;

#define PROMISE(condition, ...)                                                     \
    do {                                                                            \
        promises_made++;                                                            \
        if (!(condition)) {                                                         \
            promises_broken++;                                                      \
            fprintf(stderr, "%s:%d: broken: %s: ", __FILE__, __LINE__, #condition); \
            fprintf(stderr, __VA_ARGS__);                                           \
            fputc('\n', stderr);                                                    \
        }                                                                           \
    } while (0)

#define IS(call, expected) PROMISE((call) == (expected), "errno %d (%s)", errno, strerror(errno))
#define FAILS(call, error)                                                                  \
    do {                                                                                    \
        errno = 0;                                                                          \
        PROMISE((call) == -1 && errno == (error), "errno %d (%s)", errno, strerror(errno)); \
    } while (0)

static inline int promises_kept(void)
{
    char line[64];
    int bytes = snprintf(line, sizeof(line), "promises: %u, broken: %u\n", promises_made, promises_broken);

    fflush(stdout);
    /* in one piece: several ranks may print it at the same time */
    if (write(1, line, (size_t)bytes) != bytes)
        return 1;
    return promises_broken ? 1 : 0;
}

#endif
