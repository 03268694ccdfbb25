/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * suicide.h: the system calls that a program of random calls must leave out, because the right result would
 * end it, block it for ever or destroy its memory. They are recognised by their arguments if possible, else
 * by their numbers. hostile.c and call_fuzz.c share it, so that a new call of the kernel needs only one
 * decision. Neither program tries a call that is left out here, so each row needs a reason.
 *
 * A struct suicide_ground describes the program.
 */
#ifndef SUICIDE_H
#define SUICIDE_H

#include "machine.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct suicide_ground {
    /* numbers below it stay open: the standard streams, and what was opened on purpose */
    uint32_t descriptors_kept;
    bool signals_ignored; /* all that can be are, and blocked: only SIGKILL and SIGSTOP do harm */
    bool threads;         /* there are others in this process */
    /* this time something may be written to the standard streams, which are slow */
    bool words;
    /* A range that may lose its content and rights, or that the kernel has to refuse. */
    bool (*range_is_safe)(uint64_t address, uint64_t bytes);
    /* A time at an address that a wait must not be given: long, or not known. */
    bool (*time_is_long)(uint64_t address);
    /* The same of a struct timeval, whose microseconds may be more than a second. */
    bool (*period_is_long)(uint64_t address);
    /* A name at an address that would be taken for a leak when it is read back. */
    bool (*name_misleads)(uint64_t address);
};

/* Returns whether a wait would be long; without a time these wait for ever. */
static bool wait_is_long(const struct suicide_ground *ground, uint64_t time)
{
    return time == 0 || ground->time_is_long(time);
}

static bool signal_is_fatal(const struct suicide_ground *ground, uint64_t number)
{
    return ground->signals_ignored ? (int)number == SIGKILL || (int)number == SIGSTOP
                                   : (uint32_t)number - 1 < 64;
}

static bool futex_is_suicide(const struct suicide_ground *ground, const uint64_t *a)
{
    switch ((uint32_t)a[1] & ~0x180U) { /* without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME */
    /* FUTEX_WAIT, FUTEX_LOCK_PI, FUTEX_WAIT_BITSET, FUTEX_WAIT_REQUEUE_PI, FUTEX_LOCK_PI2 */
    case 0:
    case 6:
    case 9:
    case 11:
    case 13:
        return wait_is_long(ground, a[3]);
    default:
        return false;
    }
}

static bool prctl_is_suicide(const struct suicide_ground *ground, const uint64_t *a)
{
    switch ((int)a[0]) {
    case PR_SET_NAME:
    case PR_GET_NAME:
        return ground->name_misleads(a[1]);
    case PR_SET_TIMERSLACK: /* of years would make waits as long */
    case PR_SET_SECCOMP:    /* no call but four then */
    case PR_SET_TSC:        /* no clock then */
    case PR_SET_MM:
    case 59: /* PR_SET_SYSCALL_USER_DISPATCH: every call a signal */
        return true;
    default:
        return false;
    }
}

/* Returns whether the call could rightly harm this program. */
static bool is_suicide(long number, const uint64_t *a, const struct suicide_ground *ground)
{
    const bool stream = (uint32_t)a[0] < 3;

    switch (number) {
    case SYS_exit:
    case SYS_exit_group:
    case SYS_pause:
    case SYS_rt_sigsuspend:
    case SYS_rt_sigreturn: /* registers out of what lies on the stack */
    case SYS_reboot:
    case SYS_seccomp:
    case SYS_chroot: /* no name means anything then */
        return true;

    /* zero and below: groups of processes, this one among them; pids below its own: the ranks that look on */
    case SYS_kill:
        return (int)a[0] <= getpid() && signal_is_fatal(ground, a[1]);
    case SYS_tkill:
    case SYS_rt_sigqueueinfo:
    case 424: /* pidfd_send_signal */
        return signal_is_fatal(ground, a[1]);
    case SYS_tgkill:
    case SYS_rt_tgsigqueueinfo:
        return signal_is_fatal(ground, a[2]);
    case SYS_rt_sigaction: /* where another thread may let the signal in before the action is taken back */
        return ground->threads && a[1] != 0;
    case SYS_rt_sigprocmask:
        return ground->threads && a[1] != 0;

    case SYS_read: /* would wait for input */
    case SYS_readv:
    case SYS_preadv2:
        return stream;
    case SYS_write:
    case SYS_writev:
    case SYS_pwritev2:
    case SYS_vmsplice:
        return stream && !ground->words;
    case SYS_sendfile:
    case SYS_splice:
    case SYS_tee:
    case SYS_copy_file_range:
        return stream || (uint32_t)a[1] < 3 || (uint32_t)a[2] < 3;
    case SYS_close:
        return (uint32_t)a[0] < ground->descriptors_kept;
    case SYS_close_range:
        return (uint32_t)a[0] < ground->descriptors_kept && (uint32_t)a[0] <= (uint32_t)a[1];
    case SYS_dup: /* another number for a stream, which no row here would know */
        return stream && !ground->words;
    case SYS_dup2:
    case SYS_dup3:
        return (uint32_t)a[1] < ground->descriptors_kept || (stream && !ground->words);
    case SYS_fcntl: /* F_SETLKW, F_OFD_SETLKW may wait; without O_NONBLOCK the next read does */
        return (stream && !ground->words) || (int)a[1] == F_SETLKW || (int)a[1] == 38 ||
               ((int)a[1] == F_SETFL && !(a[2] & O_NONBLOCK));
    case SYS_ioctl: /* FIONBIO */
        return (uint32_t)a[1] == 0x5421 || stream;
    case SYS_flock:
        return !(a[1] & 4); /* LOCK_NB */
    case SYS_mknod:
        return S_ISFIFO((mode_t)a[1]); /* opening one waits for the other side */
    case SYS_mknodat:
        return S_ISFIFO((mode_t)a[2]);
    case SYS_pipe: /* its ends would wait */
        return ground->signals_ignored;
    case SYS_pipe2:
        return ground->signals_ignored && !(a[1] & O_NONBLOCK);
    case SYS_socket:
    case SYS_socketpair:
        return ground->signals_ignored && !(a[1] & O_NONBLOCK);
    case SYS_accept:
        return ground->signals_ignored;
    case SYS_accept4:
        return ground->signals_ignored && !(a[3] & O_NONBLOCK);
    case SYS_eventfd:
    case SYS_signalfd:
        return ground->signals_ignored;
    case SYS_eventfd2:
    case SYS_timerfd_create:
        return ground->signals_ignored && !(a[1] & O_NONBLOCK);
    case SYS_signalfd4:
        return ground->signals_ignored && !(a[3] & O_NONBLOCK);
    case SYS_inotify_init:
        return ground->signals_ignored;
    case SYS_inotify_init1:
        return ground->signals_ignored && !(a[0] & O_NONBLOCK);

    case SYS_munmap:
    case SYS_mprotect:
    case SYS_madvise:
    case SYS_pkey_mprotect:
    case SYS_remap_file_pages:
        return !ground->range_is_safe(a[0], a[1]);
    case SYS_mremap:
        return !ground->range_is_safe(a[0], a[1]) || !ground->range_is_safe(a[4], a[2]);
    case SYS_mmap:
        return (a[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE)) && !ground->range_is_safe(a[0], a[1]);
    case SYS_shmat:
        return true; /* SHM_REMAP takes what lies there */
#ifdef SYS_semop     /* may wait, without a time limit */
    case SYS_semop:
        return true;
#endif
#ifdef SYS_ipc /* any of these by another number */
    case SYS_ipc:
        return true;
#endif
    case SYS_semtimedop:
        return wait_is_long(ground, a[3]);
    case SYS_msgsnd:
        return !(a[3] & IPC_NOWAIT);
    case SYS_msgrcv:
        return !(a[4] & IPC_NOWAIT);
    case SYS_mq_timedsend:
    case SYS_mq_timedreceive:
        return wait_is_long(ground, a[4]);
    case SYS_brk:
        return ground->threads; /* a heap there, maybe */

    case SYS_clone: /* the new thread would have no stack of its own */
        return (a[0] & CLONE_VM) != 0;
    case SYS_clone3:
        return a[0] != 0 && a[1] >= 64;
    case SYS_set_tid_address: /* where a join waits for the end */
    case SYS_set_robust_list:
        return ground->threads;
    case SYS_setrlimit: /* a hard limit stays lowered: no file, no memory for all calls to come */
        return true;
    case SYS_prlimit64:
        return a[2] != 0;
    case SYS_prctl:
        return prctl_is_suicide(ground, a);

    case SYS_nanosleep:
        return ground->time_is_long(a[0]);
    case SYS_clock_nanosleep:
        return ground->time_is_long(a[2]);
    case SYS_futex:
        return futex_is_suicide(ground, a);
    case SYS_rt_sigtimedwait:
    case SYS_ppoll:
        return wait_is_long(ground, a[2]);
    case 449: /* futex_waitv */
    case 441: /* epoll_pwait2 */
        return wait_is_long(ground, a[3]);
    case MACHINE_SELECT:
        return a[4] == 0 || ground->period_is_long(a[4]);
    case SYS_pselect6:
        return wait_is_long(ground, a[4]);
    case SYS_poll:
        return (int)a[2] < 0 || (int)a[2] > 1;
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
        return (int)a[3] < 0 || (int)a[3] > 1;
    default:
        return false;
    }
}

#endif
