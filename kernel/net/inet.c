/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inet.c: sockets of AF_INET: which kind a program gets, addresses. Runs in system calls. Programs may use
 * all ports, and raw sockets if the node's option says so. [man 7 ip, raw]
 */
#include "net/inet.h"
#include "lib/command_line.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "mm/page.h"
#include "net/connection.h"
#include "net/interface.h"
#include "net/interface_facts.h"
#include "lwip/def.h"

#define SOCKADDR_BYTES 16 /* sizeof(struct sockaddr_in) */

static bool raw_is_allowed;

int inet_configure(const struct command_line *line, struct message *why)
{
    const char *value = command_line_option(line, "raw_sockets");

    raw_is_allowed = value && strcmp(value, "on") == 0;
    if (value && !raw_is_allowed && strcmp(value, "off") != 0)
        return message_set(why, -EINVAL, "raw_sockets=%s: it can be on or off", value);
    return 0;
}

int inet_socket_create(struct file *file, int type, int protocol)
{
    if (type < SOCK_STREAM || type > SOCK_RAW)
        return -ESOCKTNOSUPPORT;
    if (protocol < 0 || protocol > PROTOCOL_LAST)
        return -EINVAL;
    if (protocol > UINT8_MAX)
        return -EPROTONOSUPPORT;
    if (type == SOCK_STREAM)
        return protocol == PROTOCOL_IP || protocol == PROTOCOL_TCP ? inet_stream_create(file)
                                                                   : -EPROTONOSUPPORT;
    if (type == SOCK_DGRAM && protocol == PROTOCOL_IP)
        protocol = PROTOCOL_UDP;
    if (type == SOCK_DGRAM ? protocol != PROTOCOL_UDP && protocol != PROTOCOL_ICMP : protocol == PROTOCOL_IP)
        return -EPROTONOSUPPORT;
    if (type == SOCK_RAW && !raw_is_allowed)
        return -EPERM;
    return inet_datagram_create(file, type, protocol);
}

int inet_address_check(const struct socket_address *name)
{
    if (name->bytes < SOCKADDR_BYTES)
        return -EINVAL;
    return name->family == AF_INET ? 0 : -EAFNOSUPPORT;
}

void inet_address_write(struct socket_address *name, uint32_t address, uint16_t port)
{
    memset(name->raw, 0, SOCKADDR_BYTES);
    name->bytes = SOCKADDR_BYTES;
    name->inet.family = AF_INET;
    name->inet.port = lwip_htons(port);
    name->inet.address = address;
}

bool inet_is_multicast(uint32_t address)
{
    return lwip_ntohl(address) >> 28 == 14;
}

bool inet_is_local(uint32_t address)
{
    return address == 0 || interface_owns(address);
}

bool inet_may_bind(const struct inet_socket *socket, uint32_t address)
{
    return socket->ip.free_bind || inet_is_local(address);
}

int inet_hold(struct binding_tree *tree, struct binding *binding, const struct inet_socket *socket,
              uint32_t address, uint16_t port)
{
    const uint32_t address_before = binding->address;

    binding->address = address;
    binding->port = port;
    binding->reuse = socket_switch(&socket->socket, SO_REUSEADDR);
    binding->shares = socket_switch(&socket->socket, SO_REUSEPORT);
    if ((tree == &tcp_bindings && !port && socket->ip.no_port) || binding_hold(tree, binding) == 0)
        return 0;
    binding->address = address_before;
    binding->port = 0;
    return -EADDRINUSE;
}

uint64_t inet_activity(struct file *file)
{
    return __atomic_load_n(&((struct inet_socket *)file->object)->changes, __ATOMIC_RELAXED);
}

uint64_t inet_events(const struct file *file)
{
    return event_of(file->object);
}

/* ---- Options ---- */

int32_t inet_option_value(const void *value, uint32_t bytes)
{
    int32_t number;

    if (bytes < sizeof(number))
        return *(const uint8_t *)value;
    memcpy(&number, value, sizeof(number));
    return number;
}

int inet_option_answer(void *value, uint32_t *bytes, int32_t answer)
{
    if (*bytes > sizeof(answer))
        *bytes = sizeof(answer);
    memcpy(value, &answer, *bytes);
    return 0;
}

#define IP_FIELD(name) \
    sizeof(((struct inet_socket *)NULL)->ip.name), false, offsetof(struct inet_socket, ip.name)

static const struct inet_option ip_options[] = {
    { LEVEL_IP, IP_TOS, IP_FIELD(tos), 0, 0, 0 },
    { LEVEL_IP, IP_TTL, IP_FIELD(ttl), 1, 255, 64 },
    { LEVEL_IP, IP_RETOPTS, IP_FIELD(returns_options), 0, 1, 0 },
    { LEVEL_IP, IP_PKTINFO, IP_FIELD(receives_packet_info), 0, 1, 0 },
    { LEVEL_IP, IP_MTU_DISCOVER, IP_FIELD(mtu_discover), 0, 5, 0 },
    { LEVEL_IP, IP_RECVERR, IP_FIELD(receives_errors), 0, 1, 0 },
    { LEVEL_IP, IP_RECVTTL, IP_FIELD(receives_ttl), 0, 1, 0 },
    { LEVEL_IP, IP_RECVTOS, IP_FIELD(receives_tos), 0, 1, 0 },
    { LEVEL_IP, IP_FREEBIND, IP_FIELD(free_bind), 0, 1, 0 },
    { LEVEL_IP, IP_BIND_ADDRESS_NO_PORT, IP_FIELD(no_port), 0, 1, 0 },
    { LEVEL_IP, IP_MULTICAST_ALL, IP_FIELD(all_groups), 0, 1, 0 },
    { 0 },
};

static const struct inet_option *option_in(const struct inet_option *table, int level, int option)
{
    for (; table->bytes; table++)
        if (table->level == level && table->option == option)
            return table;
    return NULL;
}

static const struct inet_option *option_find(const struct inet_option *table, int level, int option)
{
    const struct inet_option *row = option_in(ip_options, level, option);

    return row ? row : option_in(table, level, option);
}

/* Sets SO_BINDTODEVICE, by name; an empty one is none. */
static int device_set(struct socket *socket, const char *name, uint32_t bytes)
{
    struct interface_facts facts;
    char text[16] = { 0 };

    memcpy(text, name, smaller(bytes, sizeof(text) - 1));
    if (text[0] && !interface_facts_named(text, &facts))
        return -ENODEV;
    socket->device = text[0] ? (uint8_t)facts.index : 0;
    return 0;
}

int inet_option_set(struct inet_socket *socket, const struct inet_option *table, int level, int option,
                    const void *bytes_of, uint32_t bytes)
{
    const struct inet_option *row = option_find(table, level, option);
    int32_t value = inet_option_value(bytes_of, bytes);

    if (level == SOL_SOCKET && option == SO_BINDTODEVICE)
        return device_set(&socket->socket, bytes_of, bytes);
    if (!row)
        return -ENOPROTOOPT;
    if (level == SOL_SOCKET)
        value = value < 0 || value > row->high / 2 ? row->high : 2 * value;
    if (value == -1 && row->standard)
        value = row->standard;
    if (row->high == 1) {
        value = value != 0;
    } else if (row->high && (value < row->low || value > row->high)) {
        if (!row->is_bounded)
            return -EINVAL;
        value = value < row->low ? row->low : row->high;
    }
    memcpy((char *)socket + row->at, &value, row->bytes);
    return 0;
}

int inet_option_get(struct inet_socket *socket, uint32_t peer, const struct inet_option *table, int level,
                    int option, void *value, uint32_t *bytes)
{
    const struct inet_option *row = option_find(table, level, option);
    struct interface_facts facts;
    int32_t answer = 0;

    if (level == SOL_SOCKET && option == SO_BINDTODEVICE) {
        const char *name = interface_facts(socket->socket.device, &facts) ? facts.name : "";
        *bytes = (uint32_t)smaller(*bytes, name[0] ? strlen(name) + 1 : 0);
        memcpy(value, name, *bytes);
        return 0;
    }
    if (level == SOL_SOCKET && option == SO_ERROR)
        return inet_option_answer(value, bytes, -inet_error_take(&socket->error));
    if (level == LEVEL_IP && option == IP_MTU) {
        const struct netif *interface = interface_owns(peer) ? &loopback_interface : &ethernet_interface;
        return peer ? inet_option_answer(value, bytes, interface->mtu) : -ENOTCONN;
    }
    if (!row)
        return -ENOPROTOOPT;
    memcpy(&answer, (const char *)socket + row->at, row->bytes);
    return inet_option_answer(value, bytes, answer);
}
