/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * selftest_network.c: frames through every network device, without the stack: a peer on the wire orders, the
 * node does it and answers. With interrupts the CPU halts while there is nothing to do; else it polls.
 *
 * Frames of the trial have Ethernet's type 0x88b5 (for experiments, IEEE 802) and begin with an order:
 *   'e' echo: sent back as it is, the addresses exchanged
 *   'j', 'l' join, leave: the group in the next six bytes; echoed when done
 *   'm' mask: takes no interrupt for as long as the peer needs to flood it, by the TSC, and answers with how
 *       many have come meanwhile (none), how many frames it found then, and how many were lost
 *   'q' the end: prints what was counted, and ends the node
 * What is sent unasked: 'h' when a device is there, 'u' and 'd' when its link is up or down.
 */
#include "init/selftest.h"
#include "arch.h"
#include "debug/stop.h"
#include "debug/console.h"
#include "debug/stop.h"
#include "lib/kstring.h"
#include "net/device.h"
#include "time/clock.h"

#define TRIAL_TYPE_HIGH 0x88
#define TRIAL_TYPE_LOW  0xb5
#define FRAME_MIN       60
#define MASKED_NS       300000000
#define POLLS_MAX       16 /* frames of a device, before the next one is looked at */

static unsigned interrupts; /* taken */
static bool is_ended, is_masked;
static unsigned masked_interrupts;
static bool link_seen[NETWORK_DEVICES_MAX];

static void trial_interrupt(void)
{
    interrupts++;
    masked_interrupts += is_masked;
    for (unsigned i = 0; i < network_device_count(); i++) {
        struct network_device *device = network_device_at(i);

        device->operations->service(device);
    }
}

static void answer(struct network_device *device, const uint8_t *to, const void *bytes, uint32_t count)
{
    uint8_t header[ETHERNET_HEADER_BYTES];

    memcpy(header, to, ETHERNET_ADDRESS_BYTES);
    memcpy(header + ETHERNET_ADDRESS_BYTES, device->address, ETHERNET_ADDRESS_BYTES);
    header[12] = TRIAL_TYPE_HIGH;
    header[13] = TRIAL_TYPE_LOW;
    const struct frame_part parts[] = { { header, sizeof(header) }, { bytes, count } };
    while (!device->operations->send(device, parts, 2))
        arch_pause();
}

static void announce(struct network_device *device, char what)
{
    static const uint8_t all[ETHERNET_ADDRESS_BYTES] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
    char text[FRAME_MIN - ETHERNET_HEADER_BYTES] = { what };

    memcpy(text + 1, device->model, strlen(device->model));
    answer(device, all, text, sizeof(text));
}

/* Lets the peer flood the device, whose interrupts are off while this CPU's would be accepted. */
static void masked_trial(struct network_device *device, const uint8_t *peer)
{
    uint8_t text[FRAME_MIN - ETHERNET_HEADER_BYTES] = { 'm' };
    const uint64_t begin_ns = clock_now_ns();
    uint64_t found = 0;
    uint32_t bytes;

    device->operations->interrupt_disable(device);
    arch_interrupts_accept(); /* what is in flight still counts as before */
    is_masked = true;
    answer(device, peer, "masked", FRAME_MIN - ETHERNET_HEADER_BYTES);
    while (clock_now_ns() - begin_ns < MASKED_NS)
        arch_interrupts_accept();
    while (device->operations->receive(device, &bytes)) {
        device->operations->receive_done(device);
        found++;
    }
    is_masked = false;
    device->operations->service(device);
    text[1] = (uint8_t)(masked_interrupts > 255 ? 255 : masked_interrupts);
    text[2] = (uint8_t)(found > 255 ? 255 : found);
    answer(device, peer, text, sizeof(text));
}

static void frame_handle(struct network_device *device, const uint8_t *frame, uint32_t bytes)
{
    const uint8_t *peer = frame + ETHERNET_ADDRESS_BYTES, *order = frame + ETHERNET_HEADER_BYTES;

    if (frame[12] != TRIAL_TYPE_HIGH || frame[13] != TRIAL_TYPE_LOW || bytes < FRAME_MIN)
        return;
    if (order[0] == 'j' || order[0] == 'l')
        device->operations->multicast(device, order + 1, order[0] == 'j');
    if (order[0] == 'e' || order[0] == 'j' || order[0] == 'l')
        answer(device, peer, order, bytes - ETHERNET_HEADER_BYTES);
    is_ended |= order[0] == 'q';
}

static bool frames_receive(struct network_device *device)
{
    uint32_t bytes;
    unsigned count = 0;
    const uint8_t *frame;

    while (count < POLLS_MAX && (frame = device->operations->receive(device, &bytes))) {
        uint8_t peer[ETHERNET_ADDRESS_BYTES];
        const bool is_mask = bytes >= FRAME_MIN && frame[ETHERNET_HEADER_BYTES] == 'm';

        memcpy(peer, frame + ETHERNET_ADDRESS_BYTES, sizeof(peer));
        frame_handle(device, frame, bytes);
        device->operations->receive_done(device);
        count++;
        if (is_mask)
            masked_trial(device, peer);
    }
    return count;
}

static void link_follow(unsigned index, bool with_interrupts)
{
    struct network_device *device = network_device_at(index);

    if (!with_interrupts)
        device->operations->service(device);
    if (device->link == link_seen[index])
        return;
    link_seen[index] = device->link;
    kernel_print("selftest: %s link %s\n", device->place, device->link ? "up" : "down");
    if (device->link)
        announce(device, 'u');
}

static void device_print(const struct network_device *device)
{
    const struct network_device_counts *counts = &device->counts;

    kernel_print("selftest: %s %s received %lu sent %lu errors %lu missed %lu link_changes %lu mbit %u\n",
                 device->place, device->model, counts->received_frames, counts->sent_frames,
                 counts->receive_errors, counts->receive_missed, counts->link_changes, device->speed_mbit);
}

_Noreturn void selftest_network(bool with_interrupts)
{
    const unsigned count = network_device_count();
    const uint64_t ticks_begin = arch_ticks();

    network_device_trial = trial_interrupt;
    for (unsigned i = 0; i < count; i++) {
        link_seen[i] = network_device_at(i)->link;
        announce(network_device_at(i), 'h');
    }
    while (!is_ended && count) {
        bool received = false;

        for (unsigned i = 0; i < count; i++) {
            struct network_device *device = network_device_at(i);

            received |= frames_receive(device);
            link_follow(i, with_interrupts);
        }
        if (received || !with_interrupts || is_ended)
            continue;
        for (unsigned i = 0; i < count; i++)
            if (!network_device_at(i)->operations->interrupt_enable(network_device_at(i), 0))
                with_interrupts = false;
        if (with_interrupts)
            arch_cpu_idle();
    }
    for (unsigned i = 0; i < count; i++) {
        network_device_at(i)->operations->service(network_device_at(i));
        device_print(network_device_at(i));
    }
    kernel_print("selftest: interrupts %u, by %s, in %lu ticks\n", interrupts,
                 with_interrupts ? "interrupt" : "poll", arch_ticks() - ticks_begin);
    node_exit(0);
}
