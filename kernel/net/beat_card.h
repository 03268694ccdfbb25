/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * beat_card.h: `nettick_dev=`, a network card for heartbeats alone (beat/nettick.h). It interrupts CPU 0 for
 * each frame on its wire, whatever that CPU does; it has no address, and sends answers to beats, and pages of
 * the flight log, alone.
 */
#ifndef TACET_NETWORK_BEAT_CARD_H
#define TACET_NETWORK_BEAT_CARD_H

#include "beat/beat_frame.h"
#include "beat/log_page.h"
#include "beat/nettick.h"
#include "lib/command_line.h"
#include "lib/format.h"
#include "net/device.h"

/* Before the network chooses its own card, which cannot be this one. -EINVAL with `why`. */
int beat_card_choose(const struct command_line *line, struct message *why);

/* NULL: there is none. */
extern struct network_device *beat_card;

/* From now on it interrupts. -ENODEV with `why` where it cannot. */
int beat_card_start(struct message *why);

/* The next frame that this node owes its conductor by that card, whole: an answer to a beat, then pages of
 * its flight log. Its bytes; 0: there is none. Any CPU, without the network's lock. */
#define BEAT_FRAME_BYTES (ETHERNET_HEADER_BYTES + PAGE_FRAME_BYTES)
size_t beat_frame_make(const struct network_device *card, uint8_t frame[BEAT_FRAME_BYTES]);

/* Whether there may be one. */
static inline bool beat_frame_is_due(void)
{
    return nettick_answer_due() || log_page_is_due();
}

/* A device has interrupted this CPU: takes what the card has received. False: it was nothing. */
bool beat_card_interrupt(void);

/* Whether a frame is a heartbeat's. */
static inline bool frame_is_beat(const uint8_t *frame, uint32_t bytes)
{
    return bytes >= ETHERNET_HEADER_BYTES && frame[12] == BEAT_ETHERTYPE >> 8 &&
           frame[13] == (BEAT_ETHERTYPE & 255);
}

/* What became of a frame, for whoever holds no lock any more. */
enum beat_taken {
    BEAT_NONE,  /* it was no heartbeat */
    BEAT_TAKEN, /* it concerns nobody else */
    BEAT_PASSES /* it is to be passed on */
};

/* nettick_frame for such a frame. */
static inline bool beat_frame_take(const uint8_t *frame, uint32_t bytes)
{
    return nettick_frame(frame + ETHERNET_HEADER_BYTES, bytes - ETHERNET_HEADER_BYTES,
                         frame + ETHERNET_ADDRESS_BYTES);
}

#endif
