/* SPDX-License-Identifier: BSD-2-Clause */
/* unix_credentials.c: who the other end is: SO_PEERCRED, SCM_CREDENTIALS. */
#include "unix_control.h"

static void credentials_are(const char *what, long got_bytes, const struct carrier *carrier)
{
    struct ucred who = { 0 };

    char line[64];

    result(what, got_bytes);
    snprintf(line, sizeof(line), "%s, from this process", what);
    if (carrier->message.msg_controllen >= CMSG_LEN(sizeof(who)))
        memcpy(&who, CMSG_DATA(&carrier->control.header), sizeof(who));
    holds(line, who.pid == sys(SYS_getpid) && who.uid == sys(SYS_getuid));
}

CONFORM(unix_credentials)
{
    struct carrier carrier;
    struct ucred who = { 0 };
    unsigned room = sizeof(who);
    int on = 1, lonely = (int)sys(SYS_socket, AF_UNIX, SOCK_STREAM, 0);

    result("asked without a peer", sys(SYS_getsockopt, lonely, SOL_SOCKET, SO_PEERCRED, &who, &room));
    holds("nobody", who.pid == 0 && who.uid == (uid_t)-1);
    made("made", SOCK_DGRAM);
    result("asked", sys(SYS_getsockopt, ends[0], SOL_SOCKET, SO_PEERCRED, &who, &room));
    holds("the peer is this process", who.pid == sys(SYS_getpid) && who.uid == sys(SYS_getuid));
    result("to be passed", sys(SYS_setsockopt, ends[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)));
    sent(ends[0], "hello", 0);
    carrier = carrier_of("", 64);
    carrier.part.iov_len = 8;
    long bytes = carried(&carrier, ends[1], false, 0);
    credentials_are("received", bytes, &carrier);
    carrier = carrier_of("named", CMSG_SPACE(sizeof(who)));
    carrier.control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(who)),
                                               .cmsg_level = SOL_SOCKET,
                                               .cmsg_type = SCM_CREDENTIALS };
    memcpy(CMSG_DATA(&carrier.control.header), &who, sizeof(who));
    result("sent along", carried(&carrier, ends[0], true, 0));
    carrier = carrier_of("", 64);
    carrier.part.iov_len = 8;
    bytes = carried(&carrier, ends[1], false, 0);
    credentials_are("received again", bytes, &carrier);
    carrier = carrier_of("x", CMSG_SPACE(sizeof(who)));
    carrier.control.header =
        (struct cmsghdr){ .cmsg_len = CMSG_LEN(4), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_CREDENTIALS };
    result("too short", carried(&carrier, ends[0], true, 0));
    carrier.control.header.cmsg_len = 1;
    result("no header", carried(&carrier, ends[0], true, 0));
    closed();
    sys(SYS_close, lonely);
}
