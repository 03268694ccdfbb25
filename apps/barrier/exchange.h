/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exchange.h: datagrams between the nodes of a job, one rank on each, and a barrier of them.
 *
 * The barrier is dissemination [Hoefler10 Fig. 4]: in round k of ceil(log2 n), rank r sends to rank r + 2^k
 * and waits for rank r - 2^k, modulo n; after the last round every rank has heard of every other. A rank can
 * be one barrier ahead of another, never two, so what comes early is kept for that one.
 *
 * Nothing is sent twice but while the ranks meet. A message that does not come within the time limit ends the
 * process, in one line that says whose it was.
 */
#ifndef EXCHANGE_H
#define EXCHANGE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#define EXCHANGE_RANKS_MAX  64
#define EXCHANGE_ROUNDS_MAX 6

/* A message, numbers in network byte order. */
struct exchange_message {
    uint32_t magic;
    uint32_t sender; /* its rank */
    uint32_t barrier;
    uint32_t round;
};

struct exchange {
    int socket;
    uint32_t rank, size;
    uint32_t rounds;
    uint32_t barrier; /* that is under way, or comes next */
    uint64_t limit_ns;
    bool polls; /* waits by asking again and again: no interrupt, and the CPU stays busy */
    struct sockaddr_in addresses[EXCHANGE_RANKS_MAX];
    /* What has come, of barriers of even and odd numbers. */
    bool has_come[2][EXCHANGE_ROUNDS_MAX];
    uint64_t strays; /* datagrams that were no message of this job */
};

/*
 * Opens the socket; `first` is the address of rank 0, and those of the others follow it. A wait lasts
 * `limit_ns` at most. Ends the process where there is no socket.
 */
void exchange_open(struct exchange *exchange, uint32_t rank, uint32_t size, const struct sockaddr_in *first,
                   uint64_t limit_ns);

/* All ranks have their sockets, and know each other's hardware addresses: to be called first. */
void exchange_meet(struct exchange *exchange);

/* The message of this barrier's `round` to rank `to`. */
void exchange_send(struct exchange *exchange, uint32_t to, uint32_t round);

/* Waits for the message of this barrier's `round`, which rank `from` sends. */
void exchange_wait(struct exchange *exchange, uint32_t from, uint32_t round);

/* Forgets what has come of this barrier, and goes on to the next. */
void exchange_next(struct exchange *exchange);

/* Returns once all ranks have called it. */
void exchange_barrier(struct exchange *exchange);

#endif /* EXCHANGE_H */
