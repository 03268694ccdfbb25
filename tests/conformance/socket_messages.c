/* SPDX-License-Identifier: BSD-2-Clause */
/* socket_messages.c: many messages with one call. */
#include "sockets.h"

#define COUNT 4

static struct mmsghdr list[COUNT];
static struct iovec parts[COUNT];
static char places[COUNT][16];

static void list_make(bool receive)
{
    for (int i = 0; i < COUNT; i++) {
        parts[i] = (struct iovec){ places[i], receive ? sizeof(places[i]) : (size_t)i + 1 };
        memset(places[i], receive ? 0 : 'a' + i, sizeof(places[i]));
        list[i] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &parts[i], .msg_iovlen = 1 }, .msg_len = 99 };
    }
}

static void lengths(const char *what)
{
    char words[64];

    snprintf(words, sizeof(words), "%u %u %u %u, %.8s %.8s", list[0].msg_len, list[1].msg_len,
             list[2].msg_len, list[3].msg_len, places[0], places[3]);
    text(what, words);
}

CONFORM(socket_messages)
{
    struct timespec none = { 0, 0 }, wrong = { -1, 0 };

    made("made", SOCK_DGRAM);
    list_make(false);
    result("sent four", sys(SYS_sendmmsg, ends[0], list, COUNT, 0));
    lengths("their lengths");
    list_make(true);
    result("received four", sys(SYS_recvmmsg, ends[1], list, COUNT, 0, NULL));
    lengths("lengths and words");
    result("none there", sys(SYS_recvmmsg, ends[1], list, COUNT, MSG_DONTWAIT, NULL));
    sent(ends[0], "one", 0);
    sent(ends[0], "two", 0);
    list_make(true);
    result("for one", sys(SYS_recvmmsg, ends[1], list, COUNT, MSG_WAITFORONE, NULL));
    lengths("as many as there were");
    sent(ends[0], "one", 0);
    sent(ends[0], "two", 0);
    result("no time", sys(SYS_recvmmsg, ends[1], list, COUNT, 0, &none));
    result("no such time", sys(SYS_recvmmsg, ends[1], list, COUNT, 0, &wrong));
    list_make(false);
    list[2].msg_hdr.msg_iov = NOWHERE;
    result("the third is wrong", sys(SYS_sendmmsg, ends[0], list, COUNT, 0));
    result("of none", sys(SYS_sendmmsg, ends[0], list, 0, 0));
    result("from nowhere", sys(SYS_sendmmsg, ends[0], NOWHERE, 1, 0));
    result("to a file", sys(SYS_sendmmsg, 1, list, 1, 0));
    closed();
}
