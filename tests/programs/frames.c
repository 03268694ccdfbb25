/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frames.c [poll]: does what a peer at 10.0.0.1 orders by datagrams, each in a frame of its own, until the
 * peer orders the end. It waits for them; with `poll` it asks again and again, so that its CPU never idles.
 *
 * A datagram begins with its order:
 *   'e' echo: sent back as it is
 *   'j', 'l' join, leave: the group in the next four bytes; sent back when done
 *   'm' computes for as long as the peer needs to flood it, without a system call, and answers with how many
 *       interrupts of the card have come meanwhile and how many datagrams it finds then
 *   'q' the end: prints /proc/net/dev and the card's interrupts since the first order
 * Until the first order comes it sends 'h' again and again.
 */
#include "machine.h"
#include "promise.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <tacet.h>

#define PORT          5000
#define VECTOR_DEVICE 0xf3
#define BYTES_MIN     18 /* of the shortest frame */
#define ROOM          (1 << 20)
#define GROUPS_MAX    50 /* each by a socket of its own */
#define MASKED_MS     300

static struct sockaddr_in peer = { .sin_family = AF_INET };
static int orders;
static uint8_t order[1500];

static struct membership {
    struct in_addr group;
    int socket;
} memberships[GROUPS_MAX];

static uint64_t card_interrupts(void)
{
    return tacet_counters(0)->interrupts[VECTOR_DEVICE];
}

static void answer(const void *bytes, size_t count)
{
    while (sendto(orders, bytes, count, 0, (struct sockaddr *)&peer, sizeof(peer)) != (ssize_t)count)
        PROMISE(errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM, "errno %d", errno);
}

static void join(struct in_addr group)
{
    const struct ip_mreq request = { .imr_multiaddr = group };
    struct membership *one = memberships;

    while (one->socket)
        one++;
    *one = (struct membership){ group, socket(AF_INET, SOCK_DGRAM, 0) };
    IS(setsockopt(one->socket, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof(request)), 0);
}

static void leave(struct in_addr group)
{
    struct membership *one = memberships;

    while (one->group.s_addr != group.s_addr)
        one++;
    IS(close(one->socket), 0); /* which leaves it */
    *one = (struct membership){ 0 };
}

/* Lets the peer flood the card while this CPU computes, which the card does not interrupt then. */
static void compute_masked(void)
{
    uint8_t text[BYTES_MIN] = { 'm' };
    uint64_t work = 0, interrupts, found = 0;

    answer("masked until it ends", BYTES_MIN);
    interrupts = card_interrupts();
    for (uint64_t start = machine_ticks();
         machine_ticks() - start < MASKED_MS * tacet_node()->clock_hz / 1000;)
        machine_work(&work);
    interrupts = card_interrupts() - interrupts;
    while (recv(orders, order, sizeof(order), MSG_DONTWAIT) > 0)
        found++;
    text[1] = (uint8_t)(interrupts > 255 ? 255 : interrupts);
    text[2] = (uint8_t)(found > 255 ? 255 : found);
    answer(text, sizeof(text));
}

/* Does what is ordered; returns false at the end. */
static bool order_do(size_t bytes)
{
    struct in_addr group;

    memcpy(&group, order + 1, sizeof(group));
    if (order[0] == 'j')
        join(group);
    if (order[0] == 'l')
        leave(group);
    if (order[0] == 'm')
        compute_masked();
    if (order[0] == 'e' || order[0] == 'j' || order[0] == 'l')
        answer(order, bytes);
    return order[0] != 'q';
}

static void counts_print(uint64_t interrupts)
{
    static char text[2000];
    int file = open("/proc/net/dev", O_RDONLY);

    PROMISE(read(file, text, sizeof(text) - 1) > 0, "errno %d", errno);
    printf("%sinterrupts %llu\n", text, (unsigned long long)interrupts);
}

/* Makes the socket of orders, and returns the length of the first one. */
static size_t peer_meet(void)
{
    const struct sockaddr_in own = { .sin_family = AF_INET, .sin_port = htons(PORT) };
    const struct timeval pause = { .tv_usec = 100000 }, none = { 0 };
    const int room = ROOM;
    ssize_t bytes;

    peer.sin_port = htons(PORT);
    peer.sin_addr.s_addr = inet_addr("10.0.0.1");
    orders = socket(AF_INET, SOCK_DGRAM, 0);
    IS(setsockopt(orders, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)), 0);
    IS(setsockopt(orders, SOL_SOCKET, SO_RCVTIMEO, &pause, sizeof(pause)), 0);
    IS(bind(orders, (const struct sockaddr *)&own, sizeof(own)), 0);
    do /* the card's link may be down still: nothing is sent then */
        sendto(orders, "here: it takes orders", BYTES_MIN, 0, (struct sockaddr *)&peer, sizeof(peer));
    while ((bytes = recv(orders, order, sizeof(order), 0)) < 0);
    IS(setsockopt(orders, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none)), 0);
    return (size_t)bytes;
}

int main(int count, char **arguments)
{
    const int flags = count > 1 && strcmp(arguments[1], "poll") == 0 ? MSG_DONTWAIT : 0;
    ssize_t bytes = (ssize_t)peer_meet();
    const uint64_t interrupts = card_interrupts();

    while (bytes < 0 || order_do((size_t)bytes))
        bytes = recv(orders, order, sizeof(order), flags);
    counts_print(card_interrupts() - interrupts);
    return promises_kept();
}
