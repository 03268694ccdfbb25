/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nettick.h: a conductor's heartbeats, as this node takes them [Betti09 §III, §V-B]: the clock event device
 * `nettick` and the conductor's time, on whose multiples smart timers fall.
 *
 *      net/  frame -> nettick_frame: tag, order, clock -> one IPI to all others -> nettick_interrupt: timers,
 *                                                                                   then commands (command.h)
 *
 * While beats come, a CPU's timers expire at the first beat at or after their boundary: at most a beat's
 * period late. The CPU's local device is armed, as long as a timer pends, for three periods after the
 * boundary. Where it fires, beats are lost: that CPU goes by its local device until one comes again, and all
 * CPUs do from a beat on that says that none follows. Before the first one they do, too.
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

/* How beats are received: not at all; by whoever looks at the network, so that they set the clock and
 * command, but time nothing; by an interrupt, so that they are a clock event device as well. */
enum nettick_mode { NETTICK_OFF, NETTICK_POLL, NETTICK_INTERRUPT };

/* Applies `nettick=` and `nettick_key=`, after the architecture has registered its clock event devices and
 * before these get their ratings. -EINVAL with `why`. */
int nettick_configure(const struct command_line *line, struct message *why);

enum nettick_mode nettick_mode(void);

/* The conductor's key, where there is nettick_key=; NULL. */
const uint8_t *nettick_key(void);

/* The address of the card that beats come to, and answers go from; before it interrupts. */
void nettick_card_set(const uint8_t address[BEAT_ADDRESS_BYTES]);

/* A frame of EtherType BEAT_ETHERTYPE has come: its payload, and the address that it is from. On any CPU,
 * interrupts off; it takes no lock that anybody holds for long and expires no timer. True: a beat that is to
 * be passed on, if only because wall time has stepped. */
bool nettick_frame(const uint8_t *payload, size_t bytes, const uint8_t from[BEAT_ADDRESS_BYTES]);

/* Passes it on to all CPUs, this one included; without locks, in an interrupt. */
void nettick_pass_on(void);

/* The same, where it was found on the way to something else, by who looked at the network: this CPU takes it
 * when it accepts interrupts. */
void nettick_pass_on_later(void);

/* Whether the last beat that counted asks for an answer, and has none yet. */
bool nettick_answer_due(void);

/* That answer. `address` in network byte order; `conductor` is whom to send it to. By the CPU that has taken
 * the beat, once that is passed on. False: another CPU has answered meanwhile. */
bool nettick_answer(const char *name, uint32_t address, uint8_t conductor[BEAT_ADDRESS_BYTES],
                    uint8_t payload[ANSWER_BYTES]);

/* What is known of the conductor: its last beat that counted, where that came from, and the same moment on
 * both clocks, with what drift they have. Takes the lock of beats. */
struct nettick_moment {
    uint64_t epoch, sequence;
    uint8_t conductor[BEAT_ADDRESS_BYTES];
    uint64_t local_ns, global_ns;
    int64_t drift; /* global_clock.h */
};

void nettick_moment(struct nettick_moment *moment);

/* Entry point of the architecture: a beat has been passed on to this CPU (arch_beat_send). */
void nettick_interrupt(void);

/* Of a card that interrupts for beats and carries data, too (net/beat_wire.h). */
struct nettick_shared {
    uint64_t interrupts, without_beat;  /* of the CPU that takes beats */
    uint64_t data_frames, data_dropped; /* that came by these */
};

/* It has one: they must live for ever. */
void nettick_shared_set(const struct nettick_shared *counts);

/* What /proc/tacet/nettick shows. */
struct text_sink;
void nettick_describe(struct text_sink *sink);

#endif
