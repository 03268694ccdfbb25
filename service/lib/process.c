/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process.c: see process.h.
 */
#include "service/lib/process.h"
#include "service/lib/say.h"
#include "service/lib/status.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

void descriptors_prepare(int failed, struct rlimit *before)
{
    int null;

    do {
        null = open("/dev/null", O_RDWR);
        if (null < 0)
            give_up(failed, "/dev/null: %s", strerror(errno));
    } while (null <= STDERR_FILENO);
    close(null);
    if (getrlimit(RLIMIT_NOFILE, before))
        give_up(failed, "cannot read the limit of descriptors: %s", strerror(errno));
    const struct rlimit all = { .rlim_cur = before->rlim_max, .rlim_max = before->rlim_max };
    setrlimit(RLIMIT_NOFILE, &all); /* if this fails, a later open reports it */
}

void descriptors_need(uint32_t ranks, rlim_t needed)
{
    struct rlimit limit;

    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < needed)
        give_up(STATUS_FAILED, "%u ranks need %ju descriptors, and the limit is %ju (ulimit -Hn)", ranks,
                (uintmax_t)needed, (uintmax_t)limit.rlim_cur);
}

void signals_take(struct event_loop *loop, void (*ready)(struct watch *watch, uint32_t events),
                  bool has_children)
{
    static struct watch watch;
    struct sigaction hangup;
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaction(SIGHUP, NULL, &hangup);
    if (hangup.sa_handler != SIG_IGN)
        sigaddset(&signals, SIGHUP);
    if (has_children) {
        sigaddset(&signals, SIGCHLD);
        signal(SIGCHLD, SIG_DFL); /* if it is ignored, children leave no status */
    }
    sigprocmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    watch = (struct watch){ .fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK), .ready = ready };
    watch_set(loop, &watch, EPOLLIN);
}

void child_bind(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(STATUS_FAILED);
}

/* Resets the signals by system calls: ignored signals stay ignored over exec, and the C library refuses two
 * signals that it uses itself. */
void child_begin(pid_t parent, const struct rlimit *descriptors)
{
    const unsigned long by_default[4] = { 0 }; /* the kernel's struct sigaction: SIG_DFL, no flags, no mask */

    child_bind(parent);
    for (int number = 1; number <= 64; number++)
        syscall(SYS_rt_sigaction, number, by_default, NULL, 8);
    setrlimit(RLIMIT_NOFILE, descriptors);
}

void child_unblock(void)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}
