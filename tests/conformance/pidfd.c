/* SPDX-License-Identifier: BSD-2-Clause */
/* pidfd.c: a process that a descriptor stands for. */
#include "conform.h"

#include <sys/wait.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif

static volatile sig_atomic_t got;
static volatile int got_value;

static void handler(int signal, siginfo_t *info, void *context)
{
    (void)context;
    got = signal;
    got_value = info->si_value.sival_int;
}

CONFORM(pidfd)
{
    struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
    long own = sys(SYS_getpid);
    int file = (int)sys(SYS_pidfd_open, own, 0);
    struct pollfd ready = { file, POLLIN, 0 };
    siginfo_t info = { .si_signo = SIGUSR1, .si_code = SI_QUEUE };
    char name[64] = "", byte;

    result("made", file);
    if (file < 0)
        return;
    result("closed on exec", sys(SYS_fcntl, file, F_GETFD));
    result("its flags", sys(SYS_fcntl, file, F_GETFL) & ~O_LARGEFILE);
    result("it has not ended", sys(SYS_poll, &ready, 1, 2));
    result("read", sys(SYS_read, file, &byte, 1));
    sigaction(SIGUSR1, &action, NULL);
    result("no signal", sys(SYS_pidfd_send_signal, file, 0, NULL, 0));
    result("a signal", sys(SYS_pidfd_send_signal, file, SIGUSR1, NULL, 0));
    result("which came", got);
    info.si_value.sival_int = 42;
    result("one with a value", sys(SYS_pidfd_send_signal, file, SIGUSR1, &info, 0));
    result("that came, too", got_value);
    result("another one than it says", sys(SYS_pidfd_send_signal, file, SIGUSR2, &info, 0));
    result("no such signal", sys(SYS_pidfd_send_signal, file, 65, NULL, 0));
    result("one at nobody's", sys(SYS_pidfd_send_signal, file, SIGUSR1, NOWHERE, 0));
    result("no such flag of it", sys(SYS_pidfd_send_signal, file, SIGUSR1, NULL, 0x100));
    result("to what is none", sys(SYS_pidfd_send_signal, 0, SIGUSR1, NULL, 0));
    result("to a closed one", sys(SYS_pidfd_send_signal, 40, SIGUSR1, NULL, 0));
    result("waited for", sys(SYS_waitid, 3, file, &info, WEXITED, NULL));
    result("what is none, waited for", sys(SYS_waitid, 3, 0, &info, WEXITED, NULL));
    sys(SYS_readlink, "/proc/self/fd/3", name, sizeof(name) - 1);
    text("where the link leads", name);
    result("no such flag", sys(SYS_pidfd_open, own, 1));
    result("process 0", sys(SYS_pidfd_open, 0, 0));
    result("process -1", sys(SYS_pidfd_open, -1, 0));
    result("no such process", sys(SYS_pidfd_open, 4194303, 0));
    result("one that does not wait",
           sys(SYS_fcntl, sys(SYS_pidfd_open, own, O_NONBLOCK), F_GETFL) & O_NONBLOCK ? 1 : 0);
}
