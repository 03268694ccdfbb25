/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_frames.c: gives Ethernet frames of any length and content to the kernel's network: ARP, IP with
 * options and fragments, ICMP, IGMP, UDP, DHCP's answers, TCP with a listener and a connection. Memory is the
 * host's, so that the sanitizer sees each read past a packet and each use after free.
 *
 * The input is a sequence of steps: a byte of MAKE_ bits, two bytes of length, the frame. The bits say what
 * is corrected in the frame (addresses, checksums, ports), so that mutations reach the upper layers. A step
 * with length 0 lets time pass. The network's memory is bounded; its state goes on from input to input, as on
 * a node.
 */
#include <stddef.h>

/* Declares functions of the host's C library: lwIP's stdlib.h is the kernel's, which lacks them. */
void *malloc(size_t bytes);
void free(void *memory);
_Noreturn void abort(void);

#include "fuzz.h"
#include "beat/nettick.h"
#include "lib/command_line.h"
#include "lwip/dhcp.h"
#include "lwip/inet_chksum.h"
#include "lwip/prot/ip4.h"
#include "net/address.h"
#include "net/beat_wire.h"
#include "net/connection.h"
#include "net/datagram.h"
#include "net/device.h"
#include "net/inet.h"
#include "net/interface.h"
#include "net/memory.h"
#include "net/network.h"
#include "net/stream.h"
#include "net/stream_state.h"
#include "process/event.h"
#include "smp/crosscall.h"
#include "time/clock.h"
#include "time/timer.h"

#define MEMORY_MAX (64U << 20)
#define PORT       7
#define LOST_PORT  9000
#define LOST_PAIRS 5    /* of connections; the last one is made later */
#define FRAME_MAX  2000 /* a device may report more than Ethernet's maximum */

enum { MAKE_FOR_US = 1, MAKE_IP = 2, MAKE_CHECKSUMS = 4, MAKE_PORTS = 8, MAKE_DHCP = 16, MAKE_SEQUENCE = 32 };

static const uint8_t own[ETHERNET_ADDRESS_BYTES] = { 0x52, 0x54, 0, 1, 2, 3 };
static const uint8_t frame_none[1];
static const void *frame = frame_none;
static uint32_t frame_bytes;
static uint64_t now_ns = 1000000000;
static uint64_t in_use;
static uint32_t asked; /* of the last DHCP request: its transaction */

/* ---- The device ---- */

static bool send(struct network_device *device, const struct frame_part *parts, unsigned part_count)
{
    uint8_t sent[ETHERNET_FRAME_BYTES_MAX];
    uint32_t bytes = 0;

    (void)device;
    for (unsigned i = 0; i < part_count; i++) {
        PROMISE(parts[i].count <= sizeof(sent) - bytes);
        memcpy(sent + bytes, parts[i].bytes, parts[i].count);
        bytes += parts[i].count;
    }
    PROMISE(bytes >= ETHERNET_HEADER_BYTES);
    if (bytes > 14 + 20 + 8 + 8 && sent[23] == 17 && sent[35] == 68)
        memcpy(&asked, sent + 14 + 20 + 8 + 4, sizeof(asked));
    return sent[bytes - 1] != 0xa5; /* sometimes the ring is full */
}

static const void *receive(struct network_device *device, uint32_t *bytes)
{
    (void)device;
    *bytes = frame_bytes;
    return frame_bytes ? frame : NULL;
}

static void receive_done(struct network_device *device)
{
    (void)device;
    frame_bytes = 0;
}

static void service(struct network_device *device)
{
    (void)device;
}

static void multicast(struct network_device *device, const uint8_t group[ETHERNET_ADDRESS_BYTES], bool on)
{
    (void)device;
    (void)on;
    PROMISE(group[0] == 1);
}

static const struct network_device_operations operations = {
    .send = send, .receive = receive, .receive_done = receive_done, .service = service, .multicast = multicast
};
static struct network_device device = { .operations = &operations, .model = "none", .link = true };

/* ---- Stubs of the kernel ---- */

struct network_account *network_account_of(struct process *process)
{
    (void)process;
    return (struct network_account *)&in_use;
}

struct network_account *network_account_own(enum network_own which)
{
    (void)which;
    return (struct network_account *)&in_use;
}

struct network_account *network_account_use(struct network_account *account)
{
    return account;
}

void *network_allocate(size_t bytes)
{
    size_t *memory = in_use + bytes <= MEMORY_MAX ? malloc(bytes + 16) : NULL;

    if (!memory)
        return NULL;
    in_use += bytes;
    *memory = bytes;
    return memory + 2;
}

void *network_allocate_array(size_t count, size_t bytes)
{
    void *memory = network_allocate(count * bytes);

    if (memory)
        memset(memory, 0, count * bytes);
    return memory;
}

void network_free(void *memory)
{
    if (!memory)
        return;
    in_use -= ((size_t *)memory)[-2];
    free((size_t *)memory - 2);
}

static struct smart_timer *timers[16];

void timer_start(struct smart_timer *timer, uint64_t deadline_ns, uint64_t bound_ns)
{
    unsigned place = 0;

    (void)bound_ns;
    while (timers[place] && timers[place] != timer)
        place++;
    PROMISE(place < 16);
    timers[place] = timer;
    timer->deadline_ns = deadline_ns;
    timer->pending = true;
}

void timer_cancel(struct smart_timer *timer)
{
    timer->pending = false;
}

static void time_pass(uint64_t ns)
{
    now_ns += ns;
    for (unsigned i = 0; i < 16 && timers[i]; i++)
        if (timers[i]->pending && timers[i]->deadline_ns <= now_ns) {
            timers[i]->pending = false;
            timers[i]->expire(timers[i], now_ns);
        }
}

uint64_t clock_now_ns(void)
{
    return now_ns;
}

bool network_poll(void)
{
    time_pass(1000000000);
    while (loopback_pending())
        loopback_receive();
    return false;
}

uint64_t arch_random(void)
{
    return 0x123456789abcdef0;
}

/* Does as inet.c. */
bool inet_is_multicast(uint32_t address)
{
    return (address & 0xf0) == 0xe0;
}

uint64_t latency_bound_default_ns = 50000;
struct nettick_shared nettick_shared;

int64_t file_wall_clock_ns(void)
{
    return (int64_t)now_ns;
}

uint64_t event_of(const void *object)
{
    return 1 + (uint64_t)(uintptr_t)object;
}

unsigned arch_cpu_count(void)
{
    return 1;
}

bool schedule_is_idle(void)
{
    return true;
}

void network_lock(void)
{
}

void network_unlock(void)
{
}

void network_give_way(void)
{
}

void idle_look_soon_locked(void)
{
}

void idle_look_soon(void)
{
}

/* Reads each byte, so that the sanitizer sees a byte that is not there. fuzz_beat_frame.c tries the
 * contents. */
bool nettick_frame(const uint8_t *payload, size_t bytes, const uint8_t from[BEAT_ADDRESS_BYTES])
{
    PROMISE(bytes <= FRAME_MAX);
    for (size_t i = 0; i < bytes; i++)
        (void)*(const volatile uint8_t *)&payload[i];
    for (size_t i = 0; i < BEAT_ADDRESS_BYTES; i++)
        (void)*(const volatile uint8_t *)&from[i];
    return false;
}

void network_notify(struct process *process, uint64_t kinds)
{
    (void)process;
    (void)kinds;
}

void network_watched(void)
{
}

void crosscall(const struct cpu_mask *cpus, void (*function)(void *context), void *context)
{
    (void)cpus;
    (void)function;
    (void)context;
}

void crosscall_serve(void)
{
}

void kernel_print(const char *format, ...)
{
    (void)format;
}

/* ---- The node ---- */

static void loopback_settle(void)
{
    while (loopback_pending())
        loopback_receive();
}

/* Does nothing: no message of the kernel waits here for a write to end. */
void stream_held_send(struct stream *stream)
{
    PROMISE(stream->held.bytes == 0);
}

/* Sends a byte, as stream_move.c does. */
static void send_byte(struct stream *stream)
{
    char *to;

    PROMISE(byte_queue_room(&stream->out, &to) > 0);
    *to = 'x';
    byte_queue_added(&stream->out, 1);
    stream->unfed++;
    connection_flush(&stream->connection);
}

/* Counts the streams that are still connected. */
static unsigned connected(struct stream *const ends[2 * LOST_PAIRS])
{
    unsigned count = 0;

    for (unsigned i = 0; i < 2 * LOST_PAIRS; i++)
        count += ends[i]->connection.has_peer;
    return count;
}

/* Checks that connections of a lost address end one by one, and that later ones of the same address do not
 * end. */
static void a_lost_address_ends_one_connection_at_a_time(struct stream *listener)
{
    struct stream *ends[2 * LOST_PAIRS];

    for (unsigned i = 0; i < 2 * LOST_PAIRS; i += 2) {
        if (i == 2 * LOST_PAIRS - 2)
            connection_address_lost(lwip_htonl(IPADDR_LOOPBACK));
        PROMISE((ends[i] = stream_create(NULL)));
        ends[i]->connection.port.port = (uint16_t)(LOST_PORT + i); /* all random numbers are the same here */
        PROMISE(binding_hold(&tcp_bindings, &ends[i]->connection.port) == 0);
        PROMISE(stream_connect_begin(ends[i], lwip_htonl(IPADDR_LOOPBACK), PORT) == 0);
        loopback_settle();
        ends[i + 1] = stream_accept(listener);
        PROMISE(ends[i + 1]);
    }
    PROMISE(connected(ends) == 2 * LOST_PAIRS);
    while (connection_is_owing()) {
        unsigned count = connected(ends);

        connection_work_one();
        PROMISE(count - connected(ends) <= 1);
    }
    PROMISE(connected(ends) == 2);
    for (unsigned i = 0; i < 2 * LOST_PAIRS; i++)
        stream_end(ends[i], true);
    loopback_settle();
}

/* Checks two ends that each hold a short segment back until the other acknowledges (Nagle's rule), as happens
 * if both send at the same time: each sends the acknowledgement that it owes once, then the segment
 * follows. */
static void debts_are_paid(struct stream *listener)
{
    struct stream *ends[2] = { stream_create(NULL), NULL };
    unsigned debts = 0;

    PROMISE(ends[0] && stream_connect_begin(ends[0], lwip_htonl(IPADDR_LOOPBACK), PORT) == 0);
    loopback_settle();
    ends[1] = stream_accept(listener);
    PROMISE(ends[1]);
    for (unsigned i = 0; i < 4; i++)
        send_byte(ends[i % 2]);
    loopback_settle();
    PROMISE(connection_is_owing());
    while (connection_is_owing()) {
        PROMISE(debts++ < 2);
        connection_work_one();
    }
    loopback_settle();
    PROMISE(ends[0]->in.bytes == 2 && ends[1]->in.bytes == 2);
    stream_end(ends[0], true);
    loopback_settle();
    stream_end(ends[1], true);
}

/* ---- Datagrams ---- */

/* They share a port: the last for one address, the others for all. */
static struct datagram_socket sockets[4];

static void datagrams_begin(void)
{
    for (unsigned i = 0; i < 4; i++) {
        sockets[i] = (struct datagram_socket){ .binding = { .port = PORT, .reuse = true },
                                               .socket.receive_room = 4096 };
        if (i == 3)
            sockets[i].binding.address = netif_ip4_addr(&ethernet_interface)->addr;
        PROMISE(binding_hold(&udp_bindings, &sockets[i].binding) == 0);
    }
}

/* Delivers a datagram that several sockets get, one after the other. In between, a socket releases its port:
 * after that it must get nothing. */
static void datagrams_settle(uint32_t choice)
{
    struct datagram_socket *leaves = &sockets[choice % 4];
    uint64_t had = 0;

    for (unsigned i = 0; datagram_has_more(); i++) {
        PROMISE(i < 8 * 16);
        if (i == choice / 4 % 4) {
            datagram_receiver_skip(&leaves->binding);
            binding_release(&udp_bindings, &leaves->binding);
            had = leaves->received_bytes;
        }
        datagram_deliver_more();
        PROMISE(leaves->binding.is_held || leaves->received_bytes == had);
    }
    if (!leaves->binding.is_held)
        PROMISE(binding_hold(&udp_bindings, &leaves->binding) == 0);
    for (unsigned i = 0; i < 4; i++) {
        struct datagram_socket *socket = &sockets[i];

        while (socket->received.first) {
            struct datagram *datagram = LIST_OWNER(socket->received.first, datagram, link);

            list_remove(&socket->received, &datagram->link);
            network_free(datagram);
        }
        socket->received_bytes = 0;
    }
}

static void begin(void)
{
    static struct command_line line;
    static char text[] = "ip=10.0.0.9/24";
    struct message why;
    struct stream *listener;

    memcpy(device.address, own, sizeof(own));
    PROMISE(command_line_parse(text, &line, &why) == 0);
    PROMISE(address_configure(&line, &why) == 0);
    loopback_start();
    time_wait_start();
    interface_start(&device);
    address_start();
    dhcp_start(&ethernet_interface); /* it has an address already; DHCP's answers are read, too */
    listener = stream_create(NULL);
    PROMISE(listener);
    listener->connection.port.port = listener->connection.ends.local_port = PORT;
    PROMISE(binding_hold(&tcp_bindings, &listener->connection.port) == 0);
    PROMISE(stream_listen(listener, 8) == 0);
    datagrams_begin();
    debts_are_paid(listener);
    a_lost_address_ends_one_connection_at_a_time(listener);
}

/* ---- Frames ---- */

static void put16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static void put_sum(uint8_t *at, uint16_t sum)
{
    memcpy(at, &sum, sizeof(sum));
}

static void transport_make(uint8_t *ip, uint32_t header, uint32_t bytes, unsigned make)
{
    uint8_t *segment = ip + header, pseudo[12 + FRAME_MAX];
    uint32_t length = bytes - header, at = ip[9] == 6 ? 16 : ip[9] == 17 ? 6 : 2;

    if (make & MAKE_PORTS && (ip[9] == 6 || ip[9] == 17) && length >= 4)
        put16(segment + 2, make & MAKE_DHCP ? 68 : PORT);
    if (make & MAKE_DHCP && ip[9] == 17 && length >= 8 + 240) {
        static const uint8_t magic[] = { 99, 130, 83, 99 };

        put16(segment, 67);
        segment[8] = 2;
        memcpy(segment + 8 + 4, &asked, sizeof(asked));
        memcpy(segment + 8 + 28, own, sizeof(own));
        memcpy(segment + 8 + 236, magic, sizeof(magic));
    }
    if (ip[9] == 17 && length >= 6)
        put16(segment + 4, length);
    if (length < at + 2 || (ip[9] != 6 && ip[9] != 17 && ip[9] != 1 && ip[9] != 2))
        return;
    put_sum(segment + at, 0);
    memcpy(pseudo, ip + 12, 8);
    pseudo[8] = 0;
    pseudo[9] = ip[9];
    put16(pseudo + 10, length);
    memcpy(pseudo + 12, segment, length);
    put_sum(segment + at, ip[9] == 6 || ip[9] == 17 ? inet_chksum(pseudo, (u16_t)(12 + length))
                                                    : inet_chksum(segment, (u16_t)length));
}

/* Corrects what the MAKE_ bits ask for. */
static void frame_make(uint8_t *bytes, uint32_t count, unsigned make)
{
    uint8_t *ip = bytes + ETHERNET_HEADER_BYTES;
    uint32_t ip_bytes = count > ETHERNET_HEADER_BYTES ? count - ETHERNET_HEADER_BYTES : 0, header;

    if (make & MAKE_FOR_US && count >= ETHERNET_ADDRESS_BYTES)
        memcpy(bytes, own, sizeof(own));
    if (!(make & MAKE_IP) || ip_bytes < 20)
        return;
    put16(bytes + 12, 0x800);
    ip[0] = 0x40 | (ip[0] & 15);
    header = 4U * (ip[0] & 15);
    if (header < 20 || header > ip_bytes)
        return;
    put16(ip + 2, ip_bytes);
    if (make & MAKE_FOR_US)
        memcpy(ip + 16, &netif_ip4_addr(&ethernet_interface)->addr, 4);
    if (make & MAKE_FOR_US && make & MAKE_PORTS &&
        ip[8] % 4 == 0) /* the group of all hosts, to which this one belongs */
        memcpy(ip + 16, (const uint8_t[]){ 224, 0, 0, 1 }, 4);
    if (make & MAKE_CHECKSUMS)
        transport_make(ip, header, ip_bytes, make);
    put_sum(ip + 10, 0);
    put_sum(ip + 10, inet_chksum(ip, (u16_t)header));
}

static void frame_give(const uint8_t *bytes, uint32_t count, unsigned make)
{
    uint8_t *copy = malloc(count);

    memcpy(copy, bytes, count);
    frame_make(copy, count, make);
    frame = copy;
    frame_bytes = count;
    enum beat_taken beat = BEAT_NONE;
    const bool is_kept = make & MAKE_CHECKSUMS && count % 2; /* received as in an interrupt, taken later */
    PROMISE(interface_receive(&beat, is_kept));
    PROMISE(frame_bytes == 0 && beat != BEAT_PASSES);
    free(copy);
    if (is_kept && interface_has_kept())
        PROMISE(interface_receive(&beat, false));
    PROMISE(!interface_has_kept());
    loopback_settle();
    for (unsigned i = 0; i < 64 && connection_is_owing(); i++)
        connection_work_one();
    datagrams_settle(count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static bool begun;

    if (!begun)
        begin();
    begun = true;
    while (bytes >= 3) {
        unsigned make = data[0];
        uint32_t count = (uint32_t)data[1] << 8 | data[2];

        data += 3;
        bytes -= 3;
        if (count > bytes)
            count = (uint32_t)bytes;
        if (count > FRAME_MAX)
            count = FRAME_MAX;
        if (count == 0)
            time_pass((uint64_t)(make + 1) * 50000000);
        else
            frame_give(data, count, make);
        data += count;
        bytes -= count;
    }
    return 0;
}
