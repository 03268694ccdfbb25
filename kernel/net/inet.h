/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inet.h: what the files of AF_INET's sockets share: inet.c (which kind a program gets, addresses),
 * inet_stream.c (TCP), inet_datagram.c (UDP, ping and raw sockets), inet_option.c.
 */
#ifndef TACET_NETWORK_INET_H
#define TACET_NETWORK_INET_H

#include "fs/socket.h"

#define LEVEL_IP  0
#define LEVEL_TCP 6

enum ip_protocol {
    PROTOCOL_IP = 0,
    PROTOCOL_ICMP = 1,
    PROTOCOL_TCP = 6,
    PROTOCOL_UDP = 17,
    PROTOCOL_RAW = 255,
    PROTOCOL_LAST = 262 /* that Linux knows */
};

/* Linux's options of level IP. */
enum ip_option {
    IP_TOS = 1,
    IP_TTL = 2,
    IP_HDRINCL = 3,
    IP_RETOPTS = 7,
    IP_PKTINFO = 8,
    IP_MTU_DISCOVER = 10,
    IP_RECVERR = 11,
    IP_RECVTTL = 12,
    IP_RECVTOS = 13,
    IP_MTU = 14,
    IP_FREEBIND = 15,
    IP_BIND_ADDRESS_NO_PORT = 24,
    IP_MULTICAST_IF = 32,
    IP_MULTICAST_TTL = 33,
    IP_MULTICAST_LOOP = 34,
    IP_ADD_MEMBERSHIP = 35,
    IP_DROP_MEMBERSHIP = 36,
    IP_MULTICAST_ALL = 49,
};

/* Values of IP_MTU_DISCOVER with which no packet may be fragmented. */
enum { MTU_USUAL = 1, MTU_DO = 2, MTU_PROBE = 3 };

/* Options of level IP that sockets of all kinds keep. */
struct ip_options {
    uint8_t ttl, tos, mtu_discover;
    bool receives_packet_info, receives_ttl, receives_tos, receives_errors, returns_options;
    bool free_bind, no_port, all_groups;
};
#define IP_OPTIONS_INITIAL ((struct ip_options){ .ttl = 64, .mtu_discover = MTU_USUAL, .all_groups = true })

/* How the structures of all sockets of AF_INET begin; guarded by the network's lock. */
struct inet_socket {
    struct socket socket;
    struct ip_options ip;
    int error;        /* negative, pending */
    uint64_t changes; /* number of changes of its readiness */
};

struct command_line;
struct message;

/* Reads `raw_sockets=`. -EINVAL with `why`. */
int inet_configure(const struct command_line *line, struct message *why);

int inet_stream_create(struct file *file);

/* Makes `file`, which is unused and of a process that does not run yet, a socket that owns this stream. */
struct stream;
void inet_stream_adopt(struct file *file, struct process *process, struct stream *stream);

/* Appends a line of the kernel's to what a program writes to such a socket, as a line of its own: whole, or
 * not at all (inet_lines_dropped) if there is no room. While a thread still writes its line, and the program
 * does not `end`, the line is sent after that. Any thread of its process. */
void inet_stream_say(struct file *file, const char *line, size_t bytes, bool ends);
extern uint64_t inet_lines_dropped;

int inet_datagram_create(struct file *file, int type, int protocol);

/* Checks that a program's name is a sockaddr_in. -EINVAL, -EAFNOSUPPORT. */
int inet_address_check(const struct socket_address *name);
void inet_address_write(struct socket_address *name, uint32_t address, uint16_t port);

/* Implements calls of struct file_operations. */
uint64_t inet_activity(struct file *file);
uint64_t inet_events(const struct file *file);

/* Takes the pending error. The caller holds the lock. */
static inline int inet_error_take(int *error)
{
    const int taken = *error;

    *error = 0;
    return taken;
}

/* Holds an address and port for a socket, with its options; 0 is any port, or, of TCP with
 * IP_BIND_ADDRESS_NO_PORT, one that connect chooses. If it fails, the binding stays as it was. The caller
 * holds the lock. -EADDRINUSE. */
struct binding;
struct binding_tree;
int inet_hold(struct binding_tree *tree, struct binding *binding, const struct inet_socket *socket,
              uint32_t address, uint16_t port);

/* Returns whether bind(2) takes the address as one of the node's. */
bool inet_is_local(uint32_t address);
bool inet_is_multicast(uint32_t address);

/* An option that is a field of the socket's structure. Those of SOL_SOCKET are room: twice the value, as on
 * Linux, for its own overhead. */
struct inet_option {
    uint8_t level, option;
    uint8_t bytes;   /* of the field; 0: the end of a table */
    bool is_bounded; /* other values become the nearest valid one, instead of -EINVAL */
    uint16_t at;     /* offset of the field */
    int16_t low;     /* to high: valid values; 0 and 1: a switch, on by any other; 0 and 0: any number */
    int32_t high;
    uint8_t standard; /* what -1 sets; 0: -1 means nothing */
};

/* Returns whether a socket may be bound to an address: one of the node's, or any with IP_FREEBIND. */
bool inet_may_bind(const struct inet_socket *socket, uint32_t address);

/* Sets an option by a table of its kind of socket, or one that all kinds have; inet_option_get reads one, as
 * IP_MTU, the largest packet on the way to the peer (0: none), and takes the error. The caller of that holds
 * the lock. -ENOPROTOOPT, -EINVAL, -ENODEV, -ENOTCONN. */
int inet_option_set(struct inet_socket *socket, const struct inet_option *table, int level, int option,
                    const void *value, uint32_t bytes);
int inet_option_get(struct inet_socket *socket, uint32_t peer, const struct inet_option *table, int level,
                    int option, void *value, uint32_t *bytes);

/* Returns an option's value as a number: of one byte or of four. inet_option_answer writes one. */
int32_t inet_option_value(const void *value, uint32_t bytes);
int inet_option_answer(void *value, uint32_t *bytes, int32_t answer);

#endif
