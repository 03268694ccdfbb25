/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * connection.c: see connection.h. Owns lwIP's lists of TCP control blocks, which are empty except during a
 * call, and tcp_ticks, lwIP's clock in steps of 100 ms. Runs with the network's lock held.
 */
#include "net/stream_state.h"
#include "lib/errno.h"
#include "net/lwip_hooks.h"
#include "net/memory.h"
#include "net/network.h"
#include "net/size.h"
#include "process/process.h"
#include "time/clock.h"
#include "lwip/netif.h"
#include "lwip/priv/tcp_priv.h"

#define PORT_TRIES 64

uint32_t connection_window; /* lwIP's TCP_WND, of the connection that is linked */

static struct avl_node *by_address, *by_local;
static uint32_t last_number;
static struct connection *owed, *owed_last; /* the oldest first; `owed` is also read without the lock */

/* ---- Trees ---- */

/* Makes the key; connections with the same key are in a chain. */
uint64_t connection_key(const struct connection_ends *ends)
{
    uint64_t key =
        (uint64_t)ends->remote_address << 32 | (uint32_t)ends->remote_port << 16 | ends->local_port;

    return key ^ ends->local_address * 0x9e3779b97f4a7c15ULL;
}

struct connection *connection_find(const struct connection_ends *ends)
{
    uint64_t key = connection_key(ends);
    struct connection *connection = avl_above(by_address, key);

    if (!connection || connection->by_address.key != key)
        return NULL;
    while (connection && !ends_are_equal(&connection->ends, ends))
        connection = connection->same;
    return connection;
}

/* Returns whether a connection, or a record of TIME_WAIT, has these ends. */
static bool is_in_use(const struct connection_ends *ends)
{
    return connection_find(ends) || time_wait_find(ends);
}

int connection_peer_set(struct connection *connection)
{
    uint64_t key = connection_key(&connection->ends);
    struct connection *head = avl_above(by_address, key);

    if (is_in_use(&connection->ends))
        return -EADDRINUSE;
    connection->by_address.key = key;
    connection->same = NULL;
    if (head && head->by_address.key == key) {
        connection->same = head->same;
        head->same = connection;
    } else {
        avl_insert(&by_address, &connection->by_address, NULL);
    }
    connection->has_peer = true;
    connection->by_local.key = (uint64_t)connection->ends.local_port << 32 | connection->number;
    avl_insert(&by_local, &connection->by_local, NULL);
    return 0;
}

void connection_peer_clear(struct connection *connection)
{
    struct connection *head = avl_above(by_address, connection->by_address.key),
                      **link = head ? &head->same : NULL;

    if (!connection->has_peer)
        return;
    connection->has_peer = false;
    avl_remove(&by_local, &connection->by_local, NULL);
    if (head != connection) {
        while (*link != connection)
            link = &(*link)->same;
        *link = connection->same;
        return;
    }
    avl_remove(&by_address, &connection->by_address, NULL);
    if (connection->same) {
        connection->same->by_address.key = connection->by_address.key;
        avl_insert(&by_address, &connection->same->by_address, NULL);
    }
}

bool connection_uses_port(uint16_t port)
{
    struct avl_node *node = avl_above(by_local, (uint64_t)port << 32);

    return (node && node->key >> 32 == port) || time_wait_uses_port(port);
}

/* Chooses a port that may also be used by connections to other peers. */
int connection_port_choose(struct connection *connection)
{
    struct connection_ends *ends = &connection->ends;

    for (unsigned tries = 0; tries < PORT_TRIES; tries++) {
        ends->local_port = size_16(32768 + network_random() % 28232);
        if (!binding_find(&tcp_bindings, 0, ends->local_port) &&
            !binding_find(&tcp_bindings, ends->local_address, ends->local_port) && !is_in_use(ends))
            return 0;
    }
    return -EADDRNOTAVAIL;
}

int connection_initialise(struct connection *connection, struct process *process,
                          struct network_account *account)
{
    connection->account = account;
    connection->timer = rank_timer_of(process);
    connection->is_of_process = process;
    connection->number = ++last_number;
    connection->tick = connection_tick_now();
    return connection->account && connection->timer ? 0 : -ENOMEM;
}

/* ---- One at a time ---- */

static struct network_account *paid_before;

void connection_enter(struct connection *connection)
{
    struct tcp_pcb *pcb = connection->pcb;

    paid_before = network_account_use(connection->account);
    connection_window = connection->window;
    tcp_ticks = connection_tick_now();
    if (!pcb) {
        connection->tick = tcp_ticks;
        return;
    }
    pcb->next = NULL;
    if (pcb->state == LISTEN) {
        tcp_listen_pcbs.pcbs = pcb;
        return;
    }
    connection_time_add(connection);
    if (pcb->state != CLOSED)
        tcp_active_pcbs = pcb;
}

/* Returns whether lwIP has freed the pcb, which it does in many places: then the pcb is in none of its
 * lists. */
static bool is_lost(const struct connection *connection)
{
    const struct tcp_pcb *pcb = connection->pcb;

    return pcb != tcp_active_pcbs && pcb != tcp_listen_pcbs.pcbs;
}

void connection_leave(struct connection *connection)
{
    const bool had_pcb = connection->pcb, lost = had_pcb && is_lost(connection);

    if (lost && tcp_tw_pcbs == connection->pcb)
        time_wait_enter(connection);
    tcp_active_pcbs = tcp_tw_pcbs = tcp_bound_pcbs = NULL;
    tcp_listen_pcbs.pcbs = NULL;
    network_account_use(paid_before);
    if (lost) {
        connection->pcb = NULL;
        connection_due_set(connection);
        connection_peer_clear(connection);
        stream_pcb_lost(stream_of(connection));
    } else if (had_pcb) {
        connection_due_set(connection);
        if (connection->pcb->state != LISTEN && connection->pcb->flags & TF_ACK_DELAY)
            connection_owe(connection);
    }
}

void connection_push(struct connection *connection)
{
    if (tcp_active_pcbs == connection->pcb)
        stream_push(stream_of(connection));
}

void connection_flush(struct connection *connection)
{
    if (!connection->pcb)
        return;
    connection_enter(connection);
    stream_push(stream_of(connection)); /* the pcb cannot have been lost since connection_enter */
    connection_leave(connection);
}

/* ---- What is owed ---- */

void connection_owe(struct connection *connection)
{
    if (connection->is_owed)
        return;
    connection->is_owed = true;
    connection->owed_next = NULL;
    __atomic_store_n(owed ? &owed_last->owed_next : &owed, connection, __ATOMIC_RELAXED);
    owed_last = connection;
}

/* Sends an acknowledgement. tcp_output sends none if Nagle's rule holds data back [RFC 896]: two ends that
 * both have a short segment would wait for each other. If there is no memory for it, it is lost, as on any
 * network. */
static void acknowledge(struct tcp_pcb *pcb)
{
    tcp_ack_now(pcb);
    tcp_output(pcb);
    if (pcb->flags & TF_ACK_NOW)
        tcp_send_empty_ack(pcb);
    tcp_clear_flags(pcb, TF_ACK_DELAY | TF_ACK_NOW);
}

/* The connections of an address that the node has lost end one after the other: those up to `number`, because
 * the node may get the address again. `key` is that of the next one. */
static struct {
    bool goes_on;
    uint32_t address, number;
    uint64_t key;
} loss;

/* Returns the first connection from *key on, and moves *key to the next; NULL if there is none. */
static struct connection *connection_next(uint64_t *key)
{
    struct avl_node *node = avl_above(by_local, *key);

    if (!node)
        return NULL;
    *key = node->key + 1;
    return LIST_OWNER(node, connection, by_local);
}

/* Ends the next connection if it has the lost address. Sends nothing: an answer could not arrive. */
static void loss_work_one(void)
{
    struct connection *connection = connection_next(&loss.key);

    loss.goes_on = connection;
    if (!connection)
        return;
    if (connection->ends.local_address != loss.address || (int32_t)(connection->number - loss.number) > 0)
        return;
    stream_of(connection)->error = -ENETDOWN;
    connection_abort(connection, false);
}

void connection_address_lost(uint32_t address)
{
    while (loss.goes_on) /* another address, lost a moment ago */
        loss_work_one();
    loss.goes_on = true;
    loss.address = address;
    loss.number = last_number;
    loss.key = 0;
}

void connection_work_one(void)
{
    struct connection *connection = owed;

    if (!connection) {
        if (loss.goes_on)
            loss_work_one();
        return;
    }
    __atomic_store_n(&owed, connection->owed_next, __ATOMIC_RELAXED);
    connection->is_owed = false;
    if (!connection->pcb) {
        stream_pcb_lost(stream_of(connection));
        return;
    }
    connection_enter(connection);
    if (connection->pcb->flags & TF_ACK_DELAY && connection->pcb->state != LISTEN)
        acknowledge(connection->pcb);
    connection_push(connection);
    connection_leave(connection);
}

bool connection_is_owing(void)
{
    return __atomic_load_n(&owed, __ATOMIC_RELAXED) || __atomic_load_n(&loss.goes_on, __ATOMIC_RELAXED);
}

/* ---- Input ---- */

/* Returns a first sequence number. It cannot be guessed, and it grows with the clock from one connection of
 * the same addresses to the next, so that segments left over from the last one are not taken for the new
 * one's. [RFC 6528] */
uint32_t connection_first_number(uint32_t local, uint16_t local_port, uint32_t remote, uint16_t remote_port)
{
    static uint64_t secrets[2];
    uint64_t hash = (uint64_t)local << 32 | remote;

    while (!secrets[0] || !secrets[1])
        secrets[secrets[0] != 0] = (uint64_t)network_random() << 32 | network_random() | 1;
    hash = (hash ^ secrets[0]) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 29 ^ (uint64_t)local_port << 16 ^ remote_port;
    hash = (hash ^ secrets[1]) * 0xbf58476d1ce4e5b9ULL;
    return (uint32_t)(hash >> 32) + (uint32_t)(clock_now_ns() >> 6);
}

static bool is_request(const struct tcp_hdr *header)
{
    return (TCPH_FLAGS(header) & (TCP_SYN | TCP_ACK | TCP_RST)) == TCP_SYN;
}

void connection_abort(struct connection *connection, bool reset)
{
    connection_enter(connection);
    tcp_abandon(connection->pcb, reset);
    connection_leave(connection);
}

static struct connection *listener_find(const struct connection_ends *ends)
{
    const uint16_t port = ends->local_port;
    struct binding *binding = binding_choose(binding_find(&tcp_bindings, ends->local_address, port), ends);

    if (!binding)
        binding = binding_choose(binding_find(&tcp_bindings, 0, port), ends);
    return binding ? LIST_OWNER(binding, connection, port) : NULL;
}

/* Handles a segment for a listener. lwIP answers a connection request with a new pcb. */
static void request_input(struct connection *listener, struct pbuf *packet, struct netif *interface,
                          const struct connection_ends *ends)
{
    const struct tcp_hdr *header = packet->payload;
    struct stream *stream = is_request(header) ? stream_incoming(stream_of(listener)) : NULL;
    struct connection *incoming = stream ? &stream->connection : NULL;

    if (is_request(header) && !incoming) { /* no room: the peer tries again */
        pbuf_free(packet);
        return;
    }
    connection_enter(listener);
    if (incoming) {
        incoming->ends = *ends;
        connection_window = incoming->window;
    }
    tcp_input(packet, interface);
    struct tcp_pcb *pcb = tcp_active_pcbs;
    tcp_active_pcbs = NULL;
    connection_leave(listener);
    if (!incoming)
        return;
    incoming->pcb = pcb;
    if (!pcb) {
        stream_pcb_lost(stream);
        return;
    }
    connection_peer_set(incoming); /* cannot fail: a segment of an existing connection goes to that */
    stream_pcb_configure(stream);
    connection_due_set(incoming);
}

/* Handles a segment for no connection. A new connection request replaces a record of TIME_WAIT. */
static void stray_input(struct pbuf *packet, struct netif *interface, const struct connection_ends *ends)
{
    const struct tcp_hdr *header = packet->payload;
    struct connection *listener = listener_find(ends);
    struct wait_record *record = time_wait_find(ends);

    if (record && listener && is_request(header) && time_wait_is_past(record, lwip_ntohl(header->seqno))) {
        time_wait_remove(record);
        record = NULL;
    }
    if (record)
        time_wait_input(record, packet, interface);
    else if (listener)
        request_input(listener, packet, interface, ends);
    else
        tcp_input(packet, interface); /* answers with a reset */
}

/* Returns a copy of a packet that lwIP may keep, because it is out of order or follows one that was; the
 * receiver's account pays for it. Returns the packet itself if lwIP will not keep it, and NULL if the account
 * has no memory: the peer sends it again. */
static struct pbuf *charged(const struct connection *connection, struct pbuf *packet)
{
    const struct tcp_pcb *pcb = connection->pcb;
    const struct tcp_hdr *header = packet->payload;
    const bool is_whole = !pcb->ooseq && !pcb->refused_data && lwip_ntohl(header->seqno) == pcb->rcv_nxt;

    if (is_whole || (packet->tot_len <= TCPH_HDRLEN_BYTES(header) && !(TCPH_FLAGS(header) & TCP_FIN)))
        return packet;
    NETWORK_PAYER(connection->account);
    struct pbuf *copy = pbuf_clone(PBUF_RAW, PBUF_RAM, packet);
    pbuf_free(packet);
    return copy;
}

void network_tcp_input(struct pbuf *packet, struct netif *interface)
{
    struct tcp_hdr *header = packet->payload;
    const int selected = packet->len < TCP_HLEN ? -1 : segment_selected_find(packet);
    struct connection *connection;

    if (selected < 0) {
        pbuf_free(packet);
        return;
    }
    const struct connection_ends ends = { ip4_current_dest_addr()->addr, ip4_current_src_addr()->addr,
                                          lwip_ntohs(header->dest), lwip_ntohs(header->src) };
    connection = connection_find(&ends);
    if (!connection) {
        stray_input(packet, interface, &ends);
        return;
    }
    if (packet->tot_len > TCPH_HDRLEN_BYTES(header) &&
        !stream_may_receive(stream_of(connection), packet->tot_len - TCPH_HDRLEN_BYTES(header))) {
        pbuf_free(packet);
        return;
    }
    packet = charged(connection, packet);
    if (!packet)
        return;
    const uint32_t selected_bytes =
        selected ? segment_selected_bytes(packet, (unsigned)selected, connection->pcb->lastack) : 0;

    connection_enter(connection);
    tcp_input(packet, interface);
    if (!is_lost(connection)) {
        if (selected_bytes)
            connection_loss_repair(connection->pcb, selected_bytes);
        stream_push(stream_of(connection));
    }
    connection_leave(connection);
}

/* Does nothing: lwIP calls it to start its timers, which are not compiled in. */
void tcp_timer_needed(void)
{
}

/* ---- The end of a job, and of the node ---- */

void connections_of_processes_end(void)
{
    struct connection *connection;
    uint64_t key = 0;

    do {
        network_lock();
        connection = connection_next(&key);
        if (connection && connection->is_of_process)
            connection_abort(connection, true);
        network_unlock();
    } while (connection);
    network_lock();
    time_wait_processes_drop();
    network_unlock();
}

bool connections_are_sending(bool of_processes)
{
    struct connection *connection;
    uint64_t key = 0;
    bool sending;

    do {
        network_lock();
        connection = connection_next(&key);
        sending = connection && (connection->is_of_process || !of_processes) &&
                  stream_is_sending(stream_of(connection));
        network_unlock();
    } while (connection && !sending);
    return sending;
}

void connection_drain(uint64_t deadline_ns)
{
    do {
        network_poll();
        connection_timers_serve();
    } while (connections_are_sending(false) && clock_now_ns() < deadline_ns);
}
