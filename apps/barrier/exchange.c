/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exchange.c: see exchange.h.
 *
 * Ranks meet at rank 0. The others send it a hello every 20 ms until they get its welcome. Rank 0 sends the
 * welcomes when it has heard all others. A welcome finds an open socket, because that has sent the hello. A
 * rank that got the welcome may send to all others.
 */
#include "exchange.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#define MAGIC 0x62617272

/* Round numbers of messages that belong to no barrier. */
#define HELLO   UINT32_C(1000)
#define WELCOME UINT32_C(1001)
#define STRAY   UINT32_C(1002) /* given to datagrams that are no message of this job */

#define HELLO_NS UINT64_C(20000000)
/* Barriers before the first that counts; after them each pair of ranks has exchanged hardware addresses. */
#define MEETING_BARRIERS 3

static uint64_t now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

_Noreturn static void fail(const struct exchange *exchange, const char *what)
{
    fprintf(stderr, "barrier: rank %" PRIu32 ": %s: %s\n", exchange->rank, what, strerror(errno));
    exit(1);
}

/* Sets how long one wait for a datagram lasts. */
static void patience_set(const struct exchange *exchange, uint64_t ns)
{
    const struct timeval wait = { (time_t)(ns / 1000000000), (suseconds_t)(ns % 1000000000 / 1000) };

    if (setsockopt(exchange->socket, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) != 0)
        fail(exchange, "SO_RCVTIMEO");
}

void exchange_open(struct exchange *exchange, uint32_t rank, uint32_t size, const struct sockaddr_in *first,
                   uint64_t limit_ns)
{
    struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = first->sin_port };

    memset(exchange, 0, sizeof(*exchange));
    exchange->rank = rank;
    exchange->size = size;
    exchange->limit_ns = limit_ns;
    while (UINT32_C(1) << exchange->rounds < size)
        exchange->rounds++;
    for (uint32_t other = 0; other < size; other++) {
        exchange->addresses[other] = *first;
        exchange->addresses[other].sin_addr.s_addr = htonl(ntohl(first->sin_addr.s_addr) + other);
    }
    exchange->socket = socket(AF_INET, SOCK_DGRAM, 0);
    if (exchange->socket < 0)
        fail(exchange, "socket");
    if (bind(exchange->socket, (const struct sockaddr *)&any, sizeof(any)) != 0)
        fail(exchange, "bind");
    patience_set(exchange, limit_ns);
}

/* ---- Messages ---- */

void exchange_send(struct exchange *exchange, uint32_t to, uint32_t round)
{
    const struct exchange_message message = { htonl(MAGIC), htonl(exchange->rank), htonl(exchange->barrier),
                                              htonl(round) };
    const struct sockaddr_in *address = &exchange->addresses[to];

    if (sendto(exchange->socket, &message, sizeof(message), 0, (const struct sockaddr *)address,
               sizeof(*address)) != sizeof(message))
        fail(exchange, "sendto");
}

/* Returns the rank from which this rank gets the message of a barrier's round. */
static uint32_t sender_of(const struct exchange *exchange, uint32_t round)
{
    return (exchange->rank + exchange->size - (UINT32_C(1) << round)) % exchange->size;
}

/* Receives one datagram into `message`, in this machine's byte order. Returns false if the wait times out, or
 * with MSG_DONTWAIT if there is none. */
static bool receive(struct exchange *exchange, struct exchange_message *message, int flags)
{
    /* A datagram that is too long is cut, and its length shows it. */
    struct {
        struct exchange_message message;
        char more;
    } room;
    ssize_t bytes;

    do
        bytes = recv(exchange->socket, &room, sizeof(room), flags);
    while (bytes < 0 && errno == EINTR);
    if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return false;
    if (bytes < 0)
        fail(exchange, "recv");
    *message = (struct exchange_message){ ntohl(room.message.magic), ntohl(room.message.sender),
                                          ntohl(room.message.barrier), ntohl(room.message.round) };
    if (bytes != sizeof(*message) || message->magic != MAGIC || message->sender >= exchange->size)
        message->round = STRAY;
    return true;
}

/* Notes a message of this barrier or the next. Anything else is a stray, which no rank of this job sends. */
static void note(struct exchange *exchange, const struct exchange_message *message)
{
    if (message->round < exchange->rounds && message->sender == sender_of(exchange, message->round) &&
        message->barrier - exchange->barrier < 2)
        exchange->has_come[message->barrier % 2][message->round] = true;
    else if (message->round != HELLO && message->round != WELCOME)
        exchange->strays++;
}

_Noreturn static void lost(const struct exchange *exchange, uint32_t from, uint32_t round)
{
    fprintf(stderr,
            "barrier: rank %" PRIu32 " has waited %" PRIu64 " ms for rank %" PRIu32 " in round %" PRIu32
            " of barrier %" PRIu32 ": a datagram was lost, or that rank has ended\n",
            exchange->rank, exchange->limit_ns / 1000000, from, round, exchange->barrier);
    exit(1);
}

void exchange_wait(struct exchange *exchange, uint32_t from, uint32_t round)
{
    const bool *has_come = &exchange->has_come[exchange->barrier % 2][round];
    uint64_t begin_ns = 0;

    while (!*has_come) {
        struct exchange_message message;
        const bool came = receive(exchange, &message, exchange->polls ? MSG_DONTWAIT : 0);

        if (came)
            note(exchange, &message);
        if (*has_come)
            return;
        /* Reads the clock only if the first message that came was another one. */
        if (!begin_ns)
            begin_ns = now_ns();
        if (!came && !exchange->polls)
            lost(exchange, from, round);
        if (now_ns() - begin_ns > exchange->limit_ns)
            lost(exchange, from, round);
    }
}

void exchange_next(struct exchange *exchange)
{
    memset(exchange->has_come[exchange->barrier % 2], 0, sizeof(exchange->has_come[0]));
    exchange->barrier++;
}

void exchange_barrier(struct exchange *exchange)
{
    for (uint32_t round = 0; round < exchange->rounds; round++) {
        exchange_send(exchange, (exchange->rank + (UINT32_C(1) << round)) % exchange->size, round);
        exchange_wait(exchange, sender_of(exchange, round), round);
    }
    exchange_next(exchange);
}

/* ---- The meeting ---- */

_Noreturn static void alone(const struct exchange *exchange, uint32_t other)
{
    fprintf(stderr, "barrier: rank %" PRIu32 " has heard nothing of rank %" PRIu32 " within %" PRIu64 " ms\n",
            exchange->rank, other, exchange->limit_ns / 1000000);
    exit(1);
}

/* Waits for the hellos of all others, then welcomes them; called by rank 0. */
static void meet_all(struct exchange *exchange, uint64_t end_ns)
{
    bool here[EXCHANGE_RANKS_MAX] = { true };
    uint32_t missing = 1;

    while (missing < exchange->size) {
        struct exchange_message message;

        if (receive(exchange, &message, 0) && message.round == HELLO)
            here[message.sender] = true;
        while (missing < exchange->size && here[missing])
            missing++;
        if (missing < exchange->size && now_ns() > end_ns)
            alone(exchange, missing);
    }
    for (uint32_t other = 1; other < exchange->size; other++)
        exchange_send(exchange, other, WELCOME);
}

static void meet_first(struct exchange *exchange, uint64_t end_ns)
{
    for (uint64_t again_ns = 0;;) {
        struct exchange_message message;

        if (now_ns() > end_ns)
            alone(exchange, 0);
        if (now_ns() >= again_ns) {
            exchange_send(exchange, 0, HELLO);
            again_ns = now_ns() + HELLO_NS;
        }
        if (!receive(exchange, &message, 0))
            continue;
        note(exchange, &message);
        if (message.round == WELCOME && message.sender == 0)
            return;
    }
}

void exchange_meet(struct exchange *exchange)
{
    const uint64_t end_ns = now_ns() + exchange->limit_ns;

    patience_set(exchange, HELLO_NS);
    (exchange->rank ? meet_first : meet_all)(exchange, end_ns);
    patience_set(exchange, exchange->limit_ns);
    for (int i = 0; i < MEETING_BARRIERS; i++)
        exchange_barrier(exchange);
}
