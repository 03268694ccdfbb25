/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inet_option.c: options of UDP, ping and raw sockets, and multicast groups, which lwIP's IGMP joins and
 * leaves for the interface. Runs in system calls. [man 7 ip, raw, socket; RFC 2236]
 */
#include "lib/errno.h"
#include "lib/kstring.h"
#include "mm/page.h"
#include "net/datagram.h"
#include "net/memory.h"
#include "net/network.h"
#include "lwip/igmp.h"

#define LEVEL_RAW   255
#define ICMP_FILTER 1

/* The most memberships of a rank, and of the node: lwIP searches all groups for each multicast packet, and
 * counts those of a group in a byte. */
#define RANK_MEMBERSHIPS_MAX 60

static unsigned node_memberships;

/* Linux's struct ip_mreqn; struct ip_mreq has the first two members. */
struct group_request {
    uint32_t group, address;
    int32_t interface;
};

/* Reads a request, whose address becomes that of the interface that its number names, if any. */
static int group_request_read(struct group_request *request, const void *value, uint32_t bytes)
{
    memcpy(request, value, smaller(bytes, sizeof(*request)));
    if (request->interface) {
        const struct netif *interface = netif_get_by_index((u8_t)request->interface);

        if (!interface)
            return -ENODEV;
        request->address = netif_ip4_addr(interface)->addr;
    }
    return 0;
}

static struct membership *membership_find(struct datagram_socket *socket, const struct group_request *request)
{
    for (unsigned i = 0; i < MEMBERSHIPS_MAX; i++)
        if (socket->memberships[i].group == request->group &&
            (!request->address || socket->memberships[i].interface == request->address))
            return &socket->memberships[i];
    return NULL;
}

static int join(struct datagram_socket *socket, const struct group_request *request)
{
    const struct group_request unused = { 0 };
    struct membership *membership = membership_find(socket, &unused);
    ip4_addr_t group = { request->group }, interface = { request->address };

    if (membership_find(socket, request))
        return -EADDRINUSE;
    unsigned *of_rank = network_account_memberships(socket->account);
    if (!membership || *of_rank == RANK_MEMBERSHIPS_MAX || node_memberships == NODE_MEMBERSHIPS_MAX)
        return -ENOBUFS;
    if (igmp_joingroup(&interface, &group) != ERR_OK)
        return -ENODEV;
    *membership = (struct membership){ request->group, request->address };
    ++*of_rank;
    node_memberships++;
    return 0;
}

static int leave(struct datagram_socket *socket, struct membership *membership)
{
    if (!membership)
        return -EADDRNOTAVAIL;
    ip4_addr_t group = { membership->group }, interface = { membership->interface };
    igmp_leavegroup(&interface, &group);
    membership->group = membership->interface = 0;
    --*network_account_memberships(socket->account);
    node_memberships--;
    return 0;
}

void datagram_memberships_drop(struct datagram_socket *socket)
{
    for (unsigned i = 0; i < MEMBERSHIPS_MAX; i++)
        if (socket->memberships[i].group)
            leave(socket, &socket->memberships[i]);
}

static int membership_change(struct datagram_socket *socket, int option, const void *value, uint32_t bytes)
{
    struct group_request request = { 0 };
    int error = group_request_read(&request, value, bytes);

    if (bytes < 2 * sizeof(uint32_t) || !inet_is_multicast(request.group))
        return -EINVAL;
    if (error)
        return error;
    NETWORK_GUARD();
    return option == IP_ADD_MEMBERSHIP ? join(socket, &request)
                                       : leave(socket, membership_find(socket, &request));
}

/* Sets the interface for multicast, by its address or by a whole request. */
static int multicast_interface_set(struct datagram_socket *socket, const void *value, uint32_t bytes)
{
    struct group_request request = { 0 };
    int error = 0;

    if (bytes < sizeof(uint32_t))
        return -EINVAL;
    if (bytes < 2 * sizeof(uint32_t))
        memcpy(&request.address, value, sizeof(request.address));
    else
        error = group_request_read(&request, value, bytes);
    if (error || !inet_is_local(request.address))
        return -EADDRNOTAVAIL;
    socket->multicast_interface = request.address;
    return 0;
}

#define FIELD(name) \
    sizeof(((struct datagram_socket *)NULL)->name), false, offsetof(struct datagram_socket, name)

static const struct inet_option options[] = {
    { SOL_SOCKET, SO_RCVBUF, sizeof(uint32_t), true, offsetof(struct datagram_socket, socket.receive_room),
      DATAGRAM_ROOM_MIN, DATAGRAM_ROOM_MAX, 0 },
    { LEVEL_IP, IP_MULTICAST_TTL, FIELD(multicast_ttl), 0, 255, 1 },
    { LEVEL_IP, IP_MULTICAST_LOOP, FIELD(multicast_loop), 0, 1, 0 },
    { LEVEL_IP, IP_MULTICAST_IF, FIELD(multicast_interface), 0, 0, 0 }, /* only for reading */
    { LEVEL_IP, IP_HDRINCL, FIELD(header_included), 0, 1, 0 },
    { LEVEL_RAW, ICMP_FILTER, FIELD(icmp_filter), 0, 0, 0 },
    { 0 },
};

_Static_assert(offsetof(struct datagram_socket, changes) == offsetof(struct inet_socket, changes), "inet.h");

int datagram_option_set(struct file *file, int level, int option, const void *value, uint32_t bytes)
{
    struct datagram_socket *socket = file->object;

    if (level == LEVEL_IP && option == IP_MULTICAST_IF)
        return multicast_interface_set(socket, value, bytes);
    if (level == LEVEL_IP && (option == IP_ADD_MEMBERSHIP || option == IP_DROP_MEMBERSHIP))
        return membership_change(socket, option, value, bytes);
    if ((level == LEVEL_RAW || option == IP_HDRINCL) && !datagram_is_raw(socket))
        return -ENOPROTOOPT;
    return inet_option_set((struct inet_socket *)socket, options, level, option, value, bytes);
}

int datagram_option_get(struct file *file, int level, int option, void *value, uint32_t *bytes)
{
    struct datagram_socket *socket = file->object;

    if (level != LEVEL_IP && level != SOL_SOCKET)
        return -EOPNOTSUPP;
    NETWORK_GUARD();
    return inet_option_get((struct inet_socket *)socket, socket->connected ? socket->remote_address : 0,
                           options, level, option, value, bytes);
}
