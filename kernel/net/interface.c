/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * interface.c: see interface.h. A received frame is copied out of the device's ring at once, so that the ring
 * never waits for a reader. The account of received frames pays for the copy until lwIP has handled it; the
 * account of strangers pays for fragments, which lwIP keeps, and for answers. A TCP segment that lwIP keeps
 * is copied once more, for the receiver's account (connection.c).
 */
#include "net/interface.h"
#include "debug/console.h"
#include "lib/kstring.h"
#include "lwip/etharp.h"
#include "lwip/prot/ethernet.h"
#include "mm/page.h"
#include "net/address.h"
#include "net/beat_wire.h"
#include "net/device.h"
#include "net/lwip_hooks.h"
#include "net/memory.h"
#include "net/network.h"
#include "net/size.h"

#define FRAME_PARTS_MAX 16
#define CUT_BYTES       SIZEOF_ETHARP_HDR

struct netif ethernet_interface;
struct network_device *network_device;

static struct pbuf *kept[INTERFACE_KEPT_MAX];
static uint32_t kept_oldest, kept_next; /* free-running */
uint64_t interface_receive_dropped, interface_send_dropped;

/* ---- Sending ---- */

/* Sends a frame of more parts than a driver takes at once as one part. */
static bool send_joined(struct pbuf *packet)
{
    struct pbuf *whole = pbuf_clone(PBUF_RAW, PBUF_RAM, packet);
    bool sent = false;

    if (whole) {
        struct frame_part part = { (char *)whole->payload + ETH_PAD_SIZE,
                                   (uint32_t)whole->tot_len - ETH_PAD_SIZE };

        sent = network_device->operations->send(network_device, &part, 1);
        pbuf_free(whole);
    }
    return sent;
}

static err_t frame_send(struct netif *interface, struct pbuf *packet)
{
    struct frame_part parts[FRAME_PARTS_MAX];
    const struct eth_hdr *header = packet->payload;
    unsigned count = 0, skip = ETH_PAD_SIZE;
    const struct pbuf *part = packet;
    bool sent;

    (void)interface; /* there is one */
    if (packet->tot_len > ETHERNET_FRAME_BYTES_MAX + ETH_PAD_SIZE)
        return ERR_IF;
    if (header->type == PP_HTONS(ETHTYPE_ARP))
        protocol_timers_arp();
    else if (address_is_probed())
        return ERR_IF;
    for (; part && count < FRAME_PARTS_MAX; part = part->next) {
        if (part->len > skip)
            parts[count++] = (struct frame_part){ (char *)part->payload + skip, part->len - skip };
        skip = 0;
    }
    sent = part ? send_joined(packet) : network_device->operations->send(network_device, parts, count);
    if (!sent)
        interface_send_dropped++;
    return sent ? ERR_OK : ERR_BUF;
}

/* Returns the address to which a packet goes on Ethernet: 0 if no way leads to its destination. */
static ip4_addr_t next_find(const ip4_addr_t *destination)
{
    ip4_addr_t next = *destination;

    if (!ip4_addr_ismulticast(&next) && !ip4_addr_isbroadcast(&next, &ethernet_interface))
        next.addr = address_next(next.addr);
    return next;
}

static err_t packet_send(struct netif *interface, struct pbuf *packet, const ip4_addr_t *destination)
{
    const ip4_addr_t next = next_find(destination);

    if (!next.addr)
        return ERR_RTE;
    if (next.addr == destination->addr && !ip4_addr_ismulticast(&next) &&
        !ip4_addr_netcmp(&next, netif_ip4_addr(interface), netif_ip4_netmask(interface)) &&
        !ip4_addr_isbroadcast(&next, interface))
        return etharp_query(interface, &next, packet); /* on the link, by a route: lwIP knows of none */
    return etharp_output(interface, packet, &next);
}

/* ---- Receiving ---- */

/* Returns the IP header of a frame; NULL if it has none. */
static const uint8_t *ip_header(const uint8_t *frame, uint32_t bytes)
{
    const bool is_ip = bytes >= ETHERNET_HEADER_BYTES + IP_HLEN && frame[12] == 0x08 && frame[13] == 0x00;

    return is_ip ? frame + ETHERNET_HEADER_BYTES : NULL;
}

/* Notices another node with an address of this one. */
static void arp_look(const uint8_t *frame, uint32_t bytes)
{
    uint32_t sender;

    if (bytes < ETHERNET_HEADER_BYTES + SIZEOF_ETHARP_HDR || frame[12] != 0x08 || frame[13] != 0x06 ||
        memcmp(&frame[22], network_device->address, ETHERNET_ADDRESS_BYTES) == 0)
        return;
    memcpy(&sender, &frame[28], sizeof(sender));
    address_conflict(sender);
}

/* Allocates a packet with zeros after its end: lwIP looks past the end of packets that are cut, by the rest
 * of an ARP packet at most. The largest packets have no room for the zeros, but are longer than what lwIP
 * looks for. */
struct pbuf *interface_packet(uint16_t bytes)
{
    const uint16_t zeros = size_16(smaller(CUT_BYTES, UINT16_MAX - bytes));
    struct pbuf *packet = pbuf_alloc(PBUF_RAW, size_16(bytes + zeros), PBUF_RAM);

    if (!packet)
        return NULL;
    memset((char *)packet->payload + bytes, 0, zeros);
    packet->len = packet->tot_len = bytes;
    return packet;
}

/* Returns a copy of a frame for lwIP; NULL if the frame is dropped. */
static struct pbuf *frame_packet(const void *frame, uint32_t bytes)
{
    struct pbuf *packet = NULL;

    const uint8_t *ip = ip_header(frame, bytes);
    const bool is_fragment = ip && ((ip[6] & 0x3f) != 0 || ip[7] != 0);
    const bool is_martian = ip && (ip[12] == 127 || ip[16] == 127); /* from or to loopback */

    network_account_use(network_account_own(is_fragment ? NETWORK_STRANGERS : NETWORK_FRAMES));
    if (bytes >= ETHERNET_HEADER_BYTES && bytes <= ETHERNET_FRAME_BYTES_MAX && !is_martian)
        packet = interface_packet(size_16(bytes + ETH_PAD_SIZE));
    network_account_use(NULL);
    if (packet)
        memcpy((char *)packet->payload + ETH_PAD_SIZE, frame, bytes);
    else
        interface_receive_dropped++;
    return packet;
}

static void packet_input(struct pbuf *packet)
{
    const uint8_t *frame = (const uint8_t *)packet->payload + ETH_PAD_SIZE;
    const uint32_t bytes = (uint32_t)packet->tot_len - ETH_PAD_SIZE;
    const uint8_t *ip = ip_header(frame, bytes);

    arp_look(frame, bytes);
    if (ip && ip[9] == IP_PROTO_IGMP)
        protocol_timers_igmp();
    network_account_use(network_account_own(NETWORK_STRANGERS));
    if (ethernet_interface.input(packet, &ethernet_interface) != ERR_OK) {
        interface_receive_dropped++;
        pbuf_free(packet);
    }
    network_account_use(NULL);
}

bool interface_has_kept(void)
{
    return kept_oldest != kept_next;
}

/* Keeps a data frame for the next CPU that polls the network. */
static void keep(const void *frame, uint32_t bytes)
{
    const bool has_room = kept_next - kept_oldest < INTERFACE_KEPT_MAX;
    struct pbuf *packet = has_room ? frame_packet(frame, bytes) : NULL;

    if (packet)
        kept[kept_next++ % INTERFACE_KEPT_MAX] = packet;
    interface_receive_dropped += !has_room;
    nettick_shared.data_dropped += !has_room;
}

bool interface_receive(enum beat_taken *beat, bool keeps)
{
    uint32_t bytes;
    const void *frame;
    struct pbuf *packet;

    if (!keeps && interface_has_kept()) {
        packet_input(kept[kept_oldest++ % INTERFACE_KEPT_MAX]);
        return true;
    }
    if (!network_device || !(frame = network_device->operations->receive(network_device, &bytes)))
        return false;
    *beat = beat_frame_take(frame, bytes);
    if (*beat == BEAT_NONE && keeps)
        keep(frame, bytes);
    else if (*beat == BEAT_NONE && (packet = frame_packet(frame, bytes)))
        packet_input(packet);
    network_device->operations->receive_done(network_device);
    return true;
}

/* ---- The link ---- */

void interface_service(void)
{
    bool was_up = netif_is_link_up(&ethernet_interface);

    network_device->operations->service(network_device);
    if (network_device->link == was_up)
        return;
    if (was_up) {
        netif_set_link_down(&ethernet_interface);
        kernel_print("network: eth0: the link is down\n");
    } else {
        kernel_print("network: eth0: the link is up, %u Mbit/s\n", network_device->speed_mbit);
        netif_set_link_up(&ethernet_interface);
    }
}

bool interface_link_has_changed(void)
{
    return network_device && network_device->link != !!netif_is_link_up(&ethernet_interface);
}

static err_t group_change(struct netif *interface, const ip4_addr_t *group,
                          enum netif_mac_filter_action action)
{
    const uint8_t *ip = (const uint8_t *)&group->addr;
    const uint8_t address[ETHERNET_ADDRESS_BYTES] = { 0x01, 0x00, 0x5e, ip[1] & 0x7f, ip[2], ip[3] };

    (void)interface; /* there is one */
    network_device->operations->multicast(network_device, address, action == NETIF_ADD_MAC_FILTER);
    protocol_timers_igmp();
    return ERR_OK;
}

static err_t initialise(struct netif *interface)
{
    interface->name[0] = 'e';
    interface->name[1] = 't';
    interface->output = packet_send;
    interface->linkoutput = frame_send;
    interface->igmp_mac_filter = group_change;
    interface->mtu = INTERFACE_MTU;
    interface->hwaddr_len = ETHERNET_ADDRESS_BYTES;
    memcpy(interface->hwaddr, network_device->address, ETHERNET_ADDRESS_BYTES);
    interface->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET | NETIF_FLAG_IGMP;
    return ERR_OK;
}

void interface_start(struct network_device *device)
{
    const uint8_t *address = device->address;

    network_device = device;
    netif_add_noaddr(&ethernet_interface, NULL, initialise, netif_input);
    netif_set_default(&ethernet_interface);
    netif_set_up(&ethernet_interface);
    kernel_print("network: eth0 is %s at %s, %02x:%02x:%02x:%02x:%02x:%02x\n", device->model, device->place,
                 address[0], address[1], address[2], address[3], address[4], address[5]);
    interface_service();
}

/* ---- Addresses ---- */

bool interface_owns(uint32_t address)
{
    return (address & PP_HTONL(0xff000000)) == PP_HTONL(0x7f000000) ||
           (address && address == netif_ip4_addr(&ethernet_interface)->addr);
}

struct netif *network_ip_route(const ip4_addr_t *source, const ip4_addr_t *destination)
{
    (void)source; /* there is one interface besides loopback */
    return interface_owns(destination->addr) ? &loopback_interface : NULL;
}

uint32_t interface_source(uint32_t destination)
{
    const ip4_addr_t address = { destination };
    const struct netif *interface;

    if (interface_owns(destination))
        return destination;
    interface = ip4_route(&address);
    return interface && next_find(&address).addr ? netif_ip4_addr(interface)->addr : 0;
}

const char *address_text(uint32_t address, char text[ADDRESS_TEXT_BYTES])
{
    const uint8_t *bytes = (const uint8_t *)&address;

    format_text(text, ADDRESS_TEXT_BYTES, "%u.%u.%u.%u", bytes[0], bytes[1], bytes[2], bytes[3]);
    return text;
}
