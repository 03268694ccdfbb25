/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tcp.c: see tcp.h.
 */
#include "service/lib/tcp.h"
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

int tcp_listen(struct sockaddr_in *here)
{
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    socklen_t bytes = sizeof(*here);

    if (listener < 0)
        return -1;
    if (setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)) == 0 &&
        bind(listener, (const struct sockaddr *)here, bytes) == 0 && listen(listener, SOMAXCONN) == 0 &&
        getsockname(listener, (struct sockaddr *)here, &bytes) == 0)
        return listener;
    const int error = errno;
    close(listener);
    errno = error;
    return -1;
}

void tcp_keep(int connection, uint64_t silence_ns)
{
    int limit_ms = silence_ns && silence_ns / 1000000 < INT32_MAX ? (int)(silence_ns / 1000000) : INT32_MAX;
    int every_s = limit_ms / 4000;

    if (every_s < 1)
        every_s = 1;
    if (every_s > 5)
        every_s = 5;
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
    setsockopt(connection, SOL_SOCKET, SO_KEEPALIVE, &(int){ 1 }, sizeof(int));
    setsockopt(connection, IPPROTO_TCP, TCP_KEEPIDLE, &every_s, sizeof(int));
    setsockopt(connection, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof(int));
    setsockopt(connection, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof(int));
}
