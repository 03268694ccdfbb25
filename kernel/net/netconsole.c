/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * netconsole.c: see network.h. Positions in the ring are free-running. A panic may send a line twice, if
 * another CPU was sending it; positions are assigned, never added to, so that the ring stays consistent.
 * [Linux, Documentation/networking/netconsole.rst; RFC 768; RFC 791]
 */
#include "arch.h"
#include "debug/console.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "lwip/etharp.h"
#include "lwip/inet_chksum.h"
#include "lwip/ip.h"
#include "lwip/prot/ip4.h"
#include "lwip/prot/udp.h"
#include "net/address.h"
#include "net/device.h"
#include "net/interface.h"
#include "net/network.h"
#include "net/size.h"
#include "time/clock.h"

#define RING_BYTES     8192U
#define TEXT_BYTES_MAX 1000U /* text of a datagram, as with Linux */
#define PORT_FROM      6665
#define PORT_DEFAULT   6666
#define REQUEST_NS     (5 * NS_PER_S) /* as long as lwIP asks */
#define FLUSH_NS       (NS_PER_S / 100)
#define LINES_AT_ONCE  4
#define OPTION         "netconsole"

struct header {
    uint8_t to[ETHERNET_ADDRESS_BYTES], from[ETHERNET_ADDRESS_BYTES];
    uint16_t type;
    struct ip_hdr ip;
    struct udp_hdr udp;
} __attribute__((packed));

uint64_t netconsole_dropped;

static char ring[RING_BYTES];
/* Bytes from `tail` up to `head` are to be sent; from there up to `fill` there is a line that has not
 * ended. */
static uint32_t tail, head, fill;
static bool is_dropping; /* drops text until the line's end */
static bool is_ready;
static uint32_t receiver;
static uint64_t port = PORT_DEFAULT;
static uint8_t hardware_address[ETHERNET_ADDRESS_BYTES];

/* ---- Sending ---- */

static bool line_send(uint32_t from, uint32_t bytes)
{
    const uint32_t start = from % RING_BYTES, first = RING_BYTES - start < bytes ? RING_BYTES - start : bytes;
    struct header header = {
        .type = PP_HTONS(0x0800),
        .ip = { ._v_hl = 0x45,
                ._len = lwip_htons(size_16(IP_HLEN + UDP_HLEN + bytes)),
                ._ttl = 64,
                ._proto = IP_PROTO_UDP,
                .src = { netif_ip4_addr(&ethernet_interface)->addr },
                .dest = { receiver } },
        .udp = { PP_HTONS(PORT_FROM), lwip_htons(size_16(port)), lwip_htons(size_16(UDP_HLEN + bytes)), 0 },
    };
    const struct frame_part parts[] = { { &header, sizeof(header) },
                                        { ring + start, first },
                                        { ring, bytes - first } };

    memcpy(header.to, hardware_address, sizeof(header.to));
    memcpy(header.from, network_device->address, sizeof(header.from));
    header.ip._chksum = inet_chksum((uint8_t *)&header + ETHERNET_HEADER_BYTES, IP_HLEN);
    return network_device->operations->send(network_device, parts, 3);
}

bool netconsole_send(void)
{
    const uint32_t from = tail, end = __atomic_load_n(&head, __ATOMIC_ACQUIRE);
    uint32_t to = from;

    if (from == end || !is_ready || !netif_ip4_addr(&ethernet_interface)->addr || address_is_probed())
        return false;
    while (to != end && to - from < TEXT_BYTES_MAX && ring[to++ % RING_BYTES] != '\n')
        ;
    if (!line_send(from, to - from))
        return false;
    __atomic_store_n(&tail, to, __ATOMIC_RELEASE);
    return true;
}

/* ---- The console ---- */

static void byte_add(char byte)
{
    if (is_dropping || byte == '\r') {
        is_dropping = is_dropping && byte != '\n';
        return;
    }
    if (fill - __atomic_load_n(&tail, __ATOMIC_ACQUIRE) == RING_BYTES) {
        netconsole_dropped++;
        is_dropping = byte != '\n';
        fill = head;
        return;
    }
    ring[fill++ % RING_BYTES] = byte;
    if (byte == '\n' || fill - head == TEXT_BYTES_MAX)
        __atomic_store_n(&head, fill, __ATOMIC_RELEASE);
}

static void text_write(struct console_device *device, const char *text, size_t bytes)
{
    (void)device; /* there is one */
    for (size_t i = 0; i < bytes; i++)
        byte_add(text[i]);
    network_send_console(LINES_AT_ONCE);
}

/* Gives the last frames time to leave the card before the machine is off. */
static void flush(struct console_device *device)
{
    const uint64_t end_ns = clock_now_ns() + FLUSH_NS;

    (void)device; /* there is one */
    while (is_ready && clock_now_ns() < end_ns)
        network_send_console(LINES_AT_ONCE);
}

/* ---- Start ---- */

int netconsole_configure(const struct command_line *line, struct message *why)
{
    static struct console_device device = { .name = "net", .write = text_write, .flush = flush };
    const char *text = command_line_option(line, OPTION);

    if (!text)
        return 0;
    const char *end = option_part_end(text, ':');
    if (!address_parse(text, end, &receiver))
        return message_set(why, -EINVAL, OPTION "=%s: this is not ADDRESS[:PORT]", text);
    if (*end && option_value(OPTION_NUMBER, OPTION, end + 1, 1, UINT16_MAX, &port, why))
        return -EINVAL;
    console_register(&device);
    return 0;
}

/* Finds the hardware address of the receiver, or of the router to it, if ARP has it. With `request`, asks for
 * it first. */
static bool hardware_address_find(bool request)
{
    const ip4_addr_t hop = { address_next(receiver) }, *found_ip;
    struct eth_addr *found;

    NETWORK_GUARD();
    if (request)
        etharp_query(&ethernet_interface, &hop, NULL);
    if (etharp_find_addr(&ethernet_interface, &hop, &found, &found_ip) >= 0) {
        memcpy(hardware_address, found, sizeof(hardware_address));
        is_ready = true;
    }
    return is_ready;
}

void netconsole_start(void)
{
    const uint64_t deadline_ns = clock_now_ns() + REQUEST_NS;

    if (!receiver || !netif_ip4_addr(&ethernet_interface)->addr)
        return;
    for (bool request = true; !hardware_address_find(request) && clock_now_ns() < deadline_ns;
         request = false) {
        network_poll();
        arch_pause();
    }
    if (!is_ready)
        kernel_print("network: no answer to ARP for " OPTION "=: nothing is sent\n");
    network_send_console(RING_BYTES);
}
