/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * beat_card.c: see beat_card.h. The card has a lock of its own: no beat waits for the network.
 */
#include "net/beat_card.h"
#include "beat/nettick.h"
#include "debug/console.h"
#include "lib/bytes.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "net/address.h"
#include "net/interface.h"
#include "smp/spinlock.h"

#define FRAMES_MAX 128 /* of one interrupt */
#define CPU        0   /* that is interrupted */

struct network_device *beat_card;

static struct spinlock lock;

int beat_card_choose(const struct command_line *line, struct message *why)
{
    const char *name = command_line_option(line, "nettick_dev");

    if (name && nettick_mode() != NETTICK_INTERRUPT)
        return message_set(why, -EINVAL, "nettick_dev=%s goes with nettick=irq", name);
    return name ? network_device_find("nettick_dev", name, &beat_card, why) : 0;
}

int beat_card_start(struct message *why)
{
    const uint8_t *address;

    if (!beat_card)
        return 0;
    address = beat_card->address;
    nettick_card_set(address);
    spin_lock(&lock);
    bool interrupts = beat_card->operations->interrupt_enable(beat_card, CPU);
    spin_unlock(&lock);
    if (!interrupts)
        return message_set(why, -ENODEV, "nettick_dev=: %s at %s can interrupt nobody here", beat_card->model,
                           beat_card->place);
    kernel_print("nettick: heartbeats by %s at %s, %02x:%02x:%02x:%02x:%02x:%02x\n", beat_card->model,
                 beat_card->place, address[0], address[1], address[2], address[3], address[4], address[5]);
    return 0;
}

/* To the conductor that has sent the last beat. Name and address are read without the network's lock: they
 * change so seldom that a mixed one would be right in the next answer. */
static size_t payload_make(uint8_t *conductor, uint8_t *payload)
{
    if (nettick_answer_due() &&
        nettick_answer(node_facts.name, netif_ip4_addr(&ethernet_interface)->addr, conductor, payload))
        return ANSWER_BYTES;
    return log_page_is_due() ? log_page_write(conductor, payload) : 0;
}

size_t beat_frame_make(const struct network_device *card, uint8_t frame[BEAT_FRAME_BYTES])
{
    const size_t bytes = payload_make(frame, frame + ETHERNET_HEADER_BYTES);

    if (!bytes)
        return 0;
    memcpy(frame + ETHERNET_ADDRESS_BYTES, card->address, ETHERNET_ADDRESS_BYTES);
    store_be(frame + 2 * ETHERNET_ADDRESS_BYTES, 2, BEAT_ETHERTYPE);
    return ETHERNET_HEADER_BYTES + bytes;
}

static __attribute__((noinline)) void frames_send(void)
{
    uint8_t frame[BEAT_FRAME_BYTES];
    size_t bytes;

    while ((bytes = beat_frame_make(beat_card, frame))) {
        const struct frame_part whole = { frame, (uint32_t)bytes };

        spin_lock(&lock);
        beat_card->operations->send(beat_card, &whole, 1); /* if its ring is full, it is lost */
        spin_unlock(&lock);
    }
}

bool beat_card_interrupt(void)
{
    unsigned count = 0;
    bool beats = false;
    const uint8_t *frame;
    uint32_t bytes;

    if (!beat_card)
        return false;
    spin_lock(&lock);
    beat_card->operations->service(beat_card);
    while (count < FRAMES_MAX && (frame = beat_card->operations->receive(beat_card, &bytes))) {
        if (frame_is_beat(frame, bytes))
            beats |= beat_frame_take(frame, bytes);
        beat_card->operations->receive_done(beat_card);
        count++;
    }
    if (count == FRAMES_MAX)
        beat_card->operations->interrupt_enable(beat_card, CPU); /* again, for the rest */
    spin_unlock(&lock);
    if (beats)
        nettick_pass_on();
    if (beat_frame_is_due())
        frames_send();
    return count != 0;
}
