/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inet_option.c: options of UDP, ping and raw sockets, and multicast groups, which lwIP's IGMP joins and
 * leaves for the interface. Runs in system calls. [man 7 ip, raw, socket; RFC 2236]
 */
#include "lib/errno.h"
#include "lib/kstring.h"
#include "mm/page.h"
#include "net/inet_datagram.h"
#include "net/interface.h"
#include "net/memory.h"
#include "net/network.h"
#include "lwip/igmp.h"

#define LEVEL_RAW   255
#define ICMP_FILTER 1

/* Memberships of a rank, and of the node: lwIP searches all groups for each multicast packet. */
#define RANK_MEMBERSHIPS_MAX 60
#define NODE_MEMBERSHIPS_MAX 480

static unsigned node_memberships;

/* Linux's struct ip_mreqn; of ip_mreq the first two. */
struct group_request {
    uint32_t group, address;
    int32_t interface;
};

static int group_request_read(struct group_request *request, const void *value, uint32_t bytes)
{
    memset(request, 0, sizeof(*request));
    if (bytes < 2 * sizeof(uint32_t))
        return -EINVAL;
    memcpy(request, value, smaller(bytes, sizeof(*request)));
    if (!inet_is_multicast(request->group))
        return -EINVAL;
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

static int leave(struct datagram_socket *socket, const struct group_request *request)
{
    struct membership *membership = membership_find(socket, request);

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
    for (unsigned i = 0; i < MEMBERSHIPS_MAX; i++) {
        const struct group_request request = { .group = socket->memberships[i].group,
                                               .address = socket->memberships[i].interface };

        if (request.group)
            leave(socket, &request);
    }
}

static int membership_change(struct datagram_socket *socket, int option, const void *value, uint32_t bytes)
{
    struct group_request request;
    int error = group_request_read(&request, value, bytes);

    if (error)
        return error;
    NETWORK_GUARD();
    return option == IP_ADD_MEMBERSHIP ? join(socket, &request) : leave(socket, &request);
}

/* An address, or a whole request. */
static int multicast_interface_set(struct datagram_socket *socket, const void *value, uint32_t bytes)
{
    struct group_request request = { 0 };

    if (bytes < sizeof(uint32_t))
        return -EINVAL;
    if (bytes < 2 * sizeof(uint32_t))
        memcpy(&request.address, value, sizeof(request.address));
    else
        memcpy(&request, value, smaller(bytes, sizeof(request)));
    if (request.interface) {
        const struct netif *interface = netif_get_by_index((u8_t)request.interface);

        if (!interface)
            return -EADDRNOTAVAIL;
        request.address = netif_ip4_addr(interface)->addr;
    }
    if (!inet_is_local(request.address))
        return -EADDRNOTAVAIL;
    socket->multicast_interface = request.address;
    return 0;
}

static int ip_option_set(struct datagram_socket *socket, int option, const void *value, uint32_t bytes)
{
    int32_t number = inet_option_value(value, bytes);

    switch (option) {
    case IP_TOS:
        socket->tos = (uint8_t)number;
        return 0;
    case IP_TTL:
        if (number != -1 && (number < 1 || number > 255))
            return -EINVAL;
        socket->ttl = number == -1 ? 64 : (uint8_t)number;
        return 0;
    case IP_MULTICAST_TTL:
        if (number < -1 || number > 255)
            return -EINVAL;
        socket->multicast_ttl = number == -1 ? 1 : (uint8_t)number;
        return 0;
    case IP_MULTICAST_LOOP:
        socket->multicast_loop = number;
        return 0;
    case IP_MULTICAST_IF:
        return multicast_interface_set(socket, value, bytes);
    case IP_ADD_MEMBERSHIP:
    case IP_DROP_MEMBERSHIP:
        return membership_change(socket, option, value, bytes);
    case IP_PKTINFO:
        socket->receives_packet_info = number;
        return 0;
    case IP_RECVTTL:
        socket->receives_ttl = number;
        return 0;
    case IP_RECVERR:
        socket->receives_errors = number;
        return 0;
    case IP_HDRINCL:
        if (!datagram_is_raw(socket))
            return -ENOPROTOOPT;
        socket->header_included = number;
        return 0;
    case IP_MTU_DISCOVER:
    case IP_RECVTOS:
    case IP_RETOPTS:
    case IP_FREEBIND:
    case IP_MULTICAST_ALL:
        return 0;
    default:
        return -ENOPROTOOPT;
    }
}

int datagram_option_set(struct file *file, int level, int option, const void *value, uint32_t bytes)
{
    struct datagram_socket *socket = file->object;
    int64_t number = inet_option_value(value, bytes);

    if (level == LEVEL_IP)
        return ip_option_set(socket, option, value, bytes);
    if (level == LEVEL_RAW && option == ICMP_FILTER && datagram_is_raw(socket)) {
        socket->icmp_filter = (uint32_t)number;
        return 0;
    }
    if (level == SOL_SOCKET && option == SO_RCVBUF) {
        number = number < 0 ? INT32_MAX : number * 2; /* as Linux, for its own overhead */
        socket->room = (uint32_t)(number < 2304 ? 2304 : smaller((uint64_t)number, DATAGRAM_ROOM_MAX));
        return 0;
    }
    return -ENOPROTOOPT;
}

int datagram_option_get(struct file *file, int level, int option, void *value, uint32_t *bytes)
{
    struct datagram_socket *socket = file->object;

    if (level == SOL_SOCKET && option == SO_RCVBUF)
        return inet_option_answer(value, bytes, (int32_t)socket->room);
    if (level == SOL_SOCKET && option == SO_SNDBUF)
        return inet_option_answer(value, bytes, DATAGRAM_ROOM_DEFAULT);
    if (level == SOL_SOCKET && option == SO_ERROR) {
        NETWORK_GUARD();
        int error = -socket->error;
        socket->error = 0;
        return inet_option_answer(value, bytes, error);
    }
    if (level != LEVEL_IP)
        return level == SOL_SOCKET ? -ENOPROTOOPT : -EOPNOTSUPP;
    switch (option) {
    case IP_TOS:
        return inet_option_answer(value, bytes, socket->tos);
    case IP_TTL:
        return inet_option_answer(value, bytes, socket->ttl);
    case IP_MULTICAST_TTL:
        return inet_option_answer(value, bytes, socket->multicast_ttl);
    case IP_MULTICAST_LOOP:
        return inet_option_answer(value, bytes, socket->multicast_loop);
    case IP_MULTICAST_IF:
        return inet_option_answer(value, bytes, (int32_t)socket->multicast_interface);
    case IP_PKTINFO:
        return inet_option_answer(value, bytes, socket->receives_packet_info);
    case IP_RECVTTL:
        return inet_option_answer(value, bytes, socket->receives_ttl);
    case IP_RECVERR:
        return inet_option_answer(value, bytes, socket->receives_errors);
    case IP_HDRINCL:
        return inet_option_answer(value, bytes, socket->header_included);
    case IP_MTU:
        return socket->connected ? inet_option_answer(value, bytes, 1500) : -ENOTCONN;
    default:
        return -ENOPROTOOPT;
    }
}
