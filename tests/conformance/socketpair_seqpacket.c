/* SPDX-License-Identifier: BSD-2-Clause */
/* socketpair_seqpacket.c: messages between two sockets, and their ends. */
#include "sockets.h"

CONFORM(socketpair_seqpacket)
{
    char words[8];

    messages(SOCK_SEQPACKET);
    made("another", SOCK_SEQPACKET);
    sent(ends[1], "last", 0);
    sys(SYS_close, ends[1]);
    result("poll", ready(ends[0]));
    result("the last", got(ends[0], words, sizeof(words), 0));
    result("end of file", got(ends[0], words, sizeof(words), 0));
    sys(SYS_close, ends[0]);
}
