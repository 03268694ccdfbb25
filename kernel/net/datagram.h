/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datagram.h: sockets that send and receive packets one by one: UDP, ping (ICMP's echo), raw. What is
 * received is copied at once into memory of the rank that owns the socket, at most `room` bytes of it; more
 * is dropped, as on Linux. inet_datagram.c has the calls, datagram_input.c the input, icmp_error.c errors
 * that come back. All fields are guarded by the network's lock.
 */
#ifndef TACET_NETWORK_DATAGRAM_H
#define TACET_NETWORK_DATAGRAM_H

#include "lib/list.h"
#include "net/connection.h"
#include "net/inet.h"

#define DATAGRAM_ROOM_DEFAULT (256 * 1024U)
#define DATAGRAM_ROOM_MAX     (8 * 1024 * 1024U)
#define MEMBERSHIPS_MAX       20 /* Linux's igmp_max_memberships */
#define RAW_SOCKETS_MAX       8  /* of the node: each sees each packet, and may get a copy of it */

/* What is known of a packet apart from its bytes. */
struct arrival {
    uint32_t address, destination; /* of its sender; what it was sent to */
    uint16_t port;
    uint8_t ttl, interface;
    uint64_t time_ns; /* since 1970 */
};

struct datagram {
    struct list_link link;
    struct arrival arrival;
    uint32_t bytes, users; /* threads that are copying it */
    bool taken;
    char data[];
};

struct membership {
    uint32_t group, interface; /* group 0: unused; the interface by its address */
};

struct datagram_socket {
    struct socket socket; /* the first member */
    struct process *process;
    struct network_account *account;
    struct binding binding;       /* UDP's port, or a ping's identifier */
    struct datagram_socket *next; /* in the list of raw sockets */
    bool connected, header_included, receive_shut, send_shut;
    bool receives_packet_info, receives_ttl, receives_errors, multicast_loop;
    uint8_t ttl, tos, multicast_ttl;
    uint32_t multicast_interface; /* its address; 0: by route */
    uint32_t remote_address;
    uint16_t remote_port;
    int error; /* negative, pending */
    struct list received;
    uint64_t received_bytes; /* including what describes them */
    uint64_t changes;
    uint32_t room;
    uint32_t icmp_filter; /* a bit for each type that is dropped */
    struct membership memberships[MEMBERSHIPS_MAX];
};

extern struct binding_tree ping_bindings;
extern struct datagram_socket *raw_sockets;

static inline bool datagram_is_udp(const struct datagram_socket *socket)
{
    return socket->socket.protocol == PROTOCOL_UDP && socket->socket.type == SOCK_DGRAM;
}

static inline bool datagram_is_raw(const struct datagram_socket *socket)
{
    return socket->socket.type == SOCK_RAW;
}

/* Wakes the threads that wait for the socket. With the lock. */
void datagram_changed(struct datagram_socket *socket);

/* Returns, also without the lock, whether copies are left for the caller to make. datagram_deliver_more makes
 * one, with the lock; it returns false if none is left, or if the copy was for another rank. A datagram for
 * several sockets is copied for one of them at a time, and the lock is released after each, by CPUs that idle
 * and by ranks that are among the receivers. datagram_input.c */
bool datagram_has_more(void);
bool datagram_deliver_more(void);

/* Gives a socket an error that its packet has caused. With the lock. datagram_input.c */
void datagram_error(uint32_t local_address, uint16_t local_port, uint32_t remote_address,
                    uint16_t remote_port, int error);

/* Handles an ICMP message; the packet begins with the IP header. With the lock. icmp_error.c */
struct pbuf;
void icmp_error_input(const struct pbuf *packet, unsigned header_bytes);

#endif
