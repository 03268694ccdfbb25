/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * beat_shared.h: heartbeats by interrupts of the network's own card, which carries data, too: `nettick=irq`
 * without a card for beats alone.
 *
 * While a CPU idles, it takes the card's interrupts as ever (idle.h), beats and data, and nobody who computes
 * hears of a frame that is no beat. While none idles, they go to CPU 0, whatever it computes. Frames lie in
 * the card's ring in their order, and beats can come behind data: so CPU 0 takes all of them out. It passes
 * beats on; of a data frame it keeps a copy, and does nothing else for it: who looks at the network next (a
 * call, a CPU that idles) has lwIP handle those kept, before what is in the ring then. So order stays, a rank
 * does no protocol's work for another one, and the ring has room for beats, however long nobody looks. What
 * is beyond BEAT_SHARED_KEPT_MAX frames, about as many as the ring has room for, is dropped and counted, as a
 * ring that nobody empties drops.
 *
 *      all CPUs compute:  card -> CPU 0: beat -> all CPUs
 *                                        data -> kept -> the next network_poll -> lwIP
 *      one idles:         card -> that CPU: network_poll, and beats by one IPI to all CPUs
 *
 * A flood costs CPU 0 an interrupt every `nettick_interrupts=`th of a second at most, of one ring at most. So
 * much later a beat can come that follows a frame closely; one on a silent wire comes at once. CPU 0 may have
 * to wait for the network's lock: for a frame, or a segment, that another CPU has under way.
 */
#ifndef TACET_NETWORK_BEAT_SHARED_H
#define TACET_NETWORK_BEAT_SHARED_H

#include "lib/command_line.h"
#include "lib/format.h"
#include <stdbool.h>
#include <stdint.h>

struct network_device;
struct pbuf;

#define BEAT_SHARED_CPU        0 /* that is interrupted where none idles */
#define BEAT_SHARED_KEPT_MAX   128
#define BEAT_SHARED_FRAMES_MAX 128 /* of one interrupt */

/* Whether there is such a card: from beat_shared_configure on. */
extern bool beat_is_shared;

/* `nettick_interrupts=`; once both cards have been chosen. -EINVAL with `why`. */
int beat_shared_configure(const struct command_line *line, const struct network_device *device,
                          struct message *why);

/* ---- With the network's lock ---- */

/* Nobody idles: the card interrupts BEAT_SHARED_CPU. False: it can interrupt nobody. */
bool beat_shared_route(struct network_device *device);

/* A CPU idles, and is about to take the card's interrupts. */
void beat_shared_release(struct network_device *device);

/* Whether one more frame can be kept; else it is counted as dropped. */
bool beat_shared_has_room(void);

/* Then: a data frame, as a packet for lwIP; takes it. */
void beat_shared_keep(struct pbuf *packet);

/* The oldest one that is kept, which is the caller's then; NULL: there is none. */
struct pbuf *beat_shared_take(void);
bool beat_shared_has_kept(void);

/* BEAT_SHARED_CPU was interrupted, and so many frames were data. */
void beat_shared_count(unsigned data_frames, bool had_beat);

#endif
