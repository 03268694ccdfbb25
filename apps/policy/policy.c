/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy.c: starts a program in a scheduling class, for comparisons on Linux: the benchmark as SCHED_FIFO,
 * which no daemon preempts [Tsafrir05 §3.2, Table 2], or a daemon as SCHED_IDLE, which preempts no other
 * program [Betti09 §VI-B].
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Above the default of the kernel's own real-time threads (50). */
#define FIFO_PRIORITY 80

static const struct {
    const char *name;
    int policy, priority;
} classes[] = {
    { "other", SCHED_OTHER, 0 },
    { "fifo", SCHED_FIFO, FIFO_PRIORITY },
    { "idle", SCHED_IDLE, 0 },
};

int main(int count, char **words)
{
    static const char usage[] =
        "usage: policy CLASS PROGRAM [ARGUMENT...]\n"
        "\n"
        "Starts PROGRAM in a scheduling class: other, fifo (which daemons cannot preempt), or idle.\n";

    if (count == 2 && !strcmp(words[1], "-h"))
        return fputs(usage, stdout) < 0;
    if (count < 3)
        return fputs(usage, stderr), 2;
    for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
        const struct sched_param param = { .sched_priority = classes[i].priority };

        if (strcmp(words[1], classes[i].name))
            continue;
        /* A system call, as musl has no such function for a process. */
        if (syscall(SYS_sched_setscheduler, 0, classes[i].policy, &param)) {
            fprintf(stderr, "policy: class %s: %s\n", words[1], strerror(errno));
            return 2;
        }
        execv(words[2], words + 2);
        fprintf(stderr, "policy: %s: %s; give the path of a program\n", words[2], strerror(errno));
        return 2;
    }
    fprintf(stderr, "policy: there is no class %s; give other, fifo or idle\n", words[1]);
    return 2;
}
