/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * datagram_input.c: packets for sockets of datagram.h. Each is found by its port; several are looked at only
 * if they share a port, by SO_REUSEADDR or SO_REUSEPORT, or are raw. Runs with the network's lock held. [RFC
 * 768; RFC 1122 §4.1; man 7 udp, icmp, raw]
 */
#include "fs/file.h"
#include "net/datagram.h"
#include "net/lwip_hooks.h"
#include "net/memory.h"
#include "net/network.h"
#include "net/size.h"
#include "process/event.h"
#include "process/process.h"
#include "process/schedule.h"
#include "lwip/icmp.h"
#include "lwip/inet_chksum.h"
#include "lwip/priv/raw_priv.h"
#include "lwip/udp.h"

#define DHCP_CLIENT_PORT 68
#define FANS_MAX         8
#define FAN_BYTES_MAX    65535 /* bytes of all packets for several sockets */

struct binding_tree ping_bindings;
uint16_t input_port;
struct list raw_sockets;

static struct datagram_socket *owner(struct binding *binding)
{
    return binding ? LIST_OWNER(binding, datagram_socket, binding) : NULL;
}

void datagram_changed(struct datagram_socket *socket)
{
    socket->changes++;
    network_notify(socket->process, event_of(socket));
}

/* Describes the packet that lwIP is handling. */
static struct arrival arrival_of(uint16_t port)
{
    return (struct arrival){
        .address = ip4_current_src_addr()->addr,
        .destination = ip4_current_dest_addr()->addr,
        .port = port,
        .ttl = IPH_TTL(ip4_current_header()),
        .tos = IPH_TOS(ip4_current_header()),
        .interface = netif_get_index(ip_current_input_netif()),
        .time_ns = (uint64_t)file_wall_clock_ns(),
    };
}

/* Copies what follows the first `skipped` bytes of a packet for the socket, or drops it if there is no
 * room. */
static void deliver(struct datagram_socket *socket, struct pbuf *packet, unsigned skipped,
                    struct arrival arrival)
{
    uint32_t bytes = packet->tot_len - skipped;
    uint64_t charged = sizeof(struct datagram) + bytes;

    if (socket->receive_shut || socket->received_bytes + charged > socket->socket.receive_room)
        return;
    NETWORK_PAYER(socket->account);
    struct datagram *datagram = network_allocate(charged);
    if (!datagram)
        return;
    *datagram = (struct datagram){ .arrival = arrival, .bytes = bytes, .users = 1 };
    pbuf_copy_partial(packet, datagram->data, size_16(bytes), size_16(skipped));
    list_append(&socket->received, &datagram->link);
    socket->received_bytes += charged;
    datagram_changed(socket);
}

/* ---- UDP ---- */

static bool is_from_peer(const struct datagram_socket *socket, uint32_t remote, uint16_t port)
{
    return !socket->connected || (socket->remote_address == remote && socket->remote_port == port);
}

/* Returns, of the sockets that share a port, the one that is connected to the sender, or else one of those
 * that are not connected. */
static struct datagram_socket *choose(struct binding *binding, const struct connection_ends *ends)
{
    for (struct binding *other = binding; other; other = other->same)
        if (!other->open && is_from_peer(owner(other), ends->remote_address, ends->remote_port))
            return owner(other);
    return owner(binding_choose(binding, ends));
}

static struct datagram_socket *receiver_of(const struct connection_ends *ends)
{
    struct datagram_socket *socket =
        choose(binding_find(&udp_bindings, ends->local_address, ends->local_port), ends);

    return socket ? socket : choose(binding_find(&udp_bindings, 0, ends->local_port), ends);
}

/* ---- To many ---- */

/* A packet for several sockets, until all of them have it. Those bound to the address that it was sent to
 * come first. The lock is released in between. */
struct fan {
    struct pbuf *packet; /* NULL: unused */
    uint64_t receivers;  /* receiver_bit of their ranks */
    struct arrival arrival;
    struct binding *next, *any; /* the next receiver; the first of those of any address, if they come later */
};

static struct fan fans[FANS_MAX];
static uint64_t receivers; /* number of receivers of all fans */

/* Returns whether a socket takes what is sent to an address for many (IP_MULTICAST_ALL). */
static bool hears(const struct datagram_socket *socket, uint32_t address)
{
    bool joined = socket->ip.all_groups || !inet_is_multicast(address);

    for (unsigned i = 0; !joined && i < MEMBERSHIPS_MAX; i++)
        joined = socket->memberships[i].group == address;
    return joined;
}

/* Returns the bit for a rank. Ranks 64 apart share one, and make copies for each other. */
static uint64_t receiver_bit(const struct process *process)
{
    return 1ULL << (process ? process->rank % 64 : 0);
}

/* Returns the receivers that the caller makes copies for: all if it idles, else its own rank. */
static uint64_t own_receivers(void)
{
    return schedule_is_idle() ? UINT64_MAX : receiver_bit(arch_process());
}

static uint64_t receivers_of(struct binding *binding)
{
    uint64_t bits = 0;

    for (; binding; binding = binding->same)
        bits |= receiver_bit(owner(binding)->process);
    return bits;
}

static void receivers_set(void)
{
    uint64_t bits = 0;

    for (const struct fan *fan = fans; fan < fans + FANS_MAX; fan++)
        bits |= fan->packet ? fan->receivers : 0;
    __atomic_store_n(&receivers, bits, __ATOMIC_RELAXED);
}

bool datagram_has_more(void)
{
    const uint64_t bits = __atomic_load_n(&receivers, __ATOMIC_RELAXED);

    return bits && bits & own_receivers();
}

void datagram_receiver_skip(const struct binding *binding)
{
    for (struct fan *fan = fans; fan < fans + FANS_MAX; fan++) {
        if (fan->next == binding)
            fan->next = binding->same;
        if (fan->any == binding)
            fan->any = binding->same;
    }
}

bool datagram_deliver_more(void)
{
    const uint64_t own = own_receivers();
    struct fan *fan = fans;

    while (fan < fans + FANS_MAX && !(fan->packet && fan->receivers & own))
        fan++;
    if (fan == fans + FANS_MAX)
        return false;
    if (!fan->next) {
        fan->next = fan->any;
        fan->any = NULL;
    }
    struct datagram_socket *socket = owner(fan->next);
    if (!socket) {
        pbuf_free(fan->packet);
        fan->packet = NULL;
        receivers_set();
        return true;
    }
    fan->next = fan->next->same;
    if (is_from_peer(socket, fan->arrival.address, fan->arrival.port) &&
        hears(socket, fan->arrival.destination))
        deliver(socket, fan->packet, UDP_HLEN, fan->arrival);
    return schedule_is_idle() || socket->process == arch_process();
}

/* Keeps a datagram for several sockets. It is lost if there is no room for it. The account that has paid for
 * the packet pays as long as it is kept. */
static void fan_out(struct binding *exact, struct binding *any, struct pbuf *packet, uint16_t port)
{
    struct fan *free = NULL;
    unsigned bytes = packet->tot_len;

    for (struct fan *fan = fans; fan < fans + FANS_MAX; fan++) {
        if (fan->packet)
            bytes += fan->packet->tot_len;
        else
            free = fan;
    }
    if (!free || bytes > FAN_BYTES_MAX)
        return;
    pbuf_ref(packet);
    free->packet = packet;
    free->arrival = arrival_of(port);
    free->next = exact;
    free->any = any;
    free->receivers = receivers_of(exact) | receivers_of(any);
    receivers_set();
    idle_look_soon_locked(); /* the caller may not be one of the receivers */
}

/* ---- Input of UDP ---- */

static bool is_valid(struct pbuf *packet, const struct netif *interface)
{
    const struct udp_hdr *header = packet->payload;

    if (packet->len < UDP_HLEN || lwip_ntohs(header->len) < UDP_HLEN ||
        lwip_ntohs(header->len) > packet->tot_len)
        return false;
    pbuf_realloc(packet, lwip_ntohs(header->len));
    (void)interface; /* unused if the macro is empty */
    IF__NETIF_CHECKSUM_ENABLED(interface, NETIF_CHECKSUM_CHECK_UDP)
    {
        if (header->chksum != 0 && ip_chksum_pseudo(packet, IP_PROTO_UDP, packet->tot_len,
                                                    ip_current_src_addr(), ip_current_dest_addr()) != 0)
            return false;
    }
    return true;
}

void network_udp_input(struct pbuf *packet, struct netif *interface)
{
    const struct udp_hdr *header = packet->payload;

    if (!is_valid(packet, interface)) {
        pbuf_free(packet);
        return;
    }
    const struct connection_ends ends = { ip4_current_dest_addr()->addr, ip4_current_src_addr()->addr,
                                          lwip_ntohs(header->dest), lwip_ntohs(header->src) };
    const uint16_t to = ends.local_port, from = ends.remote_port;
    struct binding *exact = binding_find(&udp_bindings, ends.local_address, to),
                   *any = binding_find(&udp_bindings, 0, to);
    bool to_many =
        inet_is_multicast(ends.local_address) || ip4_addr_isbroadcast(ip4_current_dest_addr(), interface);
    struct datagram_socket *socket;

    if ((to == DHCP_CLIENT_PORT || to == input_port) && !exact && !any) {
        network_account_use(NULL);
        udp_input(packet, interface); /* lwIP's own */
        return;
    }
    if (to_many && (exact || any)) {
        fan_out(exact, any, packet, from);
    } else if (!to_many && (socket = receiver_of(&ends))) {
        deliver(socket, packet, UDP_HLEN, arrival_of(from));
    } else if (!to_many) {
        pbuf_header_force(packet, ip_current_header_tot_len());
        icmp_dest_unreach(packet, ICMP_DUR_PORT);
    }
    pbuf_free(packet);
}

void datagram_error(const struct connection_ends *ends, int error)
{
    struct datagram_socket *socket = receiver_of(ends);

    if (!socket || !(socket->connected || socket->ip.receives_errors))
        return;
    socket->error = error;
    datagram_changed(socket);
}

/* ---- ICMP, and what raw sockets see ---- */

static void ping_input(struct pbuf *packet, unsigned header_bytes)
{
    struct icmp_echo_hdr echo;

    if (pbuf_copy_partial(packet, &echo, sizeof(echo), size_16(header_bytes)) < sizeof(echo) ||
        ICMPH_TYPE(&echo) != ICMP_ER)
        return;
    uint16_t identifier = lwip_ntohs(echo.id);
    struct binding *binding = binding_find(&ping_bindings, ip4_current_dest_addr()->addr, identifier);
    if (!binding)
        binding = binding_find(&ping_bindings, 0, identifier);
    if (binding &&
        (!owner(binding)->connected || owner(binding)->remote_address == ip4_current_src_addr()->addr))
        deliver(owner(binding), packet, header_bytes, arrival_of(0));
}

static bool filters(const struct datagram_socket *socket, const struct pbuf *packet, unsigned header_bytes)
{
    uint8_t type = 0;

    if (socket->socket.protocol != PROTOCOL_ICMP)
        return false;
    pbuf_copy_partial(packet, &type, 1, size_16(header_bytes));
    return type < 32 && (socket->icmp_filter >> type & 1);
}

raw_input_state_t network_raw_input(struct pbuf *packet, struct netif *interface)
{
    const struct ip_hdr *header = packet->payload;
    unsigned protocol = IPH_PROTO(header), header_bytes = IPH_HL_BYTES(header), bytes = 0;
    bool delivered = false;

    (void)interface; /* sockets are not bound to an interface */
    if (protocol == PROTOCOL_ICMP) {
        ping_input(packet, header_bytes);
        icmp_error_input(packet, header_bytes);
    }
    for (struct list_link *link = raw_sockets.first; link; link = link->next) {
        struct datagram_socket *socket = LIST_OWNER(link, datagram_socket, raw);

        if (socket->socket.protocol != protocol || filters(socket, packet, header_bytes) ||
            (socket->connected && socket->remote_address != ip4_current_src_addr()->addr) ||
            (socket->binding.address && socket->binding.address != ip4_current_dest_addr()->addr))
            continue;
        bytes += packet->tot_len;
        if (bytes <= UINT16_MAX) /* a limit on all copies, made with the lock held */
            deliver(socket, packet, 0, arrival_of(0));
        delivered = true;
    }
    return delivered ? RAW_INPUT_DELIVERED : RAW_INPUT_NONE;
}
