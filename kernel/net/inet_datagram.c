/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inet_datagram.c: the calls of UDP, ping and raw sockets (datagram.h). What a program sends is copied and
 * summed up without the network's lock, into memory charged to its rank. UDP's header is made here, IP's by
 * lwIP, which fragments what is too long for a frame. Runs in system calls. [man 7 udp, ip, raw, icmp; RFC
 * 768]
 */
#include "net/inet.h"
#include "lib/errno.h"
#include "mm/page.h"
#include "net/datagram.h"
#include "net/interface.h"
#include "net/memory.h"
#include "net/network.h"
#include "net/size.h"
#include "process/event.h"
#include "process/process.h"
#include "lwip/icmp.h"
#include "lwip/inet_chksum.h"
#include "lwip/ip4.h"
#include "lwip/udp.h"

#define PAYLOAD_MAX     65507 /* an IP packet less the headers of IP and UDP */
#define RAW_PAYLOAD_MAX 65515

static unsigned raw_count;

static struct binding_tree *tree_of(const struct datagram_socket *socket)
{
    return datagram_is_udp(socket) ? &udp_bindings : &ping_bindings;
}

/* ---- Names ---- */

/* Binds a socket that is not bound yet. The caller holds the lock. A binding stays as it is while it is
 * held. */
static int hold(struct datagram_socket *socket, uint32_t address, uint16_t port)
{
    if (!datagram_is_raw(socket)) {
        socket->binding.open = !socket->connected;
        return inet_hold(tree_of(socket), &socket->binding, (struct inet_socket *)socket, address, port);
    }
    socket->binding.address = address;
    return 0;
}

/* Binds a socket that has no port, but sends or connects, to any port. The caller holds the lock. */
static int hold_any(struct datagram_socket *socket)
{
    return socket->binding.is_held ? 0 : hold(socket, socket->binding.address, 0);
}

static int datagram_bind(struct file *file, const struct socket_address *name)
{
    struct datagram_socket *socket = file->object;
    int error = inet_address_check(name);

    if (error)
        return error;
    const uint32_t address = name->inet.address;
    bool is_possible = inet_may_bind((struct inet_socket *)socket, address) || inet_is_multicast(address) ||
                       address == IPADDR_BROADCAST;
    NETWORK_GUARD();
    if (socket->binding.is_held)
        return -EINVAL;
    return is_possible ? hold(socket, address, lwip_ntohs(name->inet.port)) : -EADDRNOTAVAIL;
}

static int datagram_connect(struct file *file, const struct socket_address *name)
{
    struct datagram_socket *socket = file->object;

    if (name->bytes >= sizeof(name->family) && name->family == AF_UNSPEC) {
        NETWORK_GUARD();
        socket->connected = false;
        socket->binding.open = true;
        socket->remote_address = socket->remote_port = 0;
        return 0;
    }
    int error = inet_address_check(name);
    if (error)
        return error;
    const uint32_t address = name->inet.address ? name->inet.address : lwip_htonl(IPADDR_LOOPBACK);
    if (address == IPADDR_BROADCAST && !socket_switch(&socket->socket, SO_BROADCAST))
        return -EACCES;
    NETWORK_GUARD();
    error = interface_source(address) || inet_is_multicast(address) ? hold_any(socket) : -ENETUNREACH;
    if (!error) {
        socket->remote_address = address;
        socket->remote_port = lwip_ntohs(name->inet.port);
        socket->connected = true;
        socket->binding.open = false;
    }
    return error;
}

/* Writes the local or the remote name. The local address of a connected socket is that of the route to its
 * peer. */
static int datagram_name(struct file *file, bool of_peer, struct socket_address *name)
{
    const struct datagram_socket *socket = file->object;

    NETWORK_GUARD();
    uint32_t address = of_peer ? socket->remote_address : socket->binding.address;
    uint16_t port = datagram_is_raw(socket) ? socket->socket.protocol : socket->binding.port;
    if (of_peer && !socket->connected)
        return -ENOTCONN;
    if (of_peer)
        port = socket->remote_port;
    else if (address == 0 && socket->connected)
        address = interface_source(socket->remote_address);
    inet_address_write(name, address, port);
    return 0;
}

/* ---- Sending ---- */

struct way {
    uint32_t from, to;
    uint16_t port;
    uint8_t ttl, tos;
    bool header_included; /* as when the packet was allocated */
    struct netif *interface;
};

static struct netif *interface_of(uint32_t address)
{
    struct netif *interface;

    NETIF_FOREACH(interface)
    if (netif_ip4_addr(interface)->addr == address)
        return interface;
    return NULL;
}

/* Finds the interface, and the address to send from. The caller holds the lock. */
static int way_find(const struct datagram_socket *socket, struct way *way)
{
    ip4_addr_t from = { socket->binding.address }, to = { way->to };
    bool many = inet_is_multicast(way->to);

    if (many && socket->multicast_interface)
        from.addr = socket->multicast_interface;
    if (!way->from)
        way->from = inet_is_multicast(from.addr) ? 0 : from.addr;
    if (!way->from)
        way->from = interface_source(way->to);
    way->interface = many && socket->multicast_interface ? interface_of(socket->multicast_interface)
                                                         : ip4_route_src(&from, &to);
    if (!way->interface)
        return -ENETUNREACH;
    if (!way->from)
        way->from = netif_ip4_addr(way->interface)->addr;
    if (ip4_addr_isbroadcast(&to, way->interface) && !socket_switch(&socket->socket, SO_BROADCAST))
        return -EACCES;
    return 0;
}

/* Adds UDP's header; `sum` is that of the payload. */
static void udp_header_add(struct pbuf *packet, const struct datagram_socket *socket, const struct way *way,
                           uint32_t sum)
{
    const ip4_addr_t from = { way->from }, to = { way->to };

    pbuf_add_header(packet, UDP_HLEN);
    struct udp_hdr *header = packet->payload;
    header->src = lwip_htons(socket->binding.port);
    header->dest = lwip_htons(way->port);
    header->len = lwip_htons(packet->tot_len);
    header->chksum = 0;
    sum += inet_chksum_pseudo_partial(packet, IP_PROTO_UDP, packet->tot_len, UDP_HLEN, &from, &to) ^ 0xffffU;
    sum = FOLD_U32T(sum);
    header->chksum = sum == 0xffff ? 0xffff : size_16(sum ^ 0xffff);
}

static void ping_prepare(struct pbuf *packet, const struct datagram_socket *socket)
{
    struct icmp_echo_hdr *echo = packet->payload;

    echo->id = lwip_htons(socket->binding.port);
    echo->chksum = 0;
    echo->chksum = inet_chksum(packet->payload, packet->len);
}

/* Sends a packet. The caller holds the lock. */
static int packet_send(struct datagram_socket *socket, struct pbuf *packet, struct way *way, uint32_t sum)
{
    ip4_addr_t from, to = { way->to };
    int error = way_find(socket, way);

    if (error)
        return error;
    from.addr = way->from;
    if (datagram_is_udp(socket))
        udp_header_add(packet, socket, way, sum);
    else if (!datagram_is_raw(socket))
        ping_prepare(packet, socket);
    if (packet->tot_len + IP_HLEN > way->interface->mtu && way->interface == &ethernet_interface &&
        (socket->ip.mtu_discover == MTU_DO || socket->ip.mtu_discover == MTU_PROBE))
        return -EMSGSIZE;
    bool many = inet_is_multicast(way->to);
    if (many && socket->multicast_loop && way->from != lwip_htonl(IPADDR_LOOPBACK))
        packet->flags |= PBUF_FLAG_MCASTLOOP;
    err_t result = ip4_output_if_src(packet, &from, way->header_included ? LWIP_IP_HDRINCL : &to, way->ttl,
                                     way->tos, (u8_t)socket->socket.protocol, way->interface);
    return result == ERR_RTE ? -ENETUNREACH : 0; /* what does not fit a device's ring is lost, as on a wire */
}

/* Finds the address and port that a message goes to. The caller holds the lock. */
static int destination_find(const struct datagram_socket *socket, const struct socket_message *message,
                            struct way *way)
{
    int error = 0;

    if (message->address && message->address->bytes) {
        error = inet_address_check(message->address);
        way->to = message->address->inet.address;
        way->port = lwip_ntohs(message->address->inet.port);
        if (!error && way->port == 0 && datagram_is_udp(socket))
            error = -EINVAL;
    } else if (socket->connected) {
        way->to = socket->remote_address;
        way->port = socket->remote_port;
    } else {
        error = -EDESTADDRREQ;
    }
    if (way->to == 0)
        way->to = lwip_htonl(IPADDR_LOOPBACK);
    return error;
}

/* Applies the socket's options, and those of this message alone. The caller holds the lock. */
static int way_configure(const struct datagram_socket *socket, const struct socket_control *control,
                         struct way *way)
{
    way->ttl = inet_is_multicast(way->to) ? socket->multicast_ttl : socket->ip.ttl;
    way->tos = socket->ip.tos;
    if (!control)
        return 0;
    if (control->has_ttl)
        way->ttl = (uint8_t)control->ttl;
    if (control->has_tos)
        way->tos = (uint8_t)control->tos;
    if (control->has_packet_info)
        way->from = control->local_address;
    if (control->has_ttl && control->ttl - 1 > 254)
        return -EINVAL;
    return way->from && !inet_may_bind((const struct inet_socket *)socket, way->from) ? -EINVAL : 0;
}

/* Returns the error with which sending ends at once, if any; takes a pending one. The caller holds the
 * lock. */
static int send_check(struct datagram_socket *socket, uint64_t bytes)
{
    if (socket->send_shut)
        return -EPIPE;
    if (bytes > (datagram_is_raw(socket) ? RAW_PAYLOAD_MAX : PAYLOAD_MAX))
        return -EMSGSIZE;
    if (!datagram_is_raw(socket) && !datagram_is_udp(socket) && bytes < sizeof(struct icmp_echo_hdr))
        return -EINVAL;
    if (socket->header_included && bytes < IP_HLEN)
        return -EINVAL;
    return inet_error_take(&socket->error);
}

/* Allocates a packet that the socket's account pays for. The caller holds the lock. */
static struct pbuf *packet_allocate(struct datagram_socket *socket, uint64_t bytes, bool header_included)
{
    pbuf_layer layer = PBUF_LINK;

    if (!header_included)
        layer = datagram_is_udp(socket) ? PBUF_TRANSPORT : PBUF_IP;
    NETWORK_PAYER(socket->account);
    return pbuf_alloc(layer, size_16(bytes), PBUF_RAM);
}

/* Checks everything that can be refused before the program's bytes are copied, and allocates the packet. */
static int send_begin(struct datagram_socket *socket, const struct socket_message *message, struct way *way,
                      struct pbuf **packet)
{
    const uint64_t bytes = message->vector->left;

    NETWORK_GUARD();
    int error = send_check(socket, bytes);
    if (error || (error = destination_find(socket, message, way)) || (error = hold_any(socket)) ||
        (error = way_configure(socket, message->control, way)))
        return error;
    way->header_included = socket->header_included;
    *packet = packet_allocate(socket, bytes, way->header_included);
    return *packet ? 0 : -ENOBUFS;
}

static int64_t datagram_send(struct file *file, struct socket_message *message)
{
    struct datagram_socket *socket = file->object;
    uint64_t bytes = message->vector->left;
    struct way way = { 0 };
    struct pbuf *packet;

    int error = send_begin(socket, message, &way, &packet);
    if (error)
        return error;
    error = bytes ? user_vector_copy(message->vector, packet->payload, bytes, false) : 0;
    uint32_t sum = datagram_is_udp(socket) ? inet_chksum(packet->payload, size_16(bytes)) ^ 0xffffU : 0;
    NETWORK_GUARD();
    NETWORK_PAYER(socket->account);
    if (!error)
        error = packet_send(socket, packet, &way, sum);
    pbuf_free(packet);
    return error ? error : (int64_t)bytes;
}

/* ---- Receiving ---- */

/* Takes the oldest datagram, which is in use by the caller then; with `peek` it stays in the queue. Returns
 * NULL with an error, or with 0 at the end. */
static struct datagram *datagram_take(struct datagram_socket *socket, bool peek, int *error)
{
    struct datagram *datagram = NULL;

    NETWORK_GUARD();
    *error = inet_error_take(&socket->error);
    if (!*error && socket->received.first) {
        datagram = LIST_OWNER(socket->received.first, datagram, link);
        if (peek) {
            datagram->users++;
        } else {
            list_remove(&socket->received, &datagram->link);
            socket->received_bytes -= sizeof(*datagram) + datagram->bytes;
        }
    } else if (!*error && !socket->receive_shut) {
        *error = -EAGAIN;
    }
    return datagram;
}

static void describe(const struct datagram_socket *socket, const struct datagram *datagram,
                     struct socket_message *message)
{
    struct socket_control *control = message->control;

    if (message->address)
        inet_address_write(message->address, datagram->arrival.address, datagram->arrival.port);
    if (!control)
        return;
    control->has_time = socket_switch(&socket->socket, SO_TIMESTAMP);
    control->has_exact_time = socket_switch(&socket->socket, SO_TIMESTAMPNS);
    control->time_ns = datagram->arrival.time_ns;
    control->has_ttl = socket->ip.receives_ttl;
    control->ttl = datagram->arrival.ttl;
    control->has_tos = socket->ip.receives_tos;
    control->tos = datagram->arrival.tos;
    control->has_packet_info = socket->ip.receives_packet_info;
    control->interface = datagram->arrival.interface;
    control->local_address = control->header_destination = datagram->arrival.destination;
}

static int64_t datagram_copy(const struct datagram_socket *socket, struct datagram *datagram,
                             struct socket_message *message)
{
    uint64_t part = smaller(datagram->bytes, message->vector->left);

    if (part && user_vector_copy(message->vector, datagram->data, part, true))
        return -EFAULT;
    describe(socket, datagram, message);
    if (part < datagram->bytes) {
        message->answer_flags |= MSG_TRUNC;
        message->whole_bytes = datagram->bytes;
    }
    return (int64_t)part;
}

static int64_t datagram_receive(struct file *file, struct socket_message *message)
{
    struct datagram_socket *socket = file->object;
    uint64_t deadline_ns = socket_deadline(file, false);
    struct datagram *datagram;
    int error;

    if (message->flags & MSG_OOB)
        return -EOPNOTSUPP;
    if (message->flags & MSG_ERRQUEUE)
        return -EAGAIN;
    if (!socket->received.first)
        network_poll();
    while (!(datagram = datagram_take(socket, message->flags & MSG_PEEK, &error)) && error == -EAGAIN) {
        if (socket_nonblocking(file, message->flags))
            return -EAGAIN;
        error = network_wait(event_of(socket), deadline_ns);
        if (error)
            return error;
    }
    if (!datagram)
        return error;
    int64_t result = datagram_copy(socket, datagram, message);
    NETWORK_GUARD();
    if (--datagram->users == 0)
        network_free(datagram);
    return result;
}

/* ---- The rest ---- */

static int datagram_shutdown(struct file *file, bool receiving, bool sending)
{
    struct datagram_socket *socket = file->object;

    NETWORK_GUARD();
    int error = socket->connected ? 0 : -ENOTCONN;
    socket->receive_shut |= receiving;
    socket->send_shut |= sending;
    datagram_changed(socket);
    return error;
}

static int64_t datagram_queued(struct file *file, bool unsent)
{
    struct datagram_socket *socket = file->object;

    network_poll();
    NETWORK_GUARD();
    if (unsent || !socket->received.first)
        return 0;
    return LIST_OWNER(socket->received.first, datagram, link)->bytes;
}

static unsigned datagram_ready(struct file *file)
{
    const struct datagram_socket *socket = file->object;

    network_poll();
    return (socket->received.first || socket->receive_shut ? READY_IN : 0) | READY_OUT |
           (socket->error ? READY_ERROR : 0) | (socket->receive_shut ? READY_PEER_ENDED : 0) |
           (socket->receive_shut && socket->send_shut ? READY_HANG_UP : 0);
}

/* Frees the socket, and one by one the datagrams that were not read: the lock is released after each. */
static void datagram_release(struct file *file)
{
    struct datagram_socket *socket = file->object;

    network_lock();
    datagram_receiver_skip(&socket->binding);
    binding_release(tree_of(socket), &socket->binding);
    if (datagram_is_raw(socket)) {
        list_remove(&raw_sockets, &socket->raw);
        raw_count--;
    }
    datagram_memberships_drop(socket);
    while (socket->received.first) {
        struct datagram *datagram = LIST_OWNER(socket->received.first, datagram, link);

        list_remove(&socket->received, &datagram->link);
        network_free(datagram);
        network_unlock();
        network_lock();
    }
    network_free(socket);
    network_unlock();
}

static const struct socket_operations datagram_operations = {
    .bind = datagram_bind,
    .connect = datagram_connect,
    .send = datagram_send,
    .receive = datagram_receive,
    .shutdown = datagram_shutdown,
    .name = datagram_name,
    .option_set = datagram_option_set,
    .option_get = datagram_option_get,
    .queued = datagram_queued,
};

static const struct file_operations datagram_files = {
    .move = socket_move,
    .ready = datagram_ready,
    .activity = inet_activity,
    .events = inet_events,
    .release = datagram_release,
    .waits = true,
};

int inet_datagram_create(struct file *file, int type, int protocol)
{
    const bool is_raw = type == SOCK_RAW;

    NETWORK_GUARD();
    struct network_account *account = network_account_of(arch_process());
    NETWORK_PAYER(account);
    struct datagram_socket *socket = NULL;
    if (account && !(is_raw && raw_count == RAW_SOCKETS_MAX))
        socket = network_allocate_array(1, sizeof(*socket));
    if (!socket)
        return -ENOBUFS;
    socket->process = arch_process();
    socket->account = account;
    socket->socket.receive_room = socket->socket.send_room = DATAGRAM_ROOM_DEFAULT;
    socket->ip = IP_OPTIONS_INITIAL;
    socket->multicast_ttl = 1;
    socket->multicast_loop = true;
    socket->header_included = is_raw && protocol == PROTOCOL_RAW;
    socket_initialise(file, &socket->socket, &datagram_files, &datagram_operations, AF_INET, (unsigned)type,
                      (unsigned)protocol);
    if (is_raw) {
        list_insert(&raw_sockets, &socket->raw, raw_sockets.first);
        raw_count++;
    }
    return 0;
}
