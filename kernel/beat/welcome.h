/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * welcome.h: how a node knows that a command was given after its own start, and not recorded before it. At
 * its start the node draws a random number, which its answers carry. From that number and the node's address
 * the conductor makes the welcome, for which it needs the key, and sends it in a beat. So that beat was made
 * after the node's first answer, and so were all later ones. Until then the node obeys no command
 * (command.h).
 *
 * Welcomes are sent in commands without a number, BEAT_WELCOME, up to eight in each, so that all nodes of a
 * cluster can start at once. Portable C, for conductor and nodes alike.
 */
#ifndef TACET_BEAT_WELCOME_H
#define TACET_BEAT_WELCOME_H

#include "beat/beat_frame.h"

#define WELCOME_BYTES 8

/* Returns the welcome for a node whose card for beats has this address, and which has drawn this number at
 * its start. */
uint64_t welcome_of(const uint8_t key[SIPHASH_KEY_BYTES], const uint8_t address[BEAT_ADDRESS_BYTES],
                    uint64_t start);

/* Adds a welcome to a beat that has no other commands yet, in at most `commands_max` commands. Returns false
 * if these are full. */
bool welcome_add(struct beat *beat, unsigned commands_max, uint64_t welcome);

/* Returns whether a beat has this welcome. */
bool welcome_is_in(const struct beat *beat, uint64_t welcome);

#endif
