/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ping_pong.c: datagrams there and back between two nodes.
 *
 *      ping_pong NODE ADDRESS PORT ROUNDS
 *
 * Node 1, which has the address, sends each datagram back until the last one has come. The other node sends
 * numbers from 1 on. It repeats each every 20 ms until the answer comes, and prints "NUMBER NS TRIES": the ns
 * from its last sending to its answer. At the end it sends a number that is no round's, three times. The
 * server ends with the first of these, or two seconds after the last number.
 */
#include "clock.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define AGAIN_MS  20
#define LINGER_MS 2000

static void patience_set(int to, int ms)
{
    const struct timeval wait = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };

    if (setsockopt(to, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) != 0) {
        perror("ping_pong: SO_RCVTIMEO");
        exit(1);
    }
}

static int serve(int at, uint32_t rounds)
{
    struct sockaddr_in from;
    uint32_t number;

    for (;;) {
        socklen_t length = sizeof from;

        if (recvfrom(at, &number, sizeof number, 0, (struct sockaddr *)&from, &length) != sizeof number)
            return 0; /* no request for long: the last answer has come, or its confirmation is lost */
        if (number > rounds)
            return 0;
        sendto(at, &number, sizeof number, 0, (struct sockaddr *)&from, length);
        if (number == rounds)
            patience_set(at, LINGER_MS);
    }
}

static int ask(int to, const struct sockaddr_in *server, uint32_t rounds)
{
    patience_set(to, AGAIN_MS);
    for (uint32_t number = 1; number <= rounds; number++) {
        uint32_t answer = 0;
        unsigned tries = 0;
        uint64_t sent = 0;

        while (answer != number) {
            sent = now_ns();
            tries++;
            sendto(to, &number, sizeof number, 0, (const struct sockaddr *)server, sizeof *server);
            if (recv(to, &answer, sizeof answer, 0) != sizeof answer)
                answer = 0;
        }
        printf("%" PRIu32 " %" PRIu64 " %u\n", number, now_ns() - sent, tries);
    }
    rounds++;
    for (int i = 0; i < 3; i++)
        sendto(to, &rounds, sizeof rounds, 0, (const struct sockaddr *)server, sizeof *server);
    usleep(AGAIN_MS * 1000);
    return 0;
}

int main(int argc, char **argv)
{
    struct sockaddr_in place = { .sin_family = AF_INET };
    int end = socket(AF_INET, SOCK_DGRAM, 0);

    if (argc != 5 || inet_pton(AF_INET, argv[2], &place.sin_addr) != 1) {
        fprintf(stderr, "ping_pong: it takes NODE ADDRESS PORT ROUNDS\n");
        return 2;
    }
    place.sin_port = htons((uint16_t)atoi(argv[3]));
    if (atoi(argv[1]) != 1)
        return ask(end, &place, (uint32_t)atoi(argv[4]));
    if (bind(end, (struct sockaddr *)&place, sizeof place) != 0) {
        perror("ping_pong: bind");
        return 1;
    }
    return serve(end, (uint32_t)atoi(argv[4]));
}
