/* SPDX-License-Identifier: BSD-2-Clause */
/* sysv.h: what the tests of System V's objects share. */
#ifndef SYSV_H
#define SYSV_H

#include "conform.h"

#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

/* A key of the test's own. */
#define KEY(n) (0x7ac37000 + (n))

#ifndef SHM_EXEC
#define SHM_EXEC 0100000
#endif

/* semop(2) is not among the direct calls of powerpc. */
static inline long sem_operate(long id, struct sembuf *operations, size_t count, const struct timespec *time)
{
    return sys(SYS_semtimedop, id, operations, count, time);
}

static inline long sem_add(long id, int number, int change, int flags)
{
    struct sembuf operation = { (unsigned short)number, (short)change, (short)flags };

    return sem_operate(id, &operation, 1, NULL);
}

/* The number at a place of a file below /proc/sys; 0 is the first. */
static inline unsigned long limit_in(const char *path, unsigned at)
{
    char words[100] = "", *word = words;
    long file = sys(SYS_openat, AT_FDCWD, path, O_RDONLY);

    sys(SYS_read, file, words, sizeof(words) - 1);
    sys(SYS_close, file);
    while (at-- > 0)
        strtoul(word, &word, 10);
    return strtoul(word, NULL, 10);
}

#endif
