/* SPDX-License-Identifier: BSD-2-Clause */
/* many_descriptors.c: more than 1,024 open files: numbers, select, poll, epoll, /proc/self/fd, and what is
 * sent while the table is full. */
#include "conform.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#define MANY 3000

static const struct timespec at_once;

static long raise_limit(uint64_t soft)
{
    struct rlimit limit;

    sys(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);
    limit.rlim_cur = soft;
    return sys(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, NULL);
}

static void selects(int first, int last)
{
    static uint64_t set[4096 / 64];

    set[first / 64] |= 1ULL << first % 64;
    set[last / 64] |= 1ULL << last % 64;
    result("select of high numbers", sys(SYS_pselect6, last + 1, set, NULL, NULL, &at_once));
    holds("the ready one", set[last / 64] == 1ULL << last % 64);
    set[first / 64] = 1ULL << first % 64;
    result("without the last", sys(SYS_pselect6, last, set, NULL, NULL, &at_once));
}

static void polls(int last)
{
    static struct pollfd all[MANY];
    struct epoll_event event = { .events = EPOLLIN }, got[4];
    int set = (int)sys(SYS_epoll_create1, 0);

    for (int i = 0; i < MANY; i++)
        all[i] = (struct pollfd){ .fd = i, .events = POLLIN };
    all[0].fd = -1; /* /dev/null is always ready; so may be 1 and 2 */
    all[1].fd = all[2].fd = -1;
    result("poll of all", sys(SYS_ppoll, all, MANY, &at_once, NULL));
    result("what it is ready for", all[last].revents);
    for (int i = 100; i <= last; i += 100) {
        event.data.u64 = (uint64_t)i;
        sys(SYS_epoll_ctl, set, EPOLL_CTL_ADD, i, &event);
    }
    event.data.u64 = (uint64_t)last;
    result("into a set", sys(SYS_epoll_ctl, set, EPOLL_CTL_ADD, last, &event));
    result("again", sys(SYS_epoll_ctl, set, EPOLL_CTL_ADD, last, &event));
    result("ready", sys(SYS_epoll_pwait, set, got, 4, 0, NULL, SIGSET_BYTES));
    holds("that one", got[0].data.u64 == (uint64_t)last);
    result("out of it", sys(SYS_epoll_ctl, set, EPOLL_CTL_DEL, last, NULL));
    result("none", sys(SYS_epoll_pwait, set, got, 4, 0, NULL, SIGSET_BYTES));
    sys(SYS_close, set);
}

static int listed(void)
{
    static char bytes[65536];
    int folder = (int)sys(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY), count = 0;
    long got;

    while ((got = sys(SYS_getdents64, folder, bytes, sizeof(bytes))) > 0)
        for (long at = 0; at < got; at += *(uint16_t *)(bytes + at + 16))
            count++;
    sys(SYS_close, folder);
    return count;
}

static void links(int last)
{
    char path[40], to[80] = "";
    struct stat status;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", last);
    sys(SYS_readlinkat, AT_FDCWD, path, to, sizeof(to) - 1);
    text("its link", to);
    holds("is a link", fstatat(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", last + 500);
    result("of none", sys(SYS_readlinkat, AT_FDCWD, path, to, sizeof(to)));
    result("with zeros", sys(SYS_faccessat, AT_FDCWD, "/proc/self/fd/00", F_OK));
    result("/dev/null by its link", sys(SYS_faccessat, AT_FDCWD, "/proc/self/fd/0", F_OK));
}

/* Sends a descriptor when none is free: it is lost, and the receiver is told. */
static void sent_when_full(int ends[2])
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = { "x", 1 };
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
    };
    char byte;

    control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
                                     .cmsg_level = SOL_SOCKET,
                                     .cmsg_type = SCM_RIGHTS };
    memset(CMSG_DATA(&control.head), 0, sizeof(int));
    result("a descriptor sent", sys(SYS_sendmsg, ends[0], &message, 0));
    result("no number is free", sys(SYS_dup, 0));
    part.iov_base = &byte;
    message.msg_controllen = sizeof(control);
    result("the byte arrives", sys(SYS_recvmsg, ends[1], &message, 0));
    holds("without it", message.msg_flags & MSG_CTRUNC);
    result("an end's number, then", sys(SYS_close, MANY - 1));
    result("is the only free one", sys(SYS_dup, 0));
}

CONFORM(many_descriptors)
{
    int ends[2], last = -1;

    result("the soft limit raised", raise_limit(4000));
    result("from a high number on", sys(SYS_fcntl, 0, F_DUPFD, 2500));
    sys(SYS_close, 2500);
    result("a high number", sys(SYS_dup2, 0, 3999));
    result("a second one", sys(SYS_dup2, 0, 3998));
    result("closed", sys(SYS_close_range, 3000, -1, 0));
    result("are closed", sys(SYS_fcntl, 3999, F_GETFD));
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    for (int i = 5; i < MANY; i++)
        last = (int)sys(SYS_eventfd2, i == MANY - 1, 0);
    result("the last of many", last);
    selects(1500, last);
    polls(last);
    result("listed", listed());
    links(last);
    result("FD_CLOEXEC", sys(SYS_fcntl, last, F_SETFD, 1));
    result("is kept", sys(SYS_fcntl, last, F_GETFD));
    raise_limit(MANY);
    sent_when_full(ends);
    result("all but some", sys(SYS_close_range, 3, ~0U, 0));
    result("the next", sys(SYS_dup, 0));
    raise_limit(1024);
}
