/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exchange.h: datagrams between the nodes of a job, one rank on each, and a barrier of them.
 *
 * The barrier is dissemination [Hoefler10 Fig. 4]: in round k of ceil(log2 n), rank r sends to rank r + 2^k
 * and waits for rank r - 2^k, modulo n; after the last round every rank has heard of every other. A rank can
 * be one barrier ahead of another, never two, so early messages are kept for the next barrier.
 *
 * Nothing is sent twice, except while the ranks meet. If a message does not come within the time limit, the
 * process prints a line that names the sender, and ends.
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
    uint32_t barrier; /* number of the current or next barrier */
    uint64_t limit_ns;
    bool polls; /* waits by polling: no interrupt, and the CPU stays busy */
    struct sockaddr_in addresses[EXCHANGE_RANKS_MAX];
    /* Which rounds' messages have come, for barriers of even and of odd numbers. */
    bool has_come[2][EXCHANGE_ROUNDS_MAX];
    uint64_t strays; /* datagrams that were no message of this job */
};

/*
 * Opens the socket. `first` is the address of rank 0; those of the others follow it. A wait lasts `limit_ns`
 * at most. If there is no socket, ends the process.
 */
void exchange_open(struct exchange *exchange, uint32_t rank, uint32_t size, const struct sockaddr_in *first,
                   uint64_t limit_ns);

/* Waits until all ranks have their sockets and know each other's hardware addresses; to be called first. */
void exchange_meet(struct exchange *exchange);

/* Sends the message of this barrier's `round` to rank `to`. */
void exchange_send(struct exchange *exchange, uint32_t to, uint32_t round);

/* Waits for the message of this barrier's `round` from rank `from`. */
void exchange_wait(struct exchange *exchange, uint32_t from, uint32_t round);

/* Goes on to the next barrier; forgets the messages of this one. */
void exchange_next(struct exchange *exchange);

/* Passes a barrier: returns once all ranks have called it. */
void exchange_barrier(struct exchange *exchange);

#endif /* EXCHANGE_H */
