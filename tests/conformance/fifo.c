/* SPDX-License-Identifier: BSD-2-Clause */
/* fifo.c: pipes with a name. */
#include "conform.h"

#include <sys/epoll.h>
#include <sys/ioctl.h>

static long answer;
static volatile bool done;

static long opened(int flags)
{
    return sys(SYS_openat, AT_FDCWD, "fifo", flags, 0);
}

static void *opens(void *argument)
{
    answer = opened((int)(long)argument);
    done = true;
    return NULL;
}

static int events_of(long descriptor)
{
    struct pollfd set = { (int)descriptor, POLLIN | POLLOUT, 0 };

    sys(SYS_poll, &set, 1, 0);
    return set.revents;
}

static void made(void)
{
    struct stat status;

    result("made", sys(SYS_mknodat, AT_FDCWD, "fifo", S_IFIFO | 0640, 0));
    result("made again", sys(SYS_mknodat, AT_FDCWD, "fifo", S_IFIFO | 0640, 0));
    result("with a slash", sys(SYS_mknodat, AT_FDCWD, "other/", S_IFIFO | 0640, 0));
    result("in no folder", sys(SYS_mknodat, AT_FDCWD, "none/fifo", S_IFIFO | 0640, 0));
    result("stat", sys(SYS_newfstatat, AT_FDCWD, "fifo", &status, 0));
    holds("it is one", S_ISFIFO(status.st_mode));
    result("mode", status.st_mode & 0777);
    result("size", status.st_size);
}

static void not_waiting(void)
{
    long reader, writer;
    char bytes[8] = "";
    int left = 0;

    result("only write, none reads", opened(O_WRONLY | O_NONBLOCK));
    reader = opened(O_RDONLY | O_NONBLOCK);
    holds("only read", reader >= 0);
    result("read, none writes", sys(SYS_read, reader, bytes, 8));
    result("poll, none has written", events_of(reader));
    writer = opened(O_WRONLY | O_NONBLOCK);
    holds("then write", writer >= 0);
    result("read, nothing written", sys(SYS_read, reader, bytes, 8));
    result("write", sys(SYS_write, writer, "12345", 5));
    result("poll of both", events_of(reader) * 100 + events_of(writer));
    result("bytes in it", sys(SYS_ioctl, reader, FIONREAD, &left) * 100 + left);
    result("read a part", sys(SYS_read, reader, bytes, 2));
    result("write to the reader", sys(SYS_write, reader, "1", 1));
    result("seek", sys(SYS_lseek, reader, 0, SEEK_SET));
    result("mapped", sys(SYS_mmap, 0, PAGE, PROT_READ, MAP_PRIVATE, reader, 0));
    result("cut", sys(SYS_ftruncate, writer, 0));
    result("close the writer", sys(SYS_close, writer));
    result("poll at the end", events_of(reader));
    result("read the rest", sys(SYS_read, reader, bytes, 8));
    result("read the end", sys(SYS_read, reader, bytes, 8));
    writer = opened(O_WRONLY);
    result("poll, written again", events_of(reader));
    result("read no longer the end", sys(SYS_read, reader, bytes, 8));
    sys(SYS_close, reader);
    signal(SIGPIPE, SIG_IGN);
    result("write, none reads any more", sys(SYS_write, writer, "1", 1));
    result("poll, none reads", events_of(writer));
    reader = opened(O_RDONLY);
    result("write, one reads again", sys(SYS_write, writer, "1", 1));
    sys(SYS_close, reader);
    sys(SYS_close, writer);
    reader = opened(O_RDONLY | O_NONBLOCK);
    result("what was unread is lost", sys(SYS_read, reader, bytes, 8));
    sys(SYS_close, reader);
}

static void waiting(void)
{
    struct epoll_event event = { .events = EPOLLIN };
    long both, set = sys(SYS_epoll_create1, 0);
    pthread_t thread;
    char byte = 0;

    both = opened(O_RDWR);
    holds("both ends", both >= 0);
    result("poll of both ends", events_of(both));
    result("in a set", sys(SYS_epoll_ctl, set, EPOLL_CTL_ADD, both, &event));
    result("write to itself", sys(SYS_write, both, "x", 1));
    result("ready in the set", sys(SYS_epoll_pwait, set, &event, 1, 0, 0, 8));
    result("read from itself", sys(SYS_read, both, &byte, 1));
    sys(SYS_close, both);
    for (int write = 0; write < 2; write++) {
        pthread_create(&thread, NULL, opens, (void *)(long)(write ? O_WRONLY : O_RDONLY));
        rest_ms(10);
        both = opened(write ? O_RDONLY : O_WRONLY);
        pthread_join(thread, NULL);
        holds(write ? "a writer waits for a reader" : "a reader waits for a writer",
              both >= 0 && answer >= 0);
        sys(SYS_close, both);
        sys(SYS_close, answer);
    }
}

static void ignore(int signal)
{
    (void)signal;
}

static void interrupted(void)
{
    struct sigaction action = { .sa_handler = ignore };
    pthread_t thread;

    sigaction(SIGUSR1, &action, NULL);
    done = false;
    pthread_create(&thread, NULL, opens, (void *)(long)O_RDONLY);
    while (!done) { /* the first may come before it waits */
        pthread_kill(thread, SIGUSR1);
        rest_ms(2);
    }
    pthread_join(thread, NULL);
    result("open, interrupted", answer);
    result("then none reads", opened(O_WRONLY | O_NONBLOCK));
}

CONFORM(fifo)
{
    if (!in_tmp())
        return;
    sys(SYS_umask, 0);
    made();
    not_waiting();
    waiting();
    interrupted();
    result("removed", sys(SYS_unlinkat, AT_FDCWD, "fifo", 0));
}
