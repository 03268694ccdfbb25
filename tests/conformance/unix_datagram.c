/* SPDX-License-Identifier: BSD-2-Clause */
/* unix_datagram.c: messages between sockets with names, in the tree and abstract. */
#include "unix_names.h"

/* What was received, and from whom. */
static void from_whom(const char *what, int socket)
{
    struct sockaddr_un from;
    unsigned room = sizeof(from);
    char words[16] = "", line[64];
    long bytes = sys(SYS_recvfrom, socket, words, sizeof(words) - 1, MSG_DONTWAIT, &from, &room);

    snprintf(line, sizeof(line), "%s, from", what);
    if (bytes < 0) {
        result(what, bytes);
    } else {
        text(what, words);
        name_is(line, &from, room);
    }
}

CONFORM(unix_datagram)
{
    char words[16];
    int flag = 0;

    if (!in_tmp())
        return;
    int server = (int)sys(SYS_socket, AF_UNIX, SOCK_DGRAM, 0);
    int client = (int)sys(SYS_socket, AF_UNIX, SOCK_DGRAM, 0);
    int other = (int)sys(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    int stream = (int)sys(SYS_socket, AF_UNIX, SOCK_STREAM, 0);

    result("poll", ready(client));
    result("to nobody", sys(SYS_write, client, "x", 1));
    result("to no name", sent_to(client, "x", "server", 0));
    result("bound", bound(server, "server"));
    result("sent", sent_to(client, "one", "server", 0));
    result("poll of the server", ready(server));
    from_whom("the first", server);
    result("bound, too", bound(client, "@tacet client"));
    named("its name", SYS_getsockname, client);
    result("the same name", bound(other, "@tacet client"));
    result("sent with a name", sent_to(client, "two", "server", 0));
    result("sent by a stream", sent_to(stream, "x", "server", 0));
    result("connected by a stream", connected(stream, "server"));
    from_whom("the second", server);
    result("nothing more", got(server, words, sizeof(words), MSG_DONTWAIT));
    result("answered", sent_to(server, "three", "@tacet client", 0));
    from_whom("the answer", client);

    result("connected", connected(client, "server"));
    named("its peer", SYS_getpeername, client);
    result("written", sys(SYS_write, client, "four", 4));
    result("with nothing in it", sys(SYS_sendto, client, "", 0, 0, NULL, 0));
    from_whom("the fourth", server);
    from_whom("the empty one", server);
    result("a stranger to who is connected", sent_to(other, "x", "@tacet client", 0));
    result("to another name, though connected", sent_to(client, "five", "server", 0));
    sys(SYS_ioctl, server, FIONREAD, &flag);
    result("unread", flag);
    result("listens", sys(SYS_listen, server, 1));
    result("accepts", sys(SYS_accept, server, NULL, NULL));
    result("shut down", sys(SYS_shutdown, client, SHUT_WR));
    result("sent after that", sys(SYS_sendto, client, "x", 1, MSG_NOSIGNAL, NULL, 0));
    sys(SYS_close, client);
    result("the name is free", bound(other, "@tacet client"));
    result("connected to the server", connected(other, "server"));
    sys(SYS_close, server);
    result("to who is no more", sys(SYS_write, other, "x", 1));
    result("nobody any more", sys(SYS_write, other, "x", 1));
    result("to its name", sent_to(other, "x", "server", 0));

    int many = (int)sys(SYS_socket, AF_UNIX, SOCK_DGRAM, 0);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    unsigned room = sizeof(address);
    result("a name made up", sys(SYS_bind, many, &address, FAMILY_BYTES));
    sys(SYS_getsockname, many, &address, &room);
    result("its length", room);
    holds("abstract", address.sun_path[0] == 0);
    result("sent to that", sys(SYS_sendto, other, "six", 3, 0, &address, room));
    from_whom("the sixth", many);
    sys(SYS_close, many);
    sys(SYS_close, other);
    sys(SYS_close, stream);
}
