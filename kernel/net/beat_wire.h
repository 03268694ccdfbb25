/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * beat_wire.h: the card that brings heartbeats (beat/nettick.h) and carries the answers. It is one of two:
 *
 *      nettick_dev=   a card for heartbeats alone, which has no address and interrupts CPU 0 for frames on
 *                     its wire, whatever that CPU does
 *      nettick=irq    without such a card: a shared card, the network's own, which carries data, too
 *
 * While a CPU idles, it takes the interrupts of a shared card as always (network.h), beats and data, and a
 * frame that is no beat interrupts no CPU that computes. While none idles, they go to CPU 0, whatever it
 * computes. Frames lie in the card's ring in their order, and beats can come after data: so CPU 0 takes all
 * of them out. It passes beats on. Of a data frame it only keeps a copy. The next CPU that polls the network
 * (in a call, or idle) has lwIP handle the kept frames, and then those in the ring. So the order stays, a
 * rank does no protocol's work for another one, and the ring has room for beats, however long no CPU polls.
 * More than INTERFACE_KEPT_MAX frames, about as many as the ring has room for, are dropped and counted, as a
 * full ring drops them.
 *
 *      all CPUs compute:  card -> CPU 0: beat -> all CPUs
 *                                        data -> kept -> the next network_poll -> lwIP
 *      one idles:         card -> that CPU: network_poll, and beats by one IPI to all CPUs
 *
 * A flood costs CPU 0 at most one interrupt every `nettick_interrupts=`th of a second, on either card, and
 * each takes one ring of data at most, or 4 frames that look like beats, which cost more: they are hashed. A
 * beat that follows a frame closely can be late by that time; a beat on a silent wire comes at once. With a
 * shared card CPU 0 may have to wait for the network's lock, while another CPU handles a frame or a segment.
 * A card for beats alone has a lock of its own.
 */
#ifndef TACET_NETWORK_BEAT_WIRE_H
#define TACET_NETWORK_BEAT_WIRE_H

#include "beat/beat_frame.h"
#include "beat/log_page.h"
#include "beat/nettick.h"
#include "beat/node_keys.h"
#include "lib/command_line.h"
#include "lib/format.h"
#include "net/device.h"

/* The card for heartbeats alone; NULL: there is none. */
extern struct network_device *beat_card;

/* Whether the network's own card interrupts for heartbeats; known from beat_wire_configure on. */
extern bool beat_is_shared;

/* Applies `nettick_dev=`, before the network chooses its own card, which cannot be this one. -EINVAL with
 * `why`. */
int beat_wire_choose(const struct command_line *line, struct message *why);

/* Applies `nettick_interrupts=`, once both cards have been chosen. -EINVAL with `why`. */
int beat_wire_configure(const struct command_line *line, const struct network_device *device,
                        struct message *why);

/* Has a card for heartbeats alone interrupt from now on. -ENODEV with `why` if it cannot. */
int beat_wire_start(struct message *why);

/* Has a shared card interrupt CPU 0, because no CPU idles. Returns false if it cannot. beat_shared_release
 * ends that, because a CPU idles and is about to take the interrupts. The caller holds the network's lock. */
bool beat_shared_route(struct network_device *device);
void beat_shared_release(struct network_device *device);

/* Handles an interrupt of a device: takes what the card that brings heartbeats has received, unless a CPU
 * that idles takes it. Returns false if there was nothing. */
bool beat_wire_interrupt(void);

/* Sends what is due to the conductor: a request for keys, an answer to a beat, then pages of the node's
 * flight log. Without locks. */
void beat_frames_send(struct network_device *card);

/* Requests keys until they have come. Called at boot, after network_start; `rest` waits for frames or a time.
 */
void beat_keys_await(void (*rest)(uint64_t until_ns));

/* Returns whether something may be due. */
static inline bool beat_frame_is_due(void)
{
    return nettick_answer_due() || log_page_is_due() || node_keys_state.waits;
}

/* What is left to do with a frame once the lock is released. */
enum beat_taken {
    BEAT_NONE,  /* it was no heartbeat */
    BEAT_TAKEN, /* nothing is left to do */
    BEAT_PASSES /* it is to be passed on */
};

static inline enum beat_taken beat_frame_take(const uint8_t *frame, uint32_t bytes)
{
    if (bytes < ETHERNET_HEADER_BYTES || frame[12] != BEAT_ETHERTYPE >> 8 ||
        frame[13] != (BEAT_ETHERTYPE & 255))
        return BEAT_NONE;
    return nettick_frame(frame + ETHERNET_HEADER_BYTES, bytes - ETHERNET_HEADER_BYTES,
                         frame + ETHERNET_ADDRESS_BYTES)
               ? BEAT_PASSES
               : BEAT_TAKEN;
}

#endif
