/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * welcome.h: how a node knows that a command was given after its own start, and not recorded before it. Its
 * answers have a number that it has drawn at its start. The conductor sends back what only who has the key
 * can make of that and of the node's address, the welcome, in a beat; so that beat was made after the node's
 * first answer, and so were all later ones. Until then the node obeys no command (command.h).
 *
 * Welcomes go by commands without a number, BEAT_WELCOME, eight of them in one, so that all nodes of a
 * cluster can start at once. Pure C, for conductor and nodes alike.
 */
#ifndef TACET_BEAT_WELCOME_H
#define TACET_BEAT_WELCOME_H

#include "beat/beat_frame.h"

#define WELCOME_BYTES 8

/* For the node whose card for beats has this address, of the start that has drawn this number. */
uint64_t welcome_of(const uint8_t key[SIPHASH_KEY_BYTES], const uint8_t address[BEAT_ADDRESS_BYTES],
                    uint64_t start);

/* Adds one to a beat that has no other commands yet, and shall have so many commands at most for it. False:
 * it has no room. */
bool welcome_add(struct beat *beat, unsigned commands_max, uint64_t welcome);

/* Whether a beat has it. */
bool welcome_is_in(const struct beat *beat, uint64_t welcome);

#endif
