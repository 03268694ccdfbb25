/* SPDX-License-Identifier: BSD-2-Clause */
/* unix_stream.c: a listener with a name, connections to it, and what both ends say of themselves. */
#include "unix_names.h"

static int listener;

static void *accept_late(void *nothing)
{
    rest_ms(30);
    sys(SYS_close, sys(SYS_accept, listener, NULL, NULL));
    return nothing;
}

static void *connect_late(void *nothing)
{
    int late = (int)sys(SYS_socket, AF_UNIX, SOCK_STREAM, 0);

    rest_ms(30);
    connected(late, "listener");
    sys(SYS_write, late, "late", 4);
    rest_ms(30);
    sys(SYS_close, late);
    return nothing;
}

static void backlog(void)
{
    int clients[4];
    pthread_t thread;

    result("a backlog of one", sys(SYS_listen, listener, 1));
    for (int i = 0; i < 4; i++)
        clients[i] = (int)sys(SYS_socket, AF_UNIX, SOCK_STREAM | (i < 3 ? SOCK_NONBLOCK : 0), 0);
    result("one", connected(clients[0], "listener"));
    result("two", connected(clients[1], "listener"));
    result("three", connected(clients[2], "listener"));
    pthread_create(&thread, NULL, accept_late, NULL);
    result("waits for room", connected(clients[3], "listener"));
    pthread_join(thread, NULL);
    result("poll of a listener", ready(listener));
    sys(SYS_close, listener);
    char words[8];
    result("nobody accepted it", got(clients[1], words, sizeof(words), 0));
    result("then the end", got(clients[1], words, sizeof(words), 0));
    for (int i = 0; i < 4; i++)
        sys(SYS_close, clients[i]);
}

CONFORM(unix_stream)
{
    struct sockaddr_un peer;
    unsigned room = sizeof(peer);
    pthread_t thread;
    char words[32];

    if (!in_tmp())
        return;
    listener = (int)sys(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
    int client = (int)sys(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
    result("poll of a fresh one", ready(client));
    result("not connected", sys(SYS_write, client, "x", 1));
    result("not connected, received", got(client, words, sizeof(words), 0));
    int other = (int)sys(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
    result("not connected, shut down", sys(SYS_shutdown, other, SHUT_RDWR));
    sys(SYS_close, other);
    named("its name", SYS_getsockname, client);
    named("its peer", SYS_getpeername, client);
    result("listens without a name", sys(SYS_listen, listener, 5));
    result("accepts without listening", sys(SYS_accept, listener, NULL, NULL));
    result("nobody there", connected(client, "listener"));
    result("bound", bound(listener, "listener"));
    named("bound to", SYS_getsockname, listener);
    result("bound twice", bound(listener, "another"));
    result("the name again", bound(client, "listener"));
    result("refused", connected(client, "listener"));
    struct stat status;
    result("its file", sys(SYS_stat, "listener", &status));
    holds("is a socket", S_ISSOCK(status.st_mode));
    result("opened", sys(SYS_open, "listener", O_RDWR));
    result("listens", sys(SYS_listen, listener, 5));
    int is_listening = -1;
    unsigned option_room = sizeof(is_listening);
    sys(SYS_getsockopt, listener, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &option_room);
    result("says so", is_listening);
    result("poll of nobody", ready(listener));
    result("connected", connected(client, "listener"));
    result("connected twice", connected(client, "listener"));
    result("connects itself", connected(listener, "listener"));
    result("poll of somebody", ready(listener));
    result("written before it is accepted", sys(SYS_write, client, "early", 5));
    int end = (int)sys(SYS_accept4, listener, &peer, &room, SOCK_CLOEXEC);
    holds("accepted", end > 2);
    name_is("whom", &peer, room);
    result("closed on exec", sys(SYS_fcntl, end, F_GETFD));
    result("read", sys(SYS_read, end, words, sizeof(words)));
    named("name of the end", SYS_getsockname, end);
    named("peer of the end", SYS_getpeername, end);
    named("name of the client", SYS_getsockname, client);
    named("peer of the client", SYS_getpeername, client);
    result("back", sys(SYS_write, end, "back", 4));
    result("got", got(client, words, sizeof(words), 0));
    text("what", words);
    result("shut down", sys(SYS_shutdown, end, SHUT_WR));
    result("poll of the client", ready(client));
    result("end of file", sys(SYS_read, client, words, 1));
    result("an address with a connection", sent_to(client, "x", "listener", 0));
    sys(SYS_close, end);
    result("poll of a lonely client", ready(client));
    result("broken", sys(SYS_sendto, client, "x", 1, MSG_NOSIGNAL, 0, 0));
    sys(SYS_close, client);

    pthread_create(&thread, NULL, connect_late, NULL);
    end = (int)sys(SYS_accept, listener, NULL, NULL);
    holds("waited for", end > 2);
    result("from it", sys(SYS_recvfrom, end, words, 8, MSG_WAITALL, NULL, NULL));
    pthread_join(thread, NULL);
    sys(SYS_close, end);
    sys(SYS_fcntl, listener, F_SETFL, O_NONBLOCK);
    result("nobody waits", sys(SYS_accept, listener, NULL, NULL));
    backlog();
    client = (int)sys(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
    result("to a name without a socket", connected(client, "listener"));
    result("removed", sys(SYS_unlink, "listener"));
    result("to no name", connected(client, "listener"));
    result("the name is free", bound(client, "listener"));
    sys(SYS_close, client);
}
