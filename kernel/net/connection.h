/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * connection.h: TCP connections as lwIP's control blocks (pcb), of which lwIP sees one at a time. Each is in
 * trees of our own: by its two addresses and ports, by its local port, by when it is due. For each call into
 * lwIP exactly one is linked into lwIP's lists, and is taken out again afterwards. So none of lwIP's loops
 * over connections goes round more than once, and finding a connection costs the logarithm of their number.
 *
 *      connection_enter(connection);           its account pays, its clock is brought up to date
 *      … tcp_write(connection->pcb, …) …
 *      connection_leave(connection);           the pcb may be lost, and an unowned stream with it
 *
 * lwIP's timer of 100 ms runs for a connection when something is due there (retransmission, persist,
 * keepalive …); steps in which nothing was due are added, not looped. An idle connection has
 * nothing due. Each rank has one smart timer, on its own CPUs, armed for the earliest of its connections.
 *
 * Addresses are in network byte order, ports in the host's. Callers hold the network's lock, unless said
 * otherwise. [RFC 9293; RFC 6298]
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
struct wait_record;

struct connection_ends {
    uint32_t local_address, remote_address;
    uint16_t local_port, remote_port;
};

static inline bool ends_are_equal(const struct connection_ends *a, const struct connection_ends *b)
{
    return a->local_address == b->local_address && a->remote_address == b->remote_address &&
           a->local_port == b->local_port && a->remote_port == b->remote_port;
}

/* A local address and port that a socket or connection holds. */
struct binding {
    struct avl_node node; /* by port, then address */
    struct binding *same,
        *before;      /* others of the same port and address: a chain, whose first is in the tree */
    uint32_t address; /* 0: any */
    uint16_t port;    /* 0: none, and in no tree */
    bool reuse;       /* SO_REUSEADDR */
    bool shares;      /* SO_REUSEPORT: what comes is spread over those that are open */
    bool open;        /* takes what comes from any peer: listens; or is a datagram socket without one */
    bool is_held;
};

struct binding_tree {
    struct avl_node *root;
};

/* Holds binding->address and ->port; if the port is 0, chooses an unused one from 32768 on. -EADDRINUSE. */
int binding_hold(struct binding_tree *tree, struct binding *binding);
void binding_release(struct binding_tree *tree, struct binding *binding);

/* Marks a held binding as open. -EADDRINUSE if it cannot share then. */
int binding_open(struct binding_tree *tree, struct binding *binding);

/* Returns the first of the holders of exactly this address and port; NULL if there is none. */
struct binding *binding_find(const struct binding_tree *tree, uint32_t address, uint16_t port);

/* Returns, of the holders from `first` on, the one that gets what comes from a peer that none is connected
 * to: of those that share, one chosen by the peer; else the first that is open; NULL if none is. */
struct binding *binding_choose(struct binding *first, const struct connection_ends *ends);

extern struct binding_tree tcp_bindings, udp_bindings;

struct connection {
    struct avl_node by_address; /* the first member; in the tree while it has a peer */
    struct avl_node by_local;   /* by local port, while it has a peer */
    struct avl_node by_due;
    struct connection *same; /* others with the same key in by_address */
    struct connection_ends ends;
    bool has_peer, is_due, is_owed, is_of_process;
    struct tcp_pcb *pcb; /* NULL: lwIP has none */
    struct network_account *account;
    struct rank_timer *timer;
    struct connection *owed_next; /* next in the queue that connection_work serves */
    struct binding port;          /* the binding of bind(2) or listen(2) */
    uint32_t window;              /* bytes that its peer may send before they are read */
    uint32_t number;
    uint32_t tick; /* lwIP's counters of this connection are right up to this tick */
    bool is_limited;
    uint32_t limit_tick;   /* if is_limited: when the owner's time limit ends */
    uint32_t linger_ticks; /* how long the peer may take to end its direction after both were closed here */
};

/* Sets the account that pays, and whose CPUs the timer interrupts: those of a process, or for NULL, the
 * kernel, any. -ENOMEM. */
int connection_initialise(struct connection *connection, struct process *process,
                          struct network_account *account);

/* Enters the connection into the trees. Its addresses and ports must not change after that. Returns
 * -EADDRINUSE if another connection has them. */
int connection_peer_set(struct connection *connection);

void connection_peer_clear(struct connection *connection);

/* Chooses an unused port for a connection to the peer. -EADDRNOTAVAIL. */
int connection_port_choose(struct connection *connection);

/* Returns whether a connection, or the record of a closed one (time_wait.c), has this local port. */
bool connection_uses_port(uint16_t port);

void connection_enter(struct connection *connection);
void connection_leave(struct connection *connection);

/* Hands lwIP what is to be sent, unless the pcb was lost. Called between connection_enter and
 * connection_leave, which send nothing themselves. The connection must have a pcb. */
void connection_push(struct connection *connection);

/* Enters, hands lwIP what is to be sent, and leaves. Does nothing without a pcb. */
void connection_flush(struct connection *connection);

/* Enters the connection into the list of those for which connection_work has to do something. */
void connection_owe(struct connection *connection);

/* Sends what connections owe: acknowledgements, and what a window has room for now. Called without the lock,
 * when it is released; costs one load if there is nothing. */
void connection_work(void);

/* Returns a key of two ends. Those with the same key differ in the local address alone, or were chosen to
 * collide. */
uint64_t connection_key(const struct connection_ends *ends);

/* Returns the connection of these ends; NULL if there is none. */
struct connection *connection_find(const struct connection_ends *ends);

/* Notes that the node has lost this address: connections that have it now end with errors, one in each step
 * of connection_work. */
void connection_address_lost(uint32_t address);

/* Returns whether a connection, with `of_processes` one of a process, has sent something that is not
 * acknowledged yet. connections_of_processes_end ends all connections of processes, with resets if their
 * peers still know them: then processes own none. Without the lock. */
bool connections_are_sending(bool of_processes);
void connections_of_processes_end(void);

/* ---- Connections that this node has closed first (TIME_WAIT): time_wait.c ----
 *
 * For a minute a record keeps their addresses and ports, so that a segment that is still in the network meets
 * no new connection of the same addresses, and so that the node acknowledges a FIN that the peer repeats. The
 * record needs nothing of the stream or of its rank. The node has a fixed number of records; a new one
 * replaces the oldest. No timer removes a record: each lookup checks its age. [RFC 9293 §3.6.1, §3.10.7.4;
 * RFC 1337] */

/* Allocates the records, once. */
void time_wait_start(void);

/* Makes a record of a connection whose pcb is in TIME_WAIT, and frees the pcb. */
void time_wait_enter(const struct connection *connection);

/* Returns the record of these ends; NULL if there is none. */
struct wait_record *time_wait_find(const struct connection_ends *ends);

/* Returns whether there is a record of this local port. */
bool time_wait_uses_port(uint16_t port);

/* Returns whether a connection request with this number is a new one, and not an old segment. */
bool time_wait_is_past(const struct wait_record *record, uint32_t number);

/* Handles a segment for the record. Takes the packet. */
void time_wait_input(struct wait_record *record, struct pbuf *packet, struct netif *interface);

void time_wait_remove(struct wait_record *record);

/* Removes the records of processes, which own no connections any longer. */
void time_wait_processes_drop(void);

/* ---- When connections are due: connection_timer.c ---- */

/* Returns the timer of a process's connections; for NULL, the kernel's. NULL if there is no memory. */
struct rank_timer *rank_timer_of(struct process *process);

/* Returns lwIP's clock, in steps of 100 ms. */
uint32_t connection_tick_now(void);

/* Adds to lwIP's counters of a connection the time since the last call. */
void connection_time_add(struct connection *connection);

/* Computes when the connection is due next, if ever, and arms its rank's timer for that. */
void connection_due_set(struct connection *connection);

/* Takes one connection that owes something, and sends that. connection_is_owing returns whether there is any,
 * without the lock. */
void connection_work_one(void);
bool connection_is_owing(void);

/* Ends a connection, with a reset for its peer, or without. */
void connection_abort(struct connection *connection, bool reset);

/* Frees the timers of processes, which have no connections any longer. Without the lock. */
void connection_timers_drop(void);

/* Serves what is due for all ranks, at the node's end, when timers do not. Without the lock. */
void connection_timers_serve(void);

/* ---- Segments that a peer misses, by its selective acknowledgements [RFC 2018; RFC 6675]: connection_loss.c
 * ---- */

/* Returns where selective acknowledgements stand in a segment's header, 0 if it has none. Returns -1 if the
 * header ends with an option's kind: lwIP would read the length after it, where the packet may end. */
int segment_selected_find(const struct pbuf *packet);

/* Returns how many bytes those at `at` report received above those that the segment, or an earlier one,
 * acknowledges. Called before tcp_input. */
uint32_t segment_selected_bytes(const struct pbuf *packet, unsigned at, uint32_t acknowledged);

/* Sends the first unacknowledged segment again, if `selected_bytes` above it say that it is lost; only once
 * until it is acknowledged, as lwIP does by its own count. Called after tcp_input. */
void connection_loss_repair(struct tcp_pcb *pcb, uint32_t selected_bytes);

/* ---- The end of a job, and of the node ---- */

/* Waits, without the lock, until all that programs have sent is acknowledged, at most until the deadline. */
void connection_drain(uint64_t deadline_ns);

#endif
