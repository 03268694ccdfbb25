/* SPDX-License-Identifier: BSD-2-Clause */
/* listener_shutdown.c: shutdown of a listening TCP socket, by which programs end a thread that accepts. */
#include "inet_sockets.h"

static int listening;
static volatile long accepted;

static void *acceptor(void *unused)
{
    accepted = sys(SYS_accept4, listening, NULL, NULL, 0);
    return unused;
}

CONFORM(listener_shutdown)
{
    pthread_t thread;
    int waiting = bound(SOCK_STREAM), later = (int)sys(SYS_socket, AF_INET, SOCK_STREAM, 0);
    int client = (int)sys(SYS_socket, AF_INET, SOCK_STREAM, 0);
    struct pollfd arrival = { waiting, POLLIN, 0 };
    struct sockaddr_in name;

    listening = bound(SOCK_STREAM);
    sys(SYS_listen, listening, 4);
    result("for sending alone", sys(SYS_shutdown, listening, SHUT_WR));
    pthread_create(&thread, NULL, acceptor, NULL);
    rest_ms(20);
    name = name_of(listening);
    result("while a thread accepts", sys(SYS_shutdown, listening, SHUT_RDWR));
    pthread_join(thread, NULL);
    result("which gets", accepted);
    result("another accept", sys(SYS_accept4, listening, NULL, NULL, 0));
    result("again", sys(SYS_shutdown, listening, SHUT_RDWR));
    result("a connection", sys(SYS_connect, later, &name, sizeof(name)));
    sys(SYS_close, listening);

    sys(SYS_listen, waiting, 4);
    result("connected to another", connected(client, waiting));
    result("which could accept it", sys(SYS_ppoll, &arrival, 1, NULL, NULL));
    result("but does not", sys(SYS_shutdown, waiting, SHUT_RD));
    holds("its end is reset", got(client, (char[1]){ 0 }, 1, 0) <= 0);
    sys(SYS_close, waiting);
}
