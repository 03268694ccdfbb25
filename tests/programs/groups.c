/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * groups.c: rank 0 joins as many multicast groups as it may; rank 1 joins one afterwards, and waits for a
 * datagram of another host. Prints
 *
 *     rank 0: joined N of SOCKETS * EACH, then ERROR
 *     rank 1: joined 1, received TEXT
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#define SOCKETS 200
#define EACH    20
#define PORT    7777
#define TURN_0  5000
#define TURN_1  5001

static int join(int socket, unsigned number)
{
    const struct ip_mreq group = { .imr_multiaddr.s_addr = htonl(0xef010000u + number) };

    return setsockopt(socket, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof(group));
}

static void joins_all(void)
{
    unsigned joined = 0;
    int error = 0;

    for (unsigned i = 0; i < SOCKETS * EACH; i++) {
        static int made;

        if (i % EACH == 0)
            made = socket(AF_INET, SOCK_DGRAM, 0);
        if (join(made, i) == 0)
            joined++;
        else
            error = errno;
    }
    printf("rank 0: joined %u of %u, then %s\n", joined, SOCKETS * EACH, strerror(error));
    fflush(stdout);
}

static int bound(unsigned short port)
{
    const struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(port) };
    const int made = socket(AF_INET, SOCK_DGRAM, 0);

    if (made < 0 || bind(made, (const struct sockaddr *)&any, sizeof(any))) {
        perror("groups");
        exit(1);
    }
    return made;
}

/* Tells the other rank that it is its turn. */
static void turn(int from, unsigned short port)
{
    const struct sockaddr_in to = { .sin_family = AF_INET,
                                    .sin_port = htons(port),
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

    sendto(from, "", 1, 0, (const struct sockaddr *)&to, sizeof(to));
}

int main(void)
{
    const char *rank = getenv("TACET_RANK");
    const int number = rank ? atoi(rank) : 0, turns = bound(number ? TURN_1 : TURN_0);
    char text[64] = "";

    if (number == 0) {
        const struct timeval pause = { .tv_usec = 100000 };

        setsockopt(turns, SOL_SOCKET, SO_RCVTIMEO, &pause, sizeof(pause));
        joins_all(); /* and keeps them until rank 1 is through */
        do
            turn(turns, TURN_1);
        while (recv(turns, text, sizeof(text), 0) < 0);
        return 0;
    }
    const int own = bound(PORT);
    if (recv(turns, text, sizeof(text), 0) < 0 || join(own, 1u << 16) ||
        recv(own, text, sizeof(text) - 1, 0) < 0) {
        perror("groups");
        return 1;
    }
    printf("rank 1: joined 1, received %s\n", text);
    turn(turns, TURN_0);
    return 0;
}
