/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * multicast.c: rank 0 sends long datagrams to a group that many of its own sockets are in; rank 1, which has
 * nothing to do with it, sends short ones to itself meanwhile. Prints
 *
 *     rank 0: sent S, received R of S * SOCKETS
 *     rank 1: round_trips N, longest_ns T
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SOCKETS   100
#define BYTES     60000
#define PORT      5000
#define RUN_NS    60000000LL
#define BEGIN_NS  10000000LL
#define ROOM      (4 << 20)
#define CHECK(it) ((it) ? (void)0 : (perror(#it), exit(1)))

static long long now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int bound(struct sockaddr_in *name)
{
    int one = 1, room = ROOM, made = socket(AF_INET, SOCK_DGRAM, 0);

    CHECK(made >= 0);
    CHECK(setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0);
    CHECK(setsockopt(made, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)) == 0);
    CHECK(bind(made, (struct sockaddr *)name, sizeof(*name)) == 0);
    return made;
}

static void floods(void)
{
    static char data[BYTES];
    struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(PORT) };
    struct in_addr own = { htonl(INADDR_LOOPBACK) };
    struct ip_mreq group = { .imr_multiaddr.s_addr = inet_addr("239.1.1.1"), .imr_interface = own };
    const struct timespec pause = { .tv_nsec = BEGIN_NS };
    int sockets[SOCKETS], from = socket(AF_INET, SOCK_DGRAM, 0);
    unsigned sent = 0, received = 0;

    for (unsigned i = 0; i < SOCKETS; i++)
        sockets[i] = bound(&name);
    CHECK(setsockopt(sockets[0], IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof(group)) == 0);
    CHECK(setsockopt(from, IPPROTO_IP, IP_MULTICAST_IF, &own, sizeof(own)) == 0);
    name.sin_addr = group.imr_multiaddr;
    nanosleep(&pause, NULL); /* of the guest's time: some round trips of rank 1 are undisturbed */
    for (long long end = now_ns() + RUN_NS - 2 * BEGIN_NS; now_ns() < end;) {
        sent += sendto(from, data, BYTES, 0, (struct sockaddr *)&name, sizeof(name)) == BYTES;
        for (unsigned i = 0; i < SOCKETS; i++)
            received += recv(sockets[i], data, BYTES, MSG_DONTWAIT) == BYTES;
    }
    printf("rank 0: sent %u, received %u of %u\n", sent, received, sent * SOCKETS);
}

static void measures(void)
{
    struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t bytes = sizeof(name);
    int own = bound(&name);
    long long longest = 0;
    unsigned count = 0;
    char data[8];

    CHECK(getsockname(own, (struct sockaddr *)&name, &bytes) == 0);
    for (long long end = now_ns() + RUN_NS, before = now_ns(), after; before < end; before = after) {
        CHECK(sendto(own, data, sizeof(data), 0, (struct sockaddr *)&name, bytes) == sizeof(data));
        CHECK(recv(own, data, sizeof(data), 0) == sizeof(data));
        after = now_ns();
        longest = after - before > longest ? after - before : longest;
        count++;
    }
    printf("rank 1: round_trips %u, longest_ns %lld\n", count, longest);
}

int main(void)
{
    const char *rank = getenv("TACET_RANK");

    if (rank && atoi(rank) == 1)
        measures();
    else
        floods();
    return 0;
}
