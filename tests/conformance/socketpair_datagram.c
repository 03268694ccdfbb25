/* SPDX-License-Identifier: BSD-2-Clause */
/* socketpair_datagram.c: messages between two sockets that are not connected for good. */
#include "sockets.h"

CONFORM(socketpair_datagram)
{
    char words[8];

    messages(SOCK_DGRAM);
    made("another", SOCK_DGRAM);
    sys(SYS_close, ends[1]);
    result("sent to nobody", sent(ends[0], "x", MSG_NOSIGNAL));
    result("no end of file", got(ends[0], words, sizeof(words), MSG_DONTWAIT));
    sys(SYS_close, ends[0]);
}
