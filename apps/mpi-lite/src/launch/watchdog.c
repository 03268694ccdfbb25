/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * watchdog.c: a process that watches a rank, for launchers that ignore it when a rank ends early, as srun
 * does without --kill-on-bad-exit: the other ranks would wait for it for ever. It sleeps in a read of a pipe
 * whose other end only the rank holds (and, until they exec, processes that it has forked). If the rank ends
 * in any way without watchdog_end, the watchdog prints its name and makes the launcher end the job.
 *
 * It is a child that sends no signal when it ends and that the program's wait does not see. It runs only
 * system calls, on a copy of the rank's memory of which it changes its stack alone. If no process can be
 * made, the rank continues without a watchdog.
 *
 * Runs at MPI_Init, and at MPI_Finalize or MPI_Abort, under the lock.
 */
#define _GNU_SOURCE
#include "launch/pmi_protocol.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436 /* the same on all architectures; an older Linux refuses it */
#endif

static int done_fd = -1; /* the rank's end of the pipe */
static pid_t watchdog;

static void all_write(int fd, const char *text, size_t bytes)
{
    while (bytes) {
        ssize_t written = write(fd, text, bytes);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return; /* no reader is left */
        text += written;
        bytes -= (size_t)written;
    }
}

/* Closes all other descriptors, so that the rank's files and connections end with the rank. Without the
 * system call, they stay open here as long as the rank lives. */
static void others_close(int kept, int kept_too)
{
    int low = kept < kept_too ? kept : kept_too, high = kept < kept_too ? kept_too : kept;

    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    if (low > STDERR_FILENO + 1)
        syscall(SYS_close_range, STDERR_FILENO + 1, low - 1, 0);
    if (high > low + 1)
        syscall(SYS_close_range, low + 1, high - 1, 0);
    syscall(SYS_close_range, high + 1, ~0u, 0);
}

/* Waits for the rank's end. Blocks all signals: those sent to the whole process group are for the rank, which
 * may end or not. */
static _Noreturn void watch(int fd, const char *say, const char *report, size_t report_bytes)
{
    sigset_t all;
    char byte;
    ssize_t bytes;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_NAME, "mpi-watchdog");
    close(done_fd);
    others_close(fd, wire_fd);
    do
        bytes = read(fd, &byte, 1);
    while (bytes < 0 && errno == EINTR);
    if (bytes == 0) {
        all_write(STDERR_FILENO, say, strlen(say));
        all_write(wire_fd, report, report_bytes);
    }
    _exit(0);
}

void watchdog_begin(const char *say, const char *report, size_t report_bytes)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC))
        return;
    done_fd = ends[1];
    long child = syscall(SYS_clone, 0, 0, 0, 0, 0); /* exit signal 0 */
    if (child == 0)
        watch(ends[0], say, report, report_bytes);
    close(ends[0]);
    watchdog = (pid_t)child;
    if (child < 0)
        watchdog_end();
}

void watchdog_end(void)
{
    const char byte = 0;

    if (done_fd < 0)
        return;
    all_write(done_fd, &byte, 1);
    close(done_fd);
    done_fd = -1;
    if (watchdog > 0)
        while (waitpid(watchdog, NULL, __WALL) < 0 && errno == EINTR)
            ;
}
