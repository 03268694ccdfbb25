/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * connection.h: TCP connections as lwIP's control blocks (pcb), of which lwIP sees one at a time. Each is in
 * trees of ours: by its two addresses and ports, by its local port, by when it needs time. For each call into
 * lwIP exactly one is linked into lwIP's lists, and is taken out again afterwards; so none of lwIP's loops
 * over connections is one, and finding a connection costs the logarithm of how many there are.
 *
 *      connection_enter(connection);           its account pays, its clock is brought up to date
 *      … tcp_write(connection->pcb, …) …
 *      connection_leave(connection);           the pcb may be lost, and an unowned stream with it
 *
 * lwIP's timer of 100 ms runs for a connection when something is due there (retransmission, persist,
 * keepalive …); steps in which nothing was due are added, not looped. An idle connection has
 * nothing due. Each rank has one smart timer, on its own CPUs, armed for the earliest of its connections.
 *
 * Addresses are in network byte order, ports in the host's. All with the network's lock held, except where
 * said. [RFC 9293; RFC 6298]
 */
#ifndef TACET_NETWORK_CONNECTION_H
#define TACET_NETWORK_CONNECTION_H

#include "lib/avl.h"
#include <stdbool.h>
#include <stdint.h>

struct netif;
struct network_account;
struct pbuf;
struct process;
struct rank_timer;
struct tcp_pcb;

/* A local address and port that a socket or connection holds. */
struct binding {
    struct avl_node node; /* by port, then address */
    struct binding *same,
        *before;      /* others of the same port and address: a chain, whose first is in the tree */
    uint32_t address; /* 0: any */
    uint16_t port;    /* 0: none, and in no tree */
    bool reuse;       /* SO_REUSEADDR */
    bool listening;
    bool is_held;
};

struct binding_tree {
    struct avl_node *root;
    struct binding_walk *walks;
};

/* Holds binding->address and ->port; where that is 0, an unused port from 32768 on. -EADDRINUSE. */
int binding_hold(struct binding_tree *tree, struct binding *binding);
void binding_release(struct binding_tree *tree, struct binding *binding);

/* The first of those that hold just this address and port; NULL. */
struct binding *binding_find(const struct binding_tree *tree, uint32_t address, uint16_t port);

/* Goes from one holder of an address and port to the next, though the caller gives up the lock in between: a
 * holder that is released meanwhile is passed over. The walk begins with what binding_find has found, and
 * lasts until binding_next has answered NULL. */
struct binding_walk {
    struct binding *next;
    struct binding_walk *other;
};

void binding_walk_begin(struct binding_tree *tree, struct binding_walk *walk, struct binding *first);
struct binding *binding_next(struct binding_tree *tree, struct binding_walk *walk);

extern struct binding_tree tcp_bindings, udp_bindings;

struct connection;

/* What the owner of a connection implements: a stream (stream.c). Called with the lock. */
struct connection_operations {
    /* A segment with so many bytes has come: whether there is memory for them. */
    bool (*may_receive)(struct connection *connection, unsigned bytes);
    /* A connection request has come for this listener: a connection for it without pcb; NULL: not now. */
    struct connection *(*incoming)(struct connection *listener);
    /* What incoming has become, or that nothing came of it (pcb is NULL). */
    void (*incoming_done)(struct connection *connection);
    /* Hands lwIP bytes that are to be sent, as far as that is useful now; the stream's end after them. */
    void (*push)(struct connection *connection);
    bool (*is_sending)(const struct connection *connection); /* or has bytes in flight */
    /* The node has lost the connection's address: it ends with an error. */
    void (*address_lost)(struct connection *connection);
    /* lwIP has freed its pcb. Frees the connection if it has no owner. */
    void (*pcb_lost)(struct connection *connection);
};

struct connection {
    struct avl_node by_address; /* first; while it has a peer */
    struct avl_node by_local;   /* by local port, while it has a peer */
    struct avl_node by_due;
    struct connection *same; /* others with the same key in by_address */
    uint32_t local_address, remote_address;
    uint16_t local_port, remote_port;
    bool has_peer, is_due, is_owed, is_of_process;
    struct tcp_pcb *pcb; /* NULL: lwIP has it no more */
    const struct connection_operations *operations;
    struct network_account *account;
    struct rank_timer *timer;
    struct connection *owed_next; /* of those that connection_work goes through */
    struct binding port;          /* of what connect(2) has chosen, or listen(2) */
    uint32_t window;              /* bytes that its peer may send before they are read */
    uint32_t number;
    uint32_t tick; /* up to which lwIP's counters of this one are right */
};

/* Names who pays, and whose CPUs its timer interrupts: those of a process, or of NULL, the kernel, any.
 * -ENOMEM. */
int connection_initialise(struct connection *connection, struct process *process,
                          struct network_account *account);

/* Enters it into the tree by addresses, which stay as they are then. -EADDRINUSE where there is such a one.
 */
int connection_peer_set(struct connection *connection);

void connection_peer_clear(struct connection *connection);

/* Chooses an unused port for a connection to the peer. -EADDRNOTAVAIL. */
int connection_port_choose(struct connection *connection);

/* Whether there is a connection of this local port, or what is left of one (time_wait.h). */
bool connection_uses_port(uint16_t port);

/* The address that packets to `remote` come from; 0: there is no way. */
uint32_t connection_source(uint32_t remote);

void connection_enter(struct connection *connection);
void connection_leave(struct connection *connection);

/* Hands lwIP what is to be sent, unless the pcb was lost: between the two above, which send nothing
 * themselves. The connection must have a pcb. */
void connection_push(struct connection *connection);

/* Enters, hands lwIP what is to be sent, and leaves. Does nothing without a pcb. */
void connection_flush(struct connection *connection);

/* Something is left to do for it, after the lock has been released. */
void connection_owe(struct connection *connection);

/* Sends what connections owe: acknowledgements, what a window has room for now. Without the lock, on
 * unlocking; one load where there is nothing. */
void connection_work(void);

/* Two pairs of addresses and ports that have the same key differ in the local address alone, or were chosen
 * to collide. */
uint64_t connection_key(uint32_t local_address, uint16_t local_port, uint32_t remote_address,
                        uint16_t remote_port);

/* The connection of these addresses; NULL. */
struct connection *connection_find(uint32_t local_address, uint16_t local_port, uint32_t remote_address,
                                   uint16_t remote_port);

/* The node has this address no more: connections that have it now end with errors, one with each piece of
 * connection_work. */
void connection_address_lost(uint32_t address);

/* Without the lock: whether something that processes have sent is not acknowledged yet; ends all connections
 * of processes, with resets where their peers know of them still: they own none any more. */
bool connections_are_sending(void);
void connections_of_processes_end(void);

/* Waits, without the lock, until all that programs have sent is acknowledged, at most until the deadline. */
void connection_drain(uint64_t deadline_ns);

#endif
