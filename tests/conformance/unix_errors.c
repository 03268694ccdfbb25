/* SPDX-License-Identifier: BSD-2-Clause */
/* unix_errors.c: what bind, connect and their like refuse. */
#include "unix_names.h"

CONFORM(unix_errors)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct sockaddr other = { .sa_family = AF_INET };
    char long_name[120];
    int ends[2];

    if (!in_tmp())
        return;
    result("no such family", sys(SYS_socket, 77, SOCK_STREAM, 0));
    result("no such type", sys(SYS_socket, AF_UNIX, 9, 0));
    result("no such flag", sys(SYS_socket, AF_UNIX, SOCK_STREAM | 0x100, 0));
    result("no such protocol", sys(SYS_socket, AF_UNIX, SOCK_STREAM, 9));
    result("pair of no such family", sys(SYS_socketpair, 77, SOCK_STREAM, 0, ends));
    result("pair to nowhere", sys(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, NOWHERE));
    int socket = (int)sys(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
    result("name of another family", sys(SYS_bind, socket, &other, sizeof(other)));
    result("too long", sys(SYS_bind, socket, &address, 111));
    result("much too long", sys(SYS_bind, socket, &address, 129));
    result("from nowhere", sys(SYS_bind, socket, NOWHERE, 20));
    result("to another family", sys(SYS_connect, socket, &other, sizeof(other)));
    result("to no length", sys(SYS_connect, socket, &address, 2));
    result("from nowhere, too", sys(SYS_connect, socket, NOWHERE, 20));
    result("in no folder", bound(socket, "none/such"));
    result("not a folder", bound(socket, "/dev/null/such"));
    result("on a folder", bound(socket, "/tmp"));
    result("to a file", connected(socket, DATA "/text"));
    memset(long_name, 'n', 108);
    long_name[108] = 0;
    address_of(&address, "");
    memcpy(address.sun_path, long_name, 108);
    result("of 108 letters", sys(SYS_bind, socket, &address, 110));
    unsigned room = sizeof(address);
    result("asked", sys(SYS_getsockname, socket, &address, &room));
    result("its length", room);
    room = 4;
    result("into little room", sys(SYS_getsockname, socket, &address, &room));
    result("its whole length", room);
    room = (unsigned)-1;
    result("into negative room", sys(SYS_getsockname, socket, &address, &room));
    result("to nowhere", sys(SYS_getsockname, socket, NOWHERE, &room));
    result("room nowhere", sys(SYS_getsockname, socket, &address, NOWHERE));
    sys(SYS_unlink, long_name);
    sys(SYS_close, socket);
    int file = file_made("file", "text");
    result("bind of a file", sys(SYS_bind, file, &address, 10));
    result("accept of a file", sys(SYS_accept, file, NULL, NULL));
    result("listen of a file", sys(SYS_listen, file, 1));
    result("connect of nothing", sys(SYS_connect, 99, &address, 10));
    result("accept with a flag", sys(SYS_accept4, file, NULL, NULL, 1));
    sys(SYS_close, file);
}
