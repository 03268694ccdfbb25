/* SPDX-License-Identifier: BSD-2-Clause */
/* socket_restart.c: signals while a socket's call waits: it goes on after a handler with SA_RESTART, unless
 * it has a time limit. */
#include "unix_names.h"

static int listener;
static volatile int seen;

static void note(int number)
{
    seen += number == SIGUSR1;
}

static void *signal_then_connect(void *thread)
{
    int client = (int)sys(SYS_socket, AF_UNIX, SOCK_STREAM, 0);

    for (int i = 0; i < 5; i++) {
        rest_ms(20);
        pthread_kill(*(pthread_t *)thread, SIGUSR1);
    }
    rest_ms(20);
    connected(client, "listener");
    sys(SYS_close, client);
    return NULL;
}

static volatile bool back;

static void *signal_until_back(void *thread)
{
    for (int i = 0; i < 500 && !back; i++) {
        rest_ms(20);
        pthread_kill(*(pthread_t *)thread, SIGUSR1);
    }
    return NULL;
}

/* What accept answers that is signalled until it comes back. */
static void signalled(const char *what)
{
    pthread_t self = pthread_self(), thread;

    back = false;
    pthread_create(&thread, NULL, signal_until_back, &self);
    long answer = sys(SYS_accept, listener, NULL, NULL);
    back = true;
    pthread_join(thread, NULL);
    result(what, answer);
}

CONFORM(socket_restart)
{
    struct sigaction restarts = { .sa_handler = note, .sa_flags = SA_RESTART }, ends = { .sa_handler = note };
    struct timeval limit = { 100, 0 };
    pthread_t self = pthread_self(), thread;

    if (!in_tmp())
        return;
    sigaction(SIGUSR1, &restarts, NULL);
    listener = (int)sys(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
    bound(listener, "listener");
    result("listens", sys(SYS_listen, listener, 1));
    pthread_create(&thread, NULL, signal_then_connect, &self);
    long end = sys(SYS_accept, listener, NULL, NULL);
    pthread_join(thread, NULL);
    holds("accepted after signals", end > 2 && seen > 0);
    sys(SYS_close, end);
    sigaction(SIGUSR1, &ends, NULL);
    signalled("without a restart");
    sigaction(SIGUSR1, &restarts, NULL);
    sys(SYS_setsockopt, listener, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    signalled("with a time limit");
    limit = (struct timeval){ 0, 30000 };
    sys(SYS_setsockopt, listener, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    uint64_t begun = now_ns();
    result("a short one", sys(SYS_accept, listener, NULL, NULL));
    holds("took its time", now_ns() - begun >= 15000000);
    sys(SYS_close, listener);
}
