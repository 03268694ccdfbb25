/* SPDX-License-Identifier: BSD-2-Clause */
/* signalfd.c: signals that are read. */
#include "conform.h"

#include <sys/epoll.h>
#include <sys/signalfd.h>

static uint64_t bit(int signal)
{
    return 1UL << (signal - 1);
}

static void *later_kill(void *unused)
{
    (void)unused;
    rest_ms(3);
    sys(SYS_kill, sys(SYS_getpid), SIGUSR1);
    return NULL;
}

static void *own_read(void *file)
{
    struct signalfd_siginfo info;

    result("another thread does not get it", sys(SYS_read, *(int *)file, &info, sizeof(info)));
    return NULL;
}

/* Signals of the process wake who waits; one of a thread is only its own. */
static void threads(int file)
{
    struct pollfd ready = { file, POLLIN, 0 };
    struct signalfd_siginfo info;
    pthread_t thread;

    pthread_create(&thread, NULL, later_kill, NULL);
    result("polled until it is sent", sys(SYS_poll, &ready, 1, -1));
    sys(SYS_read, file, &info, sizeof(info));
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, later_kill, NULL);
    sys(SYS_fcntl, file, F_SETFL, 0);
    result("read until it is sent", sys(SYS_read, file, &info, sizeof(info)));
    sys(SYS_fcntl, file, F_SETFL, O_NONBLOCK);
    pthread_join(thread, NULL);
    sys(SYS_tgkill, sys(SYS_getpid), sys(SYS_gettid), SIGUSR1);
    pthread_create(&thread, NULL, own_read, &file);
    pthread_join(thread, NULL);
    result("this one does", sys(SYS_read, file, &info, sizeof(info)));
    holds("by tkill", info.ssi_code == SI_TKILL);
}

static void queued(int file)
{
    struct signalfd_siginfo info[4];
    siginfo_t sent = { .si_signo = SIGRTMIN + 2, .si_code = SI_QUEUE };
    uint64_t mask = bit(SIGUSR1) | bit(SIGRTMIN + 2);

    result("another set", sys(SYS_signalfd4, file, &mask, SIGSET_BYTES, 0) == file ? 0 : -EBADF);
    sys(SYS_rt_sigprocmask, SIG_BLOCK, &mask, NULL, SIGSET_BYTES);
    for (int value = 5; value < 8; value++) {
        sent.si_value.sival_int = value;
        sent.si_pid = 77;
        sent.si_uid = 78;
        sys(SYS_rt_sigqueueinfo, sys(SYS_getpid), SIGRTMIN + 2, &sent);
    }
    result("two at once", sys(SYS_read, file, info, 2 * sizeof(*info) + 5));
    holds("in their order", info[0].ssi_int == 5 && info[1].ssi_int == 6);
    result("from", info[0].ssi_pid * 100 + info[0].ssi_uid);
    holds("by sigqueue", info[0].ssi_code == SI_QUEUE);
    result("the last", sys(SYS_read, file, info, sizeof(info)));
}

static void edges(int file)
{
    int set = (int)sys(SYS_epoll_create1, 0);
    struct epoll_event event = { .events = EPOLLIN | EPOLLET };
    struct signalfd_siginfo info;

    sys(SYS_epoll_ctl, set, EPOLL_CTL_ADD, file, &event);
    result("no edge", sys(SYS_epoll_pwait, set, &event, 1, 0, NULL, SIGSET_BYTES));
    sys(SYS_kill, sys(SYS_getpid), SIGUSR1);
    result("an edge", sys(SYS_epoll_pwait, set, &event, 1, -1, NULL, SIGSET_BYTES));
    result("no other", sys(SYS_epoll_pwait, set, &event, 1, 0, NULL, SIGSET_BYTES));
    sys(SYS_read, file, &info, sizeof(info));
    sys(SYS_kill, sys(SYS_getpid), SIGUSR1);
    result("the next", sys(SYS_epoll_pwait, set, &event, 1, -1, NULL, SIGSET_BYTES));
    sys(SYS_read, file, &info, sizeof(info));
}

CONFORM(signalfd)
{
    uint64_t mask = bit(SIGUSR1) | bit(SIGKILL);
    struct signalfd_siginfo info;
    char name[64] = "";
    int file;

    sys(SYS_rt_sigprocmask, SIG_BLOCK, &mask, NULL, SIGSET_BYTES);
    file = (int)sys(SYS_signalfd4, -1, &mask, SIGSET_BYTES, SFD_NONBLOCK);
    result("made", file);
    if (file < 0)
        return;
    struct pollfd ready = { file, POLLIN | POLLOUT, 0 };
    result("none pending", sys(SYS_read, file, &info, sizeof(info)));
    result("polled", sys(SYS_poll, &ready, 1, 0));
    sys(SYS_kill, sys(SYS_getpid), SIGUSR1);
    result("pending, polled", sys(SYS_poll, &ready, 1, 0));
    result("for", ready.revents);
    result("less than one", sys(SYS_read, file, &info, sizeof(info) - 1));
    result("read", sys(SYS_read, file, &info, sizeof(info)));
    result("the signal", info.ssi_signo);
    result("its code", info.ssi_code);
    holds("its sender", info.ssi_pid == (uint32_t)sys(SYS_getpid) && info.ssi_uid == 0);
    result("taken", sys(SYS_read, file, &info, sizeof(info)));
    threads(file);
    edges(file);
    queued(file);
    result("write", sys(SYS_write, file, &info, sizeof(info)));
    sys(SYS_readlink, "/proc/self/fd/3", name, sizeof(name) - 1);
    text("where the link leads", name);
    result("a size that is none", sys(SYS_signalfd4, -1, &mask, 4, 0));
    result("a set at nobody's", sys(SYS_signalfd4, -1, NOWHERE, SIGSET_BYTES, 0));
    result("no such flag", sys(SYS_signalfd4, -1, &mask, SIGSET_BYTES, 1));
    result("of what is none", sys(SYS_signalfd4, 0, &mask, SIGSET_BYTES, 0));
    result("a closed one", sys(SYS_signalfd4, 40, &mask, SIGSET_BYTES, 0));
    holds("signalfd", sys(SYS_signalfd, -1, &mask, SIGSET_BYTES) > 0);
}
