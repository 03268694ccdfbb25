/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * transfer.c: sends a stream of bytes over TCP and receives one at the same time, and compares each byte that
 * comes with the one that must come:
 *
 *   transfer listen PORT KIB         one connection; says "listening" first
 *   transfer connect HOST PORT KIB   HOST in numbers; tries again until a listener is there
 *
 * The stream of either side is a sequence of random numbers (xorshift64, Marsaglia 2003) with a seed of the
 * side's own, so that a byte lost, doubled or moved differs from what is expected; pieces of all lengths are
 * written and read. Each side ends its stream by shutdown() and expects the other's end exactly after KIB.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PIECE_MAX   65536
#define TRIES       600
#define TRY_WAIT_NS 100000000
/* Time to stay at the end: a machine that is off cannot send a lost end of its stream again. */
#define LINGER_S 5

enum side { LISTENS = 1, CONNECTS = 2 };

struct stream {
    uint64_t state;
    uint64_t word;
    unsigned used_bytes; /* of the word; 0: all are used up */
};

struct sending {
    int connection;
    enum side side;
    uint64_t bytes;
    int error;
};

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static struct stream stream_of(enum side side)
{
    return (struct stream){ .state = UINT64_C(0x9e3779b97f4a7c15) * side };
}

static void stream_take(struct stream *stream, uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!stream->used_bytes)
            stream->word = random_next(&stream->state);
        bytes[i] = (uint8_t)(stream->word >> 8 * stream->used_bytes);
        stream->used_bytes = (stream->used_bytes + 1) % sizeof stream->word;
    }
}

/* Returns the length of the next piece: small ones and large ones. */
static size_t piece_bytes(uint64_t *lengths, uint64_t left)
{
    uint64_t number = random_next(lengths);
    size_t length = 1 + (number >> 8) % (number & 3 ? PIECE_MAX : 100);

    return length < left ? length : left;
}

static void *stream_send(void *argument)
{
    struct sending *sending = argument;
    struct stream stream = stream_of(sending->side);
    uint64_t lengths = 1 + sending->side, left = sending->bytes;
    static uint8_t piece[PIECE_MAX];

    while (left && !sending->error) {
        size_t length = piece_bytes(&lengths, left);

        stream_take(&stream, piece, length);
        left -= length;
        for (size_t sent = 0; sent < length;) {
            ssize_t count = send(sending->connection, piece + sent, length - sent, MSG_NOSIGNAL);

            if (count < 0) {
                sending->error = errno;
                return NULL;
            }
            sent += (size_t)count;
        }
    }
    if (shutdown(sending->connection, SHUT_WR) != 0)
        sending->error = errno;
    return NULL;
}

/* Receives the stream. Returns 0, or 1 after it has printed what was wrong. */
static int stream_receive(int connection, enum side from, uint64_t bytes)
{
    struct stream stream = stream_of(from);
    uint64_t lengths = 7 + from, received = 0;
    static uint8_t piece[PIECE_MAX], expected[PIECE_MAX];

    for (;;) {
        ssize_t count = recv(connection, piece, piece_bytes(&lengths, PIECE_MAX), 0);

        if (count < 0) {
            printf("after %llu bytes: %s\n", (unsigned long long)received, strerror(errno));
            return 1;
        }
        if (count == 0)
            break;
        stream_take(&stream, expected, (size_t)count);
        for (size_t i = 0; i < (size_t)count; i++) {
            if (piece[i] != expected[i]) {
                printf("byte %llu is another one\n", (unsigned long long)(received + i));
                return 1;
            }
        }
        received += (uint64_t)count;
    }
    if (received != bytes) {
        printf("the stream ended after %llu bytes\n", (unsigned long long)received);
        return 1;
    }
    printf("received %llu bytes\n", (unsigned long long)received);
    return 0;
}

static int transfer(int connection, enum side side, uint64_t bytes)
{
    struct sending sending = { .connection = connection, .side = side, .bytes = bytes };
    struct linger linger = { .l_onoff = 1, .l_linger = LINGER_S };
    pthread_t sender;
    int wrong;

    if (setsockopt(connection, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) != 0) {
        perror("SO_LINGER");
        return 1;
    }
    if (pthread_create(&sender, NULL, stream_send, &sending) != 0)
        return 1;
    wrong = stream_receive(connection, side == LISTENS ? CONNECTS : LISTENS, bytes);
    if (wrong)
        shutdown(connection, SHUT_RDWR);
    pthread_join(sender, NULL);
    if (sending.error) {
        printf("sending: %s\n", strerror(sending.error));
        return 1;
    }
    if (!wrong)
        printf("sent %llu bytes\n", (unsigned long long)bytes);
    return wrong | (close(connection) != 0);
}

static int accepted(in_port_t port)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = port };
    int listener = socket(AF_INET, SOCK_STREAM, 0), connection, on = 1;

    if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 1) != 0)
        return -1;
    puts("listening");
    fflush(stdout);
    connection = accept(listener, NULL, NULL);
    close(listener);
    return connection;
}

static int connected(const char *host, in_port_t port)
{
    const struct timespec wait = { .tv_nsec = TRY_WAIT_NS };
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = port };

    if (inet_pton(AF_INET, host, &address.sin_addr) != 1) {
        errno = EINVAL;
        return -1;
    }
    for (int i = 0; i < TRIES; i++) {
        int connection = socket(AF_INET, SOCK_STREAM, 0);

        if (connection < 0 || connect(connection, (struct sockaddr *)&address, sizeof address) == 0)
            return connection;
        close(connection);
        if (errno != ECONNREFUSED && errno != EHOSTUNREACH && errno != ETIMEDOUT)
            return -1;
        nanosleep(&wait, NULL);
    }
    return -1;
}

int main(int argc, char **argv)
{
    bool listens = argc == 4 && !strcmp(argv[1], "listen");
    in_port_t port;
    int connection;

    if (!listens && (argc != 5 || strcmp(argv[1], "connect"))) {
        fprintf(stderr, "usage: transfer listen PORT KIB | connect HOST PORT KIB\n");
        return 2;
    }
    port = htons((uint16_t)atoi(argv[argc - 2]));
    connection = listens ? accepted(port) : connected(argv[2], port);
    if (connection < 0) {
        perror("transfer");
        return 1;
    }
    return transfer(connection, listens ? LISTENS : CONNECTS, strtoull(argv[argc - 1], NULL, 0) << 10);
}
