/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * address.c: see address.h. lwIP's dhcp.c conducts the exchange up to the lease. The lease's times are kept
 * here, in ns, because lwIP counts its own by a timer that is not run.
 */
#include "net/address.h"
#include "arch.h"
#include "debug/console.h"
#include "lib/kstring.h"
#include "mm/page.h"
#include "lwip/dhcp.h"
#include "lwip/etharp.h"
#include "lwip/prot/dhcp.h"
#include "net/connection.h"
#include "net/interface.h"
#include "net/lwip_hooks.h"
#include "net/network.h"
#include "net/size.h"
#include "time/clock.h"

#define WAIT_DEFAULT_S 10
#define WAIT_MAX_S     3600
#define PROBE_NS       (NS_PER_S / 2)
#define RENEW_PAUSE_NS (60 * NS_PER_S)
#define LEASE_FOREVER  UINT32_MAX
#define OPTION_DOMAIN  15
#define OPTION_SEARCH  119
#define OPTION_ROUTES  121
#define MTU_MIN        576 /* lower ones are mistakes of servers */

struct node_facts node_facts;

static struct address_option option = { .kind = ADDRESS_DHCP };
static uint64_t wait_s = WAIT_DEFAULT_S;

/* Times of a finite lease; UINT64_MAX: there is none. */
static uint64_t renew_ns = UINT64_MAX, expire_ns = UINT64_MAX;
static uint64_t probe_until_ns; /* 0: no probe */
static bool taken;              /* another node has answered the probe */
static struct node_facts offered;
static struct option_parts offered_routes, offered_search;

int address_configure(const struct command_line *line, struct message *why)
{
    const char *ip = command_line_option(line, "ip"), *wait = command_line_option(line, "ip_wait");
    int error = ip ? address_option_parse(ip, &option, why) : 0;

    return error ? error : option_value(OPTION_NUMBER, "ip_wait", wait, 0, WAIT_MAX_S, &wait_s, why);
}

static void facts_print(const char *source)
{
    char address[ADDRESS_TEXT_BYTES], gateway[ADDRESS_TEXT_BYTES], server[ADDRESS_TEXT_BYTES], mtu[16] = "";
    uint32_t way = address_next(0);

    if (ethernet_interface.mtu < INTERFACE_MTU)
        format_text(mtu, sizeof(mtu), ", MTU %u", ethernet_interface.mtu);
    kernel_print("network: eth0 has %s/%u%s%s%s%s%s%s%s, %s\n",
                 address_text(netif_ip4_addr(&ethernet_interface)->addr, address),
                 address_mask_bits(netif_ip4_netmask(&ethernet_interface)->addr), way ? ", router " : "",
                 way ? address_text(way, gateway) : "", node_facts.name_servers[0] ? ", name server " : "",
                 node_facts.name_servers[0] ? address_text(node_facts.name_servers[0], server) : "",
                 node_facts.name[0] ? ", name " : "", node_facts.name, mtu, source);
}

/* ---- DHCP ---- */

/* Asks for options in addition to lwIP's: appends them to its list, which is the last option of the message.
 * Returns the message's new length. */
uint16_t network_dhcp_request(uint8_t *options, uint16_t count)
{
    const uint8_t more[] = { DHCP_OPTION_DNS_SERVER, DHCP_OPTION_HOSTNAME, OPTION_DOMAIN, DHCP_OPTION_NTP,
                             DHCP_OPTION_MTU,        OPTION_SEARCH,        OPTION_ROUTES };

    offered = (struct node_facts){ 0 };
    offered_routes.used = offered_search.used = 0;
    offered_routes.is_too_long = offered_search.is_too_long = false;

    for (unsigned at = 0; at + 2 <= count; at += 2U + options[at + 1])
        if (options[at] == DHCP_OPTION_PARAMETER_REQUEST_LIST && at + 2U + options[at + 1] == count) {
            options[at + 1] = (uint8_t)(options[at + 1] + sizeof(more));
            memcpy(&options[count], more, sizeof(more));
            return size_16(count + sizeof(more));
        }
    return count;
}

/* Keeps a name: a host's, or a domain's. */
static void name_take(char to[HOST_NAME_BYTES], unsigned bytes, const struct pbuf *packet, uint16_t offset)
{
    char text[HOST_NAME_BYTES];

    if (bytes >= sizeof(text) || pbuf_copy_partial(packet, text, size_16(bytes), offset) != bytes)
        return;
    while (bytes && text[bytes - 1] == '\0') /* some servers send the NUL */
        bytes--;
    if (!host_name_is_valid(text, bytes))
        return;
    memcpy(to, text, bytes);
    to[bytes] = '\0';
}

static void part_take(struct option_parts *parts, unsigned bytes, const struct pbuf *packet, uint16_t offset)
{
    uint8_t *to = option_part_add(parts, bytes);

    if (to && pbuf_copy_partial(packet, to, size_16(bytes), offset) != bytes)
        parts->is_too_long = true; /* the packet ends within it */
}

void network_dhcp_option(uint8_t type, uint8_t number, uint8_t bytes, const struct pbuf *packet,
                         uint16_t offset)
{
    if (type != DHCP_ACK) /* offers of other servers do not matter */
        return;
    switch (number) {
    case DHCP_OPTION_HOSTNAME:
        name_take(offered.name, bytes, packet, offset);
        break;
    case OPTION_DOMAIN:
        name_take(offered.search, bytes, packet, offset);
        break;
    case DHCP_OPTION_DNS_SERVER:
        pbuf_copy_partial(packet, offered.name_servers,
                          size_16(smaller(bytes & 0xfc, sizeof(offered.name_servers))), offset);
        break;
    case DHCP_OPTION_NTP:
        if (bytes >= sizeof(offered.time_server))
            pbuf_copy_partial(packet, &offered.time_server, sizeof(offered.time_server), offset);
        break;
    case DHCP_OPTION_MTU:
        if (bytes == sizeof(offered.mtu))
            pbuf_copy_partial(packet, &offered.mtu, sizeof(offered.mtu), offset);
        break;
    case OPTION_SEARCH:
        part_take(&offered_search, bytes, packet, offset);
        break;
    case OPTION_ROUTES:
        part_take(&offered_routes, bytes, packet, offset);
        break;
    default:
        break;
    }
}

/* Makes what came with the lease the node's. Routes replace the router [RFC 3442]: the default one is that of
 * no bits. */
static void facts_use(void)
{
    const uint16_t mtu = lwip_ntohs(offered.mtu);
    char search[SEARCH_BYTES];

    offered.route_count = dhcp_routes_read(&offered_routes, offered.routes, ROUTES_MAX);
    if (dhcp_search_read(&offered_search, search, sizeof(search)))
        memcpy(offered.search, search, sizeof(search));
    node_facts = offered;
    ethernet_interface.mtu = INTERFACE_MTU;
    if (mtu >= MTU_MIN && mtu < INTERFACE_MTU)
        ethernet_interface.mtu = mtu;
}

uint32_t address_next(uint32_t destination)
{
    const uint32_t mask = netif_ip4_netmask(&ethernet_interface)->addr;
    const bool is_near = !((destination ^ netif_ip4_addr(&ethernet_interface)->addr) & mask);
    const struct route *route = route_find(node_facts.routes, node_facts.route_count, destination);

    if (route && !(is_near && address_mask_bits(mask) >= address_mask_bits(route->mask)))
        return route->gateway ? route->gateway : destination;
    if (is_near || (destination & PP_HTONL(0xffff0000)) == PP_HTONL(0xa9fe0000)) /* or link-local */
        return destination;
    return node_facts.route_count ? 0 : netif_ip4_gw(&ethernet_interface)->addr;
}

static void lease_begin(const struct dhcp *dhcp)
{
    uint64_t now_ns = clock_now_ns();
    char server[ADDRESS_TEXT_BYTES], source[64];
    uint32_t lease_s = dhcp->offered_t0_lease, renew_s = dhcp->offered_t1_renew;

    renew_ns = expire_ns = UINT64_MAX;
    probe_until_ns = 0;
    address_text(ip_2_ip4(&dhcp->server_ip_addr)->addr, server);
    if (lease_s == LEASE_FOREVER) {
        format_text(source, sizeof(source), "from %s for ever", server);
    } else {
        expire_ns = now_ns + (lease_s ? lease_s : 1) * NS_PER_S;
        renew_ns = now_ns + (renew_s && renew_s < lease_s ? renew_s : lease_s / 2) * NS_PER_S;
        format_text(source, sizeof(source), "from %s for %u s", server, lease_s);
    }
    facts_use();
    facts_print(source);
}

/* Handles a change of the interface's address by DHCP. */
static void address_changed(struct netif *interface)
{
    static uint32_t last;
    const struct dhcp *dhcp = netif_dhcp_data(interface);
    uint32_t address = netif_ip4_addr(interface)->addr;
    char text[ADDRESS_TEXT_BYTES];

    if (!dhcp || option.kind != ADDRESS_DHCP)
        return;
    if (last && address != last) {
        kernel_print("network: eth0 has lost its address %s\n", address_text(last, text));
        connection_address_lost(last);
    }
    last = address;
    if (!address) {
        renew_ns = expire_ns = UINT64_MAX;
    } else if (!address_is_usable(address, netif_ip4_netmask(interface)->addr)) {
        kernel_print("network: DHCP has given %s/%u, which is not a host address\n",
                     address_text(address, text), address_mask_bits(netif_ip4_netmask(interface)->addr));
        last = 0;
        netif_set_addr(interface, IP4_ADDR_ANY4, IP4_ADDR_ANY4, IP4_ADDR_ANY4);
    } else if (dhcp->state == DHCP_STATE_BOUND) {
        lease_begin(dhcp);
    }
}

bool address_is_busy(void)
{
    const struct dhcp *dhcp = netif_dhcp_data(&ethernet_interface);

    return probe_until_ns || (dhcp && dhcp->request_timeout);
}

/* ---- Leases ---- */

bool address_is_probed(void)
{
    return probe_until_ns != 0;
}

void address_conflict(uint32_t address)
{
    if (probe_until_ns && address == netif_ip4_addr(&ethernet_interface)->addr)
        taken = true;
}

static void probe_end(void)
{
    char text[ADDRESS_TEXT_BYTES];

    probe_until_ns = 0;
    if (!taken) {
        dhcp_network_changed(&ethernet_interface);
        return;
    }
    kernel_print("network: the lease of %s has expired, and another node has the address\n",
                 address_text(netif_ip4_addr(&ethernet_interface)->addr, text));
    dhcp_stop(&ethernet_interface);
    dhcp_start(&ethernet_interface);
}

void address_update(uint64_t now_ns)
{
    if (probe_until_ns) {
        if (now_ns >= probe_until_ns)
            probe_end();
        return;
    }
    if (now_ns >= expire_ns) {
        renew_ns = expire_ns = UINT64_MAX;
        taken = false;
        etharp_request(&ethernet_interface, netif_ip4_addr(&ethernet_interface));
        probe_until_ns = now_ns + PROBE_NS;
    } else if (now_ns >= renew_ns) {
        renew_ns = now_ns + RENEW_PAUSE_NS;
        dhcp_renew(&ethernet_interface);
    }
}

/* ---- Start ---- */

static void wait_for_dhcp(void)
{
    uint64_t deadline_ns = clock_now_ns() + wait_s * NS_PER_S;

    while (!netif_ip4_addr(&ethernet_interface)->addr && clock_now_ns() < deadline_ns) {
        network_poll();
        arch_pause();
    }
    if (netif_ip4_addr(&ethernet_interface)->addr)
        return;
    if (netif_is_link_up(&ethernet_interface))
        kernel_print("network: no DHCP server has given eth0 an address within %lu s (ip_wait=)\n", wait_s);
    else
        kernel_print("network: eth0 has had no link for %lu s (ip_wait=)\n", wait_s);
}

void address_start(void)
{
    const ip4_addr_t address = { option.address }, mask = { option.mask }, gateway = { option.gateway };

    if (option.kind == ADDRESS_OFF)
        return;
    network_lock();
    if (option.kind == ADDRESS_STATIC) {
        memcpy(node_facts.name, option.name, sizeof(node_facts.name));
        node_facts.name_servers[0] = option.name_server;
        netif_set_addr(&ethernet_interface, &address, &mask, &gateway);
        facts_print("from ip=");
    } else {
        netif_set_status_callback(&ethernet_interface, address_changed);
        dhcp_start(&ethernet_interface);
    }
    network_unlock();
    if (option.kind == ADDRESS_DHCP)
        wait_for_dhcp();
}
