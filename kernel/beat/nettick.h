/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nettick.h: how this node takes a conductor's heartbeats [Betti09 §III, §V-B]: the clock event device
 * `nettick`, and the conductor's time, at multiples of which smart timers expire.
 *
 *      net/  frame -> nettick_frame: tag, order, clock -> one IPI to all others -> nettick_interrupt: timers,
 *                                                                                   then commands (command.h)
 *
 * While beats come, a CPU's timers expire at the first beat at or after their boundary: at most a beat's
 * period late. As long as a timer is pending, the CPU's local device is armed for three periods after the
 * boundary. If it fires, beats are lost: then the local device times that CPU until a beat comes again. Local
 * devices time all CPUs before the first beat, and after a beat that says that none follows.
 *
 * A frame that is no beat of this conductor, or an old one, is counted by its cause and changes nothing.
 */
#ifndef TACET_NETTICK_H
#define TACET_NETTICK_H

#include "beat/answer_frame.h"
#include "lib/command_line.h"
#include <stddef.h>
#include <stdint.h>

#define NETTICK_FALLBACK_PERIODS 3
#define NETTICK_RATING           200

/* How beats are received. OFF: not at all. POLL: when a CPU polls the network, so that they set the clock and
 * command, but time nothing. INTERRUPT: by an interrupt, so that they are a clock event device as well. */
enum nettick_mode { NETTICK_OFF, NETTICK_POLL, NETTICK_INTERRUPT };

/* Applies `nettick=` and the options of node_keys.h. Called after the architecture has registered its clock
 * event devices and before these get their ratings. -EINVAL with `why`. */
int nettick_configure(const struct command_line *line, struct message *why);

enum nettick_mode nettick_mode(void);

/* Sets the address of the card that receives beats and sends answers. Called before it interrupts. */
void nettick_card_set(const uint8_t address[BEAT_ADDRESS_BYTES]);

/* Takes a frame of EtherType BEAT_ETHERTYPE, a beat or an answer with keys: its payload, and its sender's
 * address. Runs on any CPU, interrupts off. Takes no lock that is held for long, and expires no timer.
 * Returns true if the beat is to be passed on: if beats time CPUs, if it has commands, or if wall time has
 * stepped. */
bool nettick_frame(const uint8_t *payload, size_t bytes, const uint8_t from[BEAT_ADDRESS_BYTES]);

/* Passes a beat on to all CPUs, including this one; without locks, in an interrupt. */
void nettick_pass_on(void);

/* Returns whether the last beat that counted asks for an answer, and has none yet. */
bool nettick_answer_due(void);

/* Writes the answer to the last beat into `payload`, and the address to send it to into `conductor`.
 * `address` is the node's, in network byte order. Called by the CPU that has taken the beat, once the beat is
 * passed on. Returns false if another CPU has answered meanwhile. */
bool nettick_answer(const char *name, uint32_t address, uint8_t conductor[BEAT_ADDRESS_BYTES],
                    uint8_t payload[ANSWER_BYTES]);

/* What is known of the conductor: its last beat that counted, the address that this came from, the same
 * moment on both clocks, and their drift. nettick_moment takes the lock of beats. */
struct nettick_moment {
    uint64_t epoch, sequence;
    uint8_t conductor[BEAT_ADDRESS_BYTES];
    uint64_t local_ns, global_ns;
    int64_t drift, error_ns; /* global_clock.h */
};

void nettick_moment(struct nettick_moment *moment);

/* Handles a beat that was passed on to this CPU (arch_beat_send). Entry point of the architecture. */
void nettick_interrupt(void);

/* Counts of a card that interrupts for beats and carries data, too (net/beat_wire.h). */
extern struct nettick_shared {
    bool is_used;                       /* there is such a card */
    uint64_t interrupts, without_beat;  /* of the CPU that takes beats */
    uint64_t data_frames, data_dropped; /* that came with these interrupts */
} nettick_shared;

/* Prints what /proc/tacet/nettick shows. */
struct text_sink;
void nettick_describe(struct text_sink *sink);

#endif
