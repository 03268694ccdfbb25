/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * visited.c: takes connections at TCP port 7000 and reads nothing of them, or with "close" closes each at
 * once, until a datagram comes to UDP port 7777. Then it prints what the node counts of its network.
 *
 * On a node of two ranks, rank 1 is the neighbour: it sends short datagrams to itself over loopback, TRIPS
 * while rank 0 computes, sends a datagram "quiet" to port 7778 of 10.9.0.1, and more datagrams to itself
 * while rank 0 does the above, until the node has received FRAMES frames. Then it ends rank 0, too. It prints
 * what the longest round trip took:
 *
 *      quiet: longest_ns N
 *      visited: longest_ns N
 */
#include "clock.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define TRIPS  1000
#define FRAMES 300 /* of the flood */

static int bound(int type, unsigned short port)
{
    const struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(port) };
    const int descriptor = socket(AF_INET, type, 0);

    if (descriptor < 0 || bind(descriptor, (const void *)&any, sizeof(any))) {
        perror("visited");
        _exit(1);
    }
    return descriptor;
}

/* ---- The neighbour ---- */

/* Returns what one round trip takes, in ns. */
static uint64_t trip_ns(int socket, const struct sockaddr_in *to)
{
    uint64_t begin = now_ns();
    char data[8] = "";

    if (sendto(socket, data, sizeof(data), 0, (const void *)to, sizeof(*to)) != sizeof(data) ||
        recv(socket, data, sizeof(data), 0) != sizeof(data))
        exit(1);
    return now_ns() - begin;
}

/* Returns how many frames the node has received. */
static unsigned long frames(void)
{
    static const char name[] = "received_frames ";
    char text[4096] = "";
    const int file = open("/proc/tacet/network", O_RDONLY);
    const char *found = read(file, text, sizeof(text) - 1) > 0 ? strstr(text, name) : NULL;

    close(file);
    return found ? strtoul(found + sizeof(name) - 1, NULL, 10) : 0;
}

/* Makes some round trips; *longest_ns becomes what one of them took, if that was more. */
static void trips_make(unsigned trips, int socket, const struct sockaddr_in *to, uint64_t *longest_ns)
{
    for (unsigned i = 0; i < trips; i++) {
        const uint64_t ns = trip_ns(socket, to);

        *longest_ns = ns > *longest_ns ? ns : *longest_ns;
    }
}

static void measure_quiet(int socket, const struct sockaddr_in *to)
{
    uint64_t longest_ns = 0;

    trips_make(TRIPS, socket, to, &longest_ns);
    printf("quiet: longest_ns %lu\n", longest_ns);
}

static void measure_visited(int socket, const struct sockaddr_in *to)
{
    const unsigned long begun = frames();
    uint64_t longest_ns = 0;

    while (frames() < begun + FRAMES)
        trips_make(TRIPS / 10, socket, to, &longest_ns);
    printf("visited: longest_ns %lu\n", longest_ns);
}

/* Returns a word that both ranks see: 1 when the neighbour has measured in quiet. */
static volatile unsigned *quiet_is_over(void)
{
    const int file = shm_open("/quiet", O_RDWR | O_CREAT, 0600);
    void *word = ftruncate(file, 4) ? MAP_FAILED : mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

    if (word == MAP_FAILED)
        exit(1);
    return word;
}

static int neighbour(void)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                              .sin_port = htons(7779) };
    struct sockaddr_in peer = { .sin_family = AF_INET, .sin_port = htons(7778) };
    const int own = bound(SOCK_DGRAM, 7779);

    inet_pton(AF_INET, "10.9.0.1", &peer.sin_addr);
    measure_quiet(own, &to);
    *quiet_is_over() = 1;
    if (sendto(own, "quiet", 5, 0, (void *)&peer, sizeof(peer)) != 5)
        exit(1);
    measure_visited(own, &to);
    to.sin_port = htons(7777);
    if (sendto(own, "end", 3, 0, (void *)&to, sizeof(to)) != 3)
        exit(1);
    return 0;
}

/* ---- Rank 0 ---- */

static int visited(int closes, int has_neighbour)
{
    struct pollfd both[] = { { bound(SOCK_STREAM, 7000), POLLIN, 0 },
                             { bound(SOCK_DGRAM, 7777), POLLIN, 0 } };
    unsigned taken = 0;
    char text[4096];

    if (listen(both[0].fd, 64))
        return 1;
    if (has_neighbour)
        for (volatile unsigned *over = quiet_is_over(); !*over;)
            ;
    while (poll(both, 2, -1) > 0 && !both[1].revents) {
        const int visitor = accept(both[0].fd, NULL, NULL);

        taken += visitor >= 0;
        if (visitor >= 0 && closes)
            close(visitor);
    }
    printf("taken %u\n", taken);
    FILE *file = fopen("/proc/tacet/network", "r");
    if (!file)
        return 1;
    size_t bytes = fread(text, 1, sizeof(text), file);
    return fwrite(text, 1, bytes, stdout) == bytes ? 0 : 1;
}

int main(int count, char **arguments)
{
    const char *rank = getenv("TACET_RANK"), *size = getenv("TACET_SIZE");

    if (rank && atoi(rank) == 1)
        return neighbour();
    return visited(count > 1 && strcmp(arguments[1], "close") == 0, size && atoi(size) == 2);
}
