/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * promise.h: how a test program reports what held: PROMISE(condition, …) prints a line to standard error
 * where it did not, promises_kept() is the status to return from main, and says on standard output how many
 * there were. IS(call, expected) and FAILS(call, error) are promises of what a call of the C library answers.
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
