/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wire.c: see wire.h. No call blocks: if the system halts while it waits, a deterministic machine's clock
 * jumps to the next timer, and the jump would count as cost.
 */
#define _GNU_SOURCE
#include "wire.h"
#include "cycles.h"
#include "order.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ECHOES       101
#define ECHO_BYTES   64
#define STREAM_BYTES (2u << 20)
#define PIECE_BYTES  (16u << 10)
/* Mostly long enough for a peer's answer to come, and shorter than a tick of Linux. */
#define WAIT_TURNS 1000000
/* After this number of waits without an answer there is no peer. */
#define WAITS_MAX 5000

static uint64_t wait_ticks; /* time of one wait without interruption */
static uint64_t echoes_ticks[ECHOES];
static uint8_t piece[PIECE_BYTES];

static void wait_some(void)
{
    for (unsigned i = 0; i < WAIT_TURNS; i++)
        __asm__ volatile("" ::: "memory");
}

/* Sets wait_ticks to the least of some waits, which nothing interrupted. */
static void wait_calibrate(void)
{
    wait_ticks = UINT64_MAX;
    for (int i = 0; i < 20; i++) {
        uint64_t first = cycles_now(), second = cycles_now(), third;

        wait_some();
        third = cycles_now();
        if (third - second - (second - first) < wait_ticks)
            wait_ticks = third - second - (second - first);
    }
}

static int address_parse(const char *text, struct sockaddr_in *address)
{
    char host[16];
    unsigned port;
    int length;

    memset(address, 0, sizeof *address);
    address->sin_family = AF_INET;
    if (sscanf(text, "%15[0-9.]:%u%n", host, &port, &length) != 2 || text[length] || port > UINT16_MAX ||
        inet_pton(AF_INET, host, &address->sin_addr) != 1)
        return -EINVAL;
    address->sin_port = htons((uint16_t)port);
    return 0;
}

/* Makes one echo. *ticks is its duration without the wait, 0 if it took more than one wait. Returns 0, or
 * -errno, such as -ETIMEDOUT. */
static int echo_once(int socket, uint64_t *ticks)
{
    uint8_t datagram[ECHO_BYTES] = { 0 };
    uint64_t start = cycles_now(), waits = 0;

    if (send(socket, datagram, sizeof datagram, 0) != (ssize_t)sizeof datagram)
        return -errno;
    do {
        if (waits++ == WAITS_MAX)
            return -ETIMEDOUT;
        wait_some();
    } while (recv(socket, datagram, sizeof datagram, MSG_DONTWAIT) != (ssize_t)sizeof datagram);
    *ticks = waits == 1 ? cycles_now() - start - wait_ticks : 0;
    return 0;
}

static int echo_measure(const struct sockaddr_in *peer, struct wire_costs *costs)
{
    int connection = socket(AF_INET, SOCK_DGRAM, 0), error = 0;
    size_t counted = 0;

    if (connection < 0)
        return -errno;
    if (connect(connection, (const struct sockaddr *)peer, sizeof *peer) != 0)
        error = -errno;
    for (unsigned tries = 0; counted < ECHOES && !error; tries++) {
        error = tries < 10 * ECHOES ? echo_once(connection, &echoes_ticks[counted]) : -ETIMEDOUT;
        counted += !error && echoes_ticks[counted];
    }
    close(connection);
    order_sort(echoes_ticks, counted);
    costs->echo_min_ticks = echoes_ticks[0];
    costs->echo_median_ticks = echoes_ticks[ECHOES / 2];
    return error;
}

/* Opens a connection and tells the peer how many bytes to send. Returns the socket, or -errno. */
static int stream_open(const struct sockaddr_in *peer, uint64_t peer_bytes)
{
    int connection = socket(AF_INET, SOCK_STREAM, 0);

    if (connection < 0)
        return -errno;
    if (connect(connection, (const struct sockaddr *)peer, sizeof *peer) == 0 &&
        send(connection, &peer_bytes, sizeof peer_bytes, MSG_NOSIGNAL) == (ssize_t)sizeof peer_bytes)
        return connection;
    close(connection);
    return errno ? -errno : -EIO;
}

/* Moves the stream in one direction. *kib_ticks is the ticks of a KiB without the waits. */
static int stream_move(int connection, bool sends, uint64_t *kib_ticks)
{
    uint64_t start = cycles_now(), waits = 0;
    unsigned idle = 0;

    for (size_t left = STREAM_BYTES; left;) {
        size_t length = left < sizeof piece ? left : sizeof piece;
        ssize_t moved = sends ? send(connection, piece, length, MSG_DONTWAIT | MSG_NOSIGNAL)
                              : recv(connection, piece, length, MSG_DONTWAIT);

        if (moved > 0) {
            left -= (size_t)moved;
            idle = 0;
            continue;
        }
        if (moved == 0 || errno != EAGAIN)
            return moved == 0 ? -EPIPE : -errno;
        if (idle++ == WAITS_MAX)
            return -ETIMEDOUT;
        waits++;
        wait_some();
    }
    *kib_ticks = (cycles_now() - start - waits * wait_ticks) / (STREAM_BYTES >> 10);
    return 0;
}

static int stream_measure(const struct sockaddr_in *peer, bool sends, uint64_t *kib_ticks)
{
    int connection = stream_open(peer, sends ? 0 : STREAM_BYTES), error;

    if (connection < 0)
        return connection;
    error = stream_move(connection, sends, kib_ticks);
    close(connection);
    return error;
}

int wire_measure(const char *text, struct wire_costs *costs)
{
    struct sockaddr_in peer;
    int error = address_parse(text, &peer);

    wait_calibrate();
    if (!error)
        error = echo_measure(&peer, costs);
    if (!error)
        error = stream_measure(&peer, true, &costs->send_kib_ticks);
    return error ? error : stream_measure(&peer, false, &costs->receive_kib_ticks);
}
