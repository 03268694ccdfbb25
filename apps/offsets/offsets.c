/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * offsets.c: measures how far the global clocks (CLOCK_TAI, docs/nettick.md) of several nodes are apart. It
 * runs on all of them at once, with the addresses of all; each node asks each other for its time by UDP.
 *
 * An exchange gives four times. By the own clock: request sent (t0), reply received (t3). By the other's:
 * request received (t1), reply sent (t2). The offset is ((t1 - t0) + (t2 - t3)) / 2, the delay (t3 - t0) -
 * (t2 - t1) [Mills, RFC 5905 §8]. It is unknown which way took longer, so an offset is only right to half its
 * delay. So of a few exchanges the one with the least delay is kept.
 *
 * A node has its samples when it has asked all others often enough. It goes on answering until all others
 * have theirs, too. Each packet says whether its sender has all its samples. One thread.
 */
#define _GNU_SOURCE
#include "cycles.h"
#include "parse.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NODES_MAX     64
#define PORT_DEFAULT  35020
#define SAMPLES_MAX   1000000
#define BURST_MAX     1000
#define LIMIT_NS      60000000000ULL        /* longest wait for all nodes to answer */
#define REPLY_NS      50000000ULL           /* an exchange that takes longer is lost */
#define LINGER        20                    /* intervals at the end in which others may still ask */
#define PACKET_MAGIC  0x6f66667365747331ULL /* "offsets1" */
#define NS_PER_SECOND 1000000000ULL

enum kind { REQUEST = 1, REPLY = 2 };

/* A packet on the wire, in network byte order. */
struct packet {
    uint64_t magic;
    uint32_t kind;
    uint32_t has_all; /* the sender needs no more answers */
    uint64_t number;  /* the exchange's number */
    uint64_t requested_ns, received_ns, replied_ns;
};

struct peer {
    struct sockaddr_in address;
    const char *name;
    bool is_there, has_all;
};

struct exchange {
    uint64_t at_ns; /* when the reply came, by this node's clock */
    uint64_t ticks; /* when the reply came, by the cycle counter */
    int64_t offset_ns, delay_ns;
};

static struct peer peers[NODES_MAX];
static size_t peer_count;
static const char *own_name;
static int wire;
static bool has_all;
static uint64_t exchanges, lost;

static const char usage[] =
    "usage: offsets [-n SAMPLES] [-b BURST] [-i INTERVAL] [-w WAIT] [-p PORT] [-h] ADDRESS ADDRESS...\n"
    "\n"
    "Measures how far the global clocks of nodes are apart. Run it on all nodes, with the IPv4 addresses\n"
    "of all. It prints a line for each sample: the other node, the time by the own clock (ns) and by the\n"
    "cycle counter, how far the other clock is ahead (ns), and the delay of the exchange (ns). The offset\n"
    "is right to half of the delay.\n"
    "\n"
    "  -n SAMPLES   number of samples for each other node (default 100)\n"
    "  -b BURST     exchanges per sample; the one with the least delay counts (default 8)\n"
    "  -i INTERVAL  from one round of samples to the next: 10ms, 500us, or ns without a unit (default 10ms)\n"
    "  -w WAIT      time until the first round, for clocks to settle (default 1ns)\n"
    "  -p PORT      UDP port (default 35020)\n"
    "  -h           this text\n";

_Noreturn static void refuse(const char *what, const char *value, const char *right)
{
    fprintf(stderr, "offsets: %s %s: %s\n", what, value, right);
    exit(2);
}

_Noreturn static void give_up(const char *what)
{
    fprintf(stderr, "offsets: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_nsec;
}

/* Returns the time that limits are measured with: global time may step until beats have come. */
static uint64_t local_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

/* ---- Packets ---- */

static void packet_send(struct peer *peer, struct packet *packet)
{
    packet->magic = htobe64(PACKET_MAGIC);
    packet->has_all = htobe32(has_all);
    /* Errors are ignored, as a lost packet is sent again: the node may not run yet, or no longer. */
    (void)!sendto(wire, packet, sizeof(*packet), 0, (void *)&peer->address, sizeof(peer->address));
}

static struct peer *peer_find(const struct sockaddr_in *from)
{
    for (struct peer *peer = peers; peer < peers + peer_count; peer++)
        if (peer->address.sin_addr.s_addr == from->sin_addr.s_addr &&
            peer->address.sin_port == from->sin_port)
            return peer;
    return NULL;
}

/*
 * Takes one packet, waiting until `until_ns` at most, and replies to it if it is a request. Returns true if
 * it is the reply of peer `expected` to exchange `number`, and sets *exchange.
 */
static bool packet_take(uint64_t until_ns, const struct peer *expected, uint64_t number,
                        struct exchange *exchange)
{
    const uint64_t now = local_ns();
    const struct timespec left = { (time_t)((until_ns - now) / NS_PER_SECOND),
                                   (long)((until_ns - now) % NS_PER_SECOND) };
    struct pollfd ready = { .fd = wire, .events = POLLIN };
    struct packet packet;
    struct sockaddr_in from;
    socklen_t bytes = sizeof(from);

    if (now >= until_ns || ppoll(&ready, 1, &left, NULL) <= 0)
        return false;
    if (recvfrom(wire, &packet, sizeof(packet), MSG_TRUNC, (void *)&from, &bytes) != sizeof(packet))
        return false;
    const uint64_t at_ns = clock_ns(CLOCK_TAI), ticks = cycles_now();
    struct peer *peer = peer_find(&from);
    if (!peer || packet.magic != htobe64(PACKET_MAGIC))
        return false;
    peer->is_there = true;
    peer->has_all |= packet.has_all != 0;
    if (packet.kind == htobe32(REQUEST)) {
        packet.kind = htobe32(REPLY);
        packet.received_ns = htobe64(at_ns);
        packet.replied_ns = htobe64(clock_ns(CLOCK_TAI));
        packet_send(peer, &packet);
        return false;
    }
    if (packet.kind != htobe32(REPLY) || peer != expected || packet.number != htobe64(number))
        return false;
    const int64_t out_ns = (int64_t)(be64toh(packet.received_ns) - be64toh(packet.requested_ns));
    const int64_t back_ns = (int64_t)(at_ns - be64toh(packet.replied_ns));
    *exchange = (struct exchange){ at_ns, ticks, (out_ns - back_ns) / 2, out_ns + back_ns };
    return true;
}

static void serve_until(uint64_t until_ns)
{
    struct exchange none;

    while (local_ns() < until_ns)
        packet_take(until_ns, NULL, 0, &none);
}

/* Asks once; false if no reply comes in time. */
static bool exchange_make(struct peer *peer, struct exchange *exchange)
{
    const uint64_t number = ++exchanges, until_ns = local_ns() + REPLY_NS;
    struct packet packet = { .kind = htobe32(REQUEST), .number = htobe64(number) };

    packet.requested_ns = htobe64(clock_ns(CLOCK_TAI));
    packet_send(peer, &packet);
    while (local_ns() < until_ns)
        if (packet_take(until_ns, peer, number, exchange))
            return true;
    return false;
}

/* ---- Phases ---- */

static void all_await(void)
{
    const uint64_t until_ns = local_ns() + LIMIT_NS;
    struct exchange exchange;

    for (struct peer *peer = peers; peer < peers + peer_count; peer++)
        while (!peer->is_there && !exchange_make(peer, &exchange))
            if (local_ns() >= until_ns)
                refuse("no answer from", peer->name, "run offsets on that node, too, with the same -p");
}

static void sample(struct peer *peer, uint64_t burst)
{
    struct exchange best = { 0 }, exchange;
    bool is_any = false;

    for (uint64_t i = 0; i < burst; i++) {
        if (!exchange_make(peer, &exchange))
            lost++;
        else if (!is_any || exchange.delay_ns < best.delay_ns)
            best = exchange, is_any = true;
    }
    if (is_any)
        printf("%s %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 "\n", peer->name, best.at_ns, best.ticks,
               best.offset_ns, best.delay_ns);
}

static bool all_have_all(void)
{
    bool all = true;

    for (const struct peer *peer = peers; peer < peers + peer_count; peer++)
        all &= peer->has_all;
    return all;
}

/* Answers until all others have their samples, and a while longer. */
static void others_await(uint64_t interval_ns)
{
    const uint64_t until_ns = local_ns() + LIMIT_NS;
    struct exchange exchange;

    has_all = true;
    while (!all_have_all() && local_ns() < until_ns) {
        for (struct peer *peer = peers; peer < peers + peer_count; peer++)
            exchange_make(peer, &exchange);
        serve_until(local_ns() + interval_ns);
    }
    serve_until(local_ns() + LINGER * interval_ns);
}

/* ---- The program ---- */

static uint64_t time_read(const char *option, const char *text)
{
    uint64_t time_ns;
    const char *fault = parse_time_ns(text, &time_ns);

    if (fault)
        refuse(option, text, fault);
    return time_ns;
}

static uint64_t count_read(const char *option, const char *text, uint64_t maximum)
{
    uint64_t count;
    const char *fault = parse_count(text, 1, maximum, &count);

    if (fault)
        refuse(option, text, fault);
    return count;
}

/* Reads the addresses. This node's is the one to which a socket can be bound. */
static void addresses_take(char **words, int count, uint16_t port)
{
    if (count < 2 || count > NODES_MAX)
        refuse("addresses", "", "give those of two nodes at least, 64 at most");
    if ((wire = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) < 0)
        give_up("a socket");
    for (int i = 0; i < count; i++) {
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };

        if (inet_pton(AF_INET, words[i], &address.sin_addr) != 1)
            refuse("address", words[i], "give an IPv4 address, such as 10.0.0.7");
        if (!own_name && bind(wire, (void *)&address, sizeof(address)) == 0)
            own_name = words[i];
        else if (!own_name && errno != EADDRNOTAVAIL)
            give_up(words[i]);
        else if (own_name && strcmp(own_name, words[i]) == 0)
            refuse("address", words[i], "it is there twice");
        else
            peers[peer_count++] = (struct peer){ .address = address, .name = words[i] };
    }
    if (!own_name)
        refuse("addresses", "", "none of them is this node's");
}

int main(int count, char **words)
{
    uint64_t samples = 100, burst = 8, interval_ns = 10000000, wait_ns = 1, port = PORT_DEFAULT;
    int option;

    while ((option = getopt(count, words, "n:b:i:w:p:h")) != -1) {
        if (option == 'n')
            samples = count_read("-n", optarg, SAMPLES_MAX);
        else if (option == 'b')
            burst = count_read("-b", optarg, BURST_MAX);
        else if (option == 'i')
            interval_ns = time_read("-i", optarg);
        else if (option == 'w')
            wait_ns = time_read("-w", optarg);
        else if (option == 'p')
            port = count_read("-p", optarg, UINT16_MAX);
        else if (option == 'h')
            return fputs(usage, stdout) < 0;
        else
            return fputs(usage, stderr), 2;
    }
    addresses_take(words + optind, count - optind, (uint16_t)port);
    printf("# offsets of %s: %" PRIu64 " samples, the best of %" PRIu64 " exchanges each\n"
           "# node at_ns ticks offset_ns delay_ns\n",
           own_name, samples, burst);
    all_await();
    serve_until(local_ns() + wait_ns);
    uint64_t next_ns = local_ns();
    for (uint64_t i = 0; i < samples; i++) {
        for (struct peer *peer = peers; peer < peers + peer_count; peer++)
            sample(peer, burst);
        next_ns += interval_ns;
        serve_until(next_ns);
    }
    printf("# lost %" PRIu64 "\n", lost);
    others_await(interval_ns);
    if (fflush(stdout) != 0)
        give_up("standard output");
    return 0;
}
