/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * beat_wire.h: the card that brings heartbeats (beat/nettick.h), and answers to them: `nettick_dev=`, a card
 * for heartbeats alone, which has no address and interrupts CPU 0 for each frame on its wire, whatever that
 * CPU does; or, with `nettick=irq` and no such card, the network's own, which carries data, too.
 *
 * While a CPU idles, it takes the interrupts of a card that carries both as ever (idle.h), beats and data,
 * and a frame that is no beat interrupts no CPU that computes. While none idles, they go to CPU 0, whatever
 * it computes. Frames lie in the card's ring in their order, and beats can come after data: so CPU 0 takes
 * all of them out. It passes beats on; of a data frame it keeps a copy, and does nothing else for it: who
 * looks at the network next (a call, a CPU that idles) has lwIP handle those kept, before what is in the ring
 * then. So order stays, a rank does no protocol's work for another one, and the ring has room for beats,
 * however long nobody looks. What is beyond INTERFACE_KEPT_MAX frames, about as many as the ring has room
 * for, is dropped and counted, as a ring that nobody empties drops.
 *
 *      all CPUs compute:  card -> CPU 0: beat -> all CPUs
 *                                        data -> kept -> the next network_poll -> lwIP
 *      one idles:         card -> that CPU: network_poll, and beats by one IPI to all CPUs
 *
 * A flood costs CPU 0 an interrupt every `nettick_interrupts=`th of a second at most, of one ring at most. So
 * much later a beat can come that follows a frame closely; one on a silent wire comes at once. With a shared
 * card CPU 0 may have to wait for the network's lock: for a frame, or a segment, that another CPU has under
 * way. A card for beats alone has a lock of its own.
 */
#ifndef TACET_NETWORK_BEAT_WIRE_H
#define TACET_NETWORK_BEAT_WIRE_H

#include "beat/beat_frame.h"
#include "beat/log_page.h"
#include "beat/nettick.h"
#include "lib/command_line.h"
#include "lib/format.h"
#include "net/device.h"

/* The card for heartbeats alone; NULL: there is none. */
extern struct network_device *beat_card;

/* Whether the network's own card interrupts for heartbeats: from beat_wire_configure on. */
extern bool beat_is_shared;

/* `nettick_dev=`: before the network chooses its own card, which cannot be this one. -EINVAL with `why`. */
int beat_wire_choose(const struct command_line *line, struct message *why);

/* `nettick_interrupts=`; once both cards have been chosen. -EINVAL with `why`. */
int beat_wire_configure(const struct command_line *line, const struct network_device *device,
                        struct message *why);

/* From now on a card for heartbeats alone interrupts. -ENODEV with `why` where it cannot. */
int beat_wire_start(struct message *why);

/* With the network's lock, of a card that carries both: no CPU idles, and it interrupts CPU 0 (false: it can
 * interrupt nobody); or one idles, and is about to take its interrupts. */
bool beat_shared_route(struct network_device *device);
void beat_shared_release(struct network_device *device);

/* A device has interrupted this CPU: takes what has come by the card that brings heartbeats, unless a CPU
 * that idles takes it. False: it was nothing. */
bool beat_wire_interrupt(void);

/* Sends what this node owes its conductor: an answer to a beat, then pages of its flight log. Without locks.
 */
void beat_frames_send(struct network_device *card);

/* Whether there may be something. */
static inline bool beat_frame_is_due(void)
{
    return nettick_answer_due() || log_page_is_due();
}

/* What is left to do with a frame once the lock is released. */
enum beat_taken {
    BEAT_NONE,  /* it was no heartbeat */
    BEAT_TAKEN, /* nothing */
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
