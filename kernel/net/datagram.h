/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datagram.h: sockets that send and receive packets one by one: UDP, ping (ICMP's echo), raw. What is
 * received is copied at once into memory of the rank that owns the socket, at most `room` bytes of it; more
 * is dropped, as on Linux. inet_datagram.c has the calls, inet_option.c their options, datagram_input.c
 * the input, icmp_error.c errors that come back. All fields are guarded by the network's lock.
 */
#ifndef TACET_NETWORK_DATAGRAM_H
#define TACET_NETWORK_DATAGRAM_H

#include "lib/list.h"
#include "net/connection.h"
#include "net/inet.h"

#define DATAGRAM_ROOM_DEFAULT (256 * 1024U)
#define DATAGRAM_ROOM_MIN     2304U
#define DATAGRAM_ROOM_MAX     (8 * 1024 * 1024U)
#define MEMBERSHIPS_MAX       20 /* Linux's igmp_max_memberships */
#define NODE_MEMBERSHIPS_MAX  255
#define RAW_SOCKETS_MAX       8  /* raw sockets of the node; each may get a copy of each packet */

/* What is known of a packet apart from its bytes. */
struct arrival {
    uint32_t address, destination; /* address of its sender; the address that it was sent to */
    uint16_t port;
    uint8_t ttl, tos, interface;
    uint64_t time_ns; /* since 1970 */
};

struct datagram {
    struct list_link link;
    struct arrival arrival;
    uint32_t bytes, users; /* the queue, or the thread that has taken it; and threads that look at it */
    char data[];
};

struct membership {
    uint32_t group, interface; /* group 0: unused; the interface by its address */
};

struct datagram_socket {
    struct socket socket; /* this and the next three are the first members: inet.h */
    struct ip_options ip;
    int error;
    uint64_t changes;
    struct process *process;
    struct network_account *account;
    struct binding binding; /* UDP's port, or a ping's identifier */
    struct list_link raw;   /* in the list of raw sockets */
    bool connected, header_included, receive_shut, send_shut;
    bool multicast_loop;
    uint8_t multicast_ttl;
    uint32_t multicast_interface; /* its address; 0: by route */
    uint32_t remote_address;
    uint16_t remote_port;
    struct list received;
    uint64_t received_bytes; /* including what describes them */
    uint32_t icmp_filter;    /* a bit for each type that is dropped */
    struct membership memberships[MEMBERSHIPS_MAX];
};

extern struct binding_tree ping_bindings;
extern struct list raw_sockets; /* the newest first */

static inline bool datagram_is_udp(const struct datagram_socket *socket)
{
    return socket->socket.protocol == PROTOCOL_UDP && socket->socket.type == SOCK_DGRAM;
}

static inline bool datagram_is_raw(const struct datagram_socket *socket)
{
    return socket->socket.type == SOCK_RAW;
}

/* Wakes the threads that wait for the socket. The caller holds the lock. */
void datagram_changed(struct datagram_socket *socket);

/* Returns, also without the lock, whether copies are left for the caller to make. datagram_deliver_more makes
 * one, and holds the lock; it returns false if none is left, or if the copy was for another rank. A datagram
 * for several sockets is copied for one of them at a time, and the lock is released after each, by CPUs that
 * idle and by ranks that are among the receivers. datagram_input.c */
bool datagram_has_more(void);
bool datagram_deliver_more(void);

/* Has datagrams for several sockets skip one that is about to be closed. The caller holds the lock.
 * datagram_input.c */
void datagram_receiver_skip(const struct binding *binding);

/* Gives a socket an error that its packet has caused. The caller holds the lock. datagram_input.c */
void datagram_error(const struct connection_ends *ends, int error);

/* Sets or reads an option of a socket (struct socket_operations). inet_option.c */
int datagram_option_set(struct file *file, int level, int option, const void *value, uint32_t bytes);
int datagram_option_get(struct file *file, int level, int option, void *value, uint32_t *bytes);

/* Leaves all multicast groups. The caller holds the lock. inet_option.c */
void datagram_memberships_drop(struct datagram_socket *socket);

/* Handles an ICMP message; the packet begins with the IP header. The caller holds the lock. icmp_error.c */
struct pbuf;
void icmp_error_input(const struct pbuf *packet, unsigned header_bytes);

#endif
