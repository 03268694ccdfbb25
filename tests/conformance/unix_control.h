/* SPDX-License-Identifier: BSD-2-Clause */
/* unix_control.h: messages with ancillary data. */
#ifndef UNIX_CONTROL_H
#define UNIX_CONTROL_H

#include "sockets.h"

struct carrier {
    struct msghdr message;
    struct iovec part;
    char words[16];
    union {
        struct cmsghdr header;
        char bytes[256];
    } control;
};

static inline struct carrier carrier_of(const char *words, size_t control_bytes)
{
    struct carrier carrier = { .message = { .msg_iovlen = 1 } };

    /* of another type in musl than in glibc */
    carrier.message.msg_controllen = (__typeof__(carrier.message.msg_controllen))control_bytes;

    memcpy(carrier.words, words, strlen(words));
    carrier.part.iov_len = strlen(words);
    return carrier;
}

static inline long carried(struct carrier *carrier, int end, bool send, int flags)
{
    carrier->part.iov_base = carrier->words;
    carrier->message.msg_iov = &carrier->part;
    carrier->message.msg_control = &carrier->control;
    return sys(send ? SYS_sendmsg : SYS_recvmsg, end, &carrier->message, flags);
}

#endif
