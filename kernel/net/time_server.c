/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * time_server.c: see address.h. The transmit timestamp of a request is a number that cannot be guessed,
 * which the answer must bring back. This node keeps the time of sending itself.
 */
#include "arch.h"
#include "debug/console.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "lwip/udp.h"
#include "net/address.h"
#include "net/lwip_hooks.h"
#include "net/interface.h"
#include "net/network.h"
#include "time/clock.h"

#define PORT         123
#define TRIES        3
#define OPTION       "ntp"
#define OFF          "off"
#define VERSION      (4 << 3)
#define VERSION_MASK (7 << 3)
#define MODE_MASK    7
#define MODE_CLIENT  3
#define MODE_SERVER  4
#define UNKNOWN_TIME (3 << 6) /* the server's clock has never been set */
#define STRATUM_MAX  15
#define SINCE_1900_S 2208988800ULL /* at 1970 */
#define NS_PER_MS    1000000

struct time_message {
    uint8_t flags, stratum, poll, precision;
    uint32_t root_delay, root_dispersion, reference;
    uint64_t reference_time, originate, receive, transmit; /* big endian */
};

static ip4_addr_t server;
static const char *source = OPTION "=";
static bool is_off;
static uint64_t cookie, sent_ns;
static bool is_set;

/* Returns nanoseconds since 1970, for times between 1968 and 2104. */
static uint64_t time_ns(uint64_t timestamp)
{
    uint64_t value = __builtin_bswap64(timestamp), seconds = value >> 32;

    seconds += seconds >> 31 ? 0 : 1ULL << 32;
    return (seconds - SINCE_1900_S) * NS_PER_S + ((value & UINT32_MAX) * NS_PER_S >> 32);
}

static bool is_valid(const struct time_message *message)
{
    return (message->flags & (VERSION_MASK | MODE_MASK)) == (VERSION | MODE_SERVER) &&
           (message->flags & UNKNOWN_TIME) != UNKNOWN_TIME && message->stratum - 1U < STRATUM_MAX &&
           message->originate == cookie && message->transmit && !is_set &&
           time_ns(message->transmit) - time_ns(message->receive) < NS_PER_S;
}

/* Handles an answer: sets the clock, whose error is then half the time on the way, at most. */
static void answer(void *context, struct udp_pcb *pcb, struct pbuf *packet, const ip_addr_t *address,
                   u16_t port)
{
    struct time_message message;

    (void)context; /* there is one pcb */
    (void)pcb;
    (void)address; /* it is connected */
    (void)port;
    if (pbuf_copy_partial(packet, &message, sizeof(message), 0) == sizeof(message) && is_valid(&message)) {
        uint64_t there = (time_ns(message.receive) + time_ns(message.transmit)) / 2,
                 offset = there - (sent_ns + clock_now_ns()) / 2;
        int64_t moved = (int64_t)(offset + clock_now_ns() - clock_wall_ns(NULL));

        clock_wall_offset_set(offset);
        is_set = true;
        kernel_print("network: %s has moved the clock by %ld ms\n", source, moved / NS_PER_MS);
    }
    pbuf_free(packet);
}

static void request_send(struct udp_pcb *pcb)
{
    struct pbuf *packet = pbuf_alloc(PBUF_TRANSPORT, sizeof(struct time_message), PBUF_RAM);

    if (!packet)
        return;
    cookie = (uint64_t)network_random() << 32 | network_random();
    *(struct time_message *)packet->payload =
        (struct time_message){ .flags = VERSION | MODE_CLIENT, .transmit = cookie };
    sent_ns = clock_now_ns();
    udp_sendto_if(pcb, packet, &server, PORT, &ethernet_interface);
    pbuf_free(packet);
}

static void attempt(struct udp_pcb *pcb)
{
    const uint64_t deadline_ns = clock_now_ns() + NS_PER_S;

    network_lock();
    request_send(pcb);
    network_unlock();
    while (!is_set && clock_now_ns() < deadline_ns) {
        network_poll();
        arch_pause();
    }
}

int time_server_configure(const struct command_line *line, struct message *why)
{
    const char *text = command_line_option(line, OPTION);

    is_off = text && !strcmp(text, OFF);
    if (text && !is_off && !address_parse(text, text + strlen(text), &server.addr))
        return message_set(why, -EINVAL, OPTION "=%s: this is not an address", text);
    return 0;
}

void time_server_start(void)
{
    struct udp_pcb *pcb;

    if (!server.addr && !is_off) {
        server.addr = node_facts.time_server;
        source = "DHCP's time server";
    }
    if (!server.addr || !netif_ip4_addr(&ethernet_interface)->addr)
        return;
    network_lock();
    pcb = udp_new();
    if (pcb && udp_bind(pcb, IP4_ADDR_ANY, 0) == ERR_OK && udp_connect(pcb, &server, PORT) == ERR_OK) {
        udp_recv(pcb, answer, NULL);
        input_port = pcb->local_port;
    }
    network_unlock();
    for (unsigned i = 0; i < TRIES && input_port && !is_set; i++)
        attempt(pcb);
    network_lock();
    input_port = 0;
    if (pcb)
        udp_remove(pcb);
    network_unlock();
    if (!is_set)
        kernel_print("network: %s has sent no valid time within %u s\n", source, TRIES);
}
