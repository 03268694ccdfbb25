/* SPDX-License-Identifier: BSD-2-Clause */
/* socketpair_stream.c: bytes between two sockets, and their ends. */
#include "sockets.h"

static volatile int seen;

static void note(int number)
{
    seen = number;
}

CONFORM(socketpair_stream)
{
    struct sigaction action = { .sa_handler = note };
    char words[32];
    int unread = -1;

    made("made", SOCK_STREAM);
    result("nothing yet", got(ends[0], words, sizeof(words), MSG_DONTWAIT));
    result("poll of nothing", ready(ends[0]));
    result("sent", sent(ends[0], "hello ", 0));
    result("written", sys(SYS_write, ends[0], "world", 5));
    sys(SYS_ioctl, ends[1], FIONREAD, &unread);
    result("unread", unread);
    result("poll", ready(ends[1]));
    result("peek", got(ends[1], words, sizeof(words), MSG_PEEK));
    result("some", got(ends[1], words, 5, 0));
    result("the rest", sys(SYS_read, ends[1], words, sizeof(words)));
    holds("in order", memcmp(words, "o world", 7) == 0);
    result("the other way", sent(ends[1], "back", 0));
    result("received", got(ends[0], words, sizeof(words), MSG_WAITALL | MSG_DONTWAIT));
    result("shut down, to send", sys(SYS_shutdown, ends[0], SHUT_WR));
    result("poll of the other end", ready(ends[1]));
    result("end of file", got(ends[1], words, sizeof(words), 0));
    result("still sent", sent(ends[1], "more", 0));
    result("still received", got(ends[0], words, sizeof(words), 0));
    sigaction(SIGPIPE, &action, NULL);
    result("sent after that", sent(ends[0], "x", MSG_NOSIGNAL));
    result("without a signal", seen);
    result("written after that", sys(SYS_write, ends[0], "x", 1));
    result("the signal", seen);
    result("no such way", sys(SYS_shutdown, ends[0], 3));
    sys(SYS_close, ends[0]);
    result("poll of a lonely end", ready(ends[1]));
    result("sent to nobody", sent(ends[1], "x", MSG_NOSIGNAL));
    sys(SYS_close, ends[1]);

    made("another", SOCK_STREAM | SOCK_NONBLOCK);
    result("nothing there", sys(SYS_read, ends[0], words, 1));
    sent(ends[0], "lost", 0);
    sys(SYS_close, ends[1]);
    result("reset", sys(SYS_read, ends[0], words, 1));
    result("then the end", sys(SYS_read, ends[0], words, 1));
    sys(SYS_close, ends[0]);
}
