/* SPDX-License-Identifier: BSD-2-Clause */
/* pipe_threads.c: a reader waits for a writer, both ways. */
#include "conform.h"

static int ends[2];

static void *late_writer(void *unused)
{
    rest_ms(5);
    sys(SYS_write, ends[1], "late", 4);
    return unused;
}

static void *late_reader(void *unused)
{
    static char much[65536];

    rest_ms(5);
    for (int i = 0; i < 2; i++)
        sys(SYS_read, ends[0], much, sizeof(much));
    return unused;
}

CONFORM(pipe_threads)
{
    static char bytes[100000];
    pthread_t other;

    if (sys(SYS_pipe2, ends, 0) != 0 || pthread_create(&other, NULL, late_writer, NULL) != 0) {
        holds("a pipe and a thread", false);
        return;
    }
    result("a read waits for the write", sys(SYS_read, ends[0], bytes, 16));
    pthread_join(other, NULL);
    pthread_create(&other, NULL, late_reader, NULL);
    result("a write waits until all is in", sys(SYS_write, ends[1], bytes, sizeof(bytes)));
    sys(SYS_close, ends[1]);
    pthread_join(other, NULL);
}
