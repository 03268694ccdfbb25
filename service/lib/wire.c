/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wire.c: see wire.h.
 */
#include "service/lib/wire.h"
#include "beat/beat_frame.h"
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#define RECEIVE_BYTES (16 << 20) /* room for the answers of all nodes to one beat */

static int wire_listen(const struct wire *wire)
{
    const struct sockaddr_ll here = { .sll_family = AF_PACKET,
                                      .sll_protocol = htons(BEAT_ETHERTYPE),
                                      .sll_ifindex = wire->index };
    const int on = 1, room = RECEIVE_BYTES;

    /* Exceeding the system's limit needs CAP_NET_ADMIN. */
    if (setsockopt(wire->socket, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
        setsockopt(wire->socket, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
    return setsockopt(wire->socket, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) ||
                   bind(wire->socket, (const struct sockaddr *)&here, sizeof(here))
               ? -1
               : 0;
}

int wire_open(struct wire *wire, const char *interface, const char **what)
{
    struct ifreq request = { 0 };

    *what = "its name is too long";
    errno = ENAMETOOLONG;
    if (strlen(interface) >= IFNAMSIZ)
        return -1;
    memcpy(request.ifr_name, interface, strlen(interface));
    *what = "cannot open a packet socket; it needs root or CAP_NET_RAW";
    wire->socket = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (wire->socket < 0)
        return -1;
    *what = "no such interface";
    if (ioctl(wire->socket, SIOCGIFINDEX, &request))
        return -1;
    wire->index = request.ifr_ifindex;
    *what = "cannot read its address";
    if (ioctl(wire->socket, SIOCGIFHWADDR, &request))
        return -1;
    *what = "not an Ethernet interface";
    if (request.ifr_hwaddr.sa_family != ARPHRD_ETHER) {
        errno = EOPNOTSUPP;
        return -1;
    }
    memcpy(wire->address, request.ifr_hwaddr.sa_data, sizeof(wire->address));
    *what = "cannot listen";
    return wire_listen(wire);
}

int wire_send_to(const struct wire *wire, const uint8_t to[6], const uint8_t *payload, size_t bytes)
{
    uint8_t frame[ETH_HLEN + BEAT_BYTES_MAX];
    struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_ifindex = wire->index, .sll_halen = ETH_ALEN };

    memcpy(at.sll_addr, to, ETH_ALEN);
    memcpy(frame, to, ETH_ALEN);
    memcpy(frame + ETH_ALEN, wire->address, ETH_ALEN);
    frame[12] = BEAT_ETHERTYPE >> 8;
    frame[13] = BEAT_ETHERTYPE & 0xff;
    memcpy(frame + ETH_HLEN, payload, bytes);
    return sendto(wire->socket, frame, ETH_HLEN + bytes, 0, (struct sockaddr *)&at, sizeof(at)) < 0 ? -1 : 0;
}

int wire_send(const struct wire *wire, const uint8_t *payload, size_t bytes)
{
    static const uint8_t all[ETH_ALEN] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

    return wire_send_to(wire, all, payload, bytes);
}

/* Returns the system's time stamp of a frame's arrival; 0 if it has none. */
static uint64_t arrival_of(struct msghdr *message)
{
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part))
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec at;

            memcpy(&at, CMSG_DATA(part), sizeof(at));
            return (uint64_t)at.tv_sec * 1000000000ULL + (uint64_t)at.tv_nsec;
        }
    return 0;
}

int wire_receive(const struct wire *wire, struct wire_frame *frame)
{
    struct sockaddr_ll from = { 0 };
    uint8_t header[ETH_HLEN];
    union {
        struct cmsghdr header;
        char bytes[256];
    } control;
    struct iovec parts[] = { { header, sizeof(header) }, { frame->payload, sizeof(frame->payload) } };
    struct msghdr message = { .msg_name = &from,
                              .msg_namelen = sizeof(from),
                              .msg_iov = parts,
                              .msg_iovlen = 2,
                              .msg_control = &control,
                              .msg_controllen = sizeof(control) };
    ssize_t bytes = recvmsg(wire->socket, &message, 0);

    if (bytes < 0)
        return -1;
    memcpy(frame->from, header + ETH_ALEN, sizeof(frame->from));
    frame->is_for_us = from.sll_pkttype == PACKET_HOST || from.sll_pkttype == PACKET_BROADCAST;
    frame->arrived_ns = arrival_of(&message);
    frame->bytes = bytes < ETH_HLEN ? 0 : (size_t)bytes - ETH_HLEN;
    return 0;
}

void wire_wait(const struct wire *wire)
{
    struct pollfd ready = { .fd = wire->socket, .events = POLLIN };

    poll(&ready, 1, -1);
}

/* Reads the statistics; reading resets them (packet(7)). */
uint64_t wire_dropped(const struct wire *wire)
{
    struct tpacket_stats counts = { 0 };
    socklen_t bytes = sizeof(counts);

    return getsockopt(wire->socket, SOL_PACKET, PACKET_STATISTICS, &counts, &bytes) ? 0 : counts.tp_drops;
}
