/* SPDX-License-Identifier: BSD-2-Clause */
/* inet_datagram.c: UDP over loopback. */
#include "inet_sockets.h"

#include <netinet/ip.h>

static int one, two;

static void messages(void)
{
    struct sockaddr_in to = name_of(one), from = { 0 };
    socklen_t bytes = sizeof(from);
    char words[32] = { 0 };
    int unread = -1;

    result("nothing yet", got(one, words, sizeof(words), MSG_DONTWAIT));
    result("poll of nothing", ready(one));
    result("sent to nobody", sent(two, "x", 0));
    result("sent to a port", sys(SYS_sendto, two, "hello", 5, 0, &to, sizeof(to)));
    result("poll", ready_then(one));
    sys(SYS_ioctl, one, FIONREAD, &unread);
    result("unread", unread);
    result("peek at its length", sys(SYS_recvfrom, one, words, 2, MSG_PEEK | MSG_TRUNC, &from, &bytes));
    holds("its sender", from.sin_port == name_of(two).sin_port && bytes == sizeof(from));
    result("received", got(one, words, sizeof(words), 0));
    holds("the same", memcmp(words, "hello", 5) == 0);
    result("sent empty", sys(SYS_sendto, two, "", 0, 0, &to, sizeof(to)));
    result("received empty", got(one, words, sizeof(words), 0));
    result("sent long", sys(SYS_sendto, two, "0123456789", 10, 0, &to, sizeof(to)));
    result("received short", got(one, words, 4, 0));
    result("the rest is gone", got(one, words, 4, MSG_DONTWAIT));
    result("too long", sys(SYS_sendto, two, words, 70000, 0, &to, sizeof(to)));
    to.sin_port = 0;
    result("to port nothing", sys(SYS_sendto, two, "x", 1, 0, &to, sizeof(to)));
}

static void connecting(void)
{
    struct sockaddr_in peer = { 0 }, nobody = { .sin_family = AF_UNSPEC };
    socklen_t bytes = sizeof(peer);
    char words[8];
    int third = bound(SOCK_DGRAM);

    result("peer of none", sys(SYS_getpeername, two, &peer, &bytes));
    result("connect", connected(two, one));
    result("peer", sys(SYS_getpeername, two, &peer, &bytes));
    result("sent to the peer", sent(two, "abc", 0));
    result("the peer has it", got(one, words, 8, 0));
    peer = name_of(two);
    sys(SYS_sendto, third, "stranger", 8, 0, &peer, sizeof(peer));
    result("not from a stranger", got(two, words, 8, MSG_DONTWAIT));
    sys(SYS_close, one);
    result("sent to who has left", sent(two, "x", 0));
    result("poll of the error", ready_then(two));
    result("the error", got(two, words, 8, 0));
    result("only once", got(two, words, 8, MSG_DONTWAIT));
    result("disconnect", sys(SYS_connect, two, &nobody, sizeof(nobody)));
    result("no peer", sys(SYS_getpeername, two, &peer, &bytes));
    result("listen", sys(SYS_listen, two, 1));
    result("accept", sys(SYS_accept, two, NULL, NULL));
    result("shut down", sys(SYS_shutdown, two, SHUT_RDWR));
    sys(SYS_close, third);
}

static void describing(void)
{
    union {
        struct cmsghdr head;
        char room[256];
    } control;
    char words[8];
    struct iovec place = { words, sizeof(words) };
    struct msghdr message = { .msg_iov = &place, .msg_iovlen = 1, .msg_control = &control };
    bool info = false, ttl = false;

    one = bound(SOCK_DGRAM);
    two = (int)sys(SYS_socket, AF_INET, SOCK_DGRAM, 0);
    result("packet info", option_set(one, IPPROTO_IP, IP_PKTINFO, 1));
    result("time to live", option_set(one, IPPROTO_IP, IP_RECVTTL, 1));
    connected(two, one);
    sent(two, "abc", 0);
    message.msg_controllen = sizeof(control);
    result("with descriptions", sys(SYS_recvmsg, one, &message, 0));
    for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
        const struct in_pktinfo *packet = (void *)CMSG_DATA(part);

        if (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_PKTINFO)
            info = packet->ipi_addr.s_addr == htonl(INADDR_LOOPBACK);
        if (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_TTL)
            ttl = *(int *)(void *)CMSG_DATA(part) == 64;
    }
    holds("where it was sent to", info);
    holds("how far it could go", ttl);
    sys(SYS_close, one);
    sys(SYS_close, two);
}

CONFORM(inet_datagram)
{
    one = bound(SOCK_DGRAM);
    two = bound(SOCK_DGRAM);
    messages();
    connecting();
    sys(SYS_close, two);
    describing();
}
