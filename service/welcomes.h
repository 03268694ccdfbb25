/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * welcomes.h: which nodes the conductor welcomes with its next beats (beat/welcome.h): those whose last
 * answer says that they were not. Each welcome goes with one beat; a node to which that does not come says so
 * with its next answer. Pure C.
 */
#ifndef TACET_SERVICE_WELCOMES_H
#define TACET_SERVICE_WELCOMES_H

#include "beat/welcome.h"
#include "service/registry.h"

#define WELCOME_WORDS (REGISTRY_NODES_MAX / 64)

struct welcomes {
    uint64_t due[WELCOME_WORDS]; /* a bit for each place of the registry */
    unsigned next;               /* the word that the next beat begins with */
};

/* An answer of this node counts: whether it is due follows from that. */
void welcomes_answer(struct welcomes *welcomes, const struct registry *registry, const struct node *node);

/* Adds to a beat without commands those that are due and have room in so many commands; they are due no
 * more. */
void welcomes_put(struct welcomes *welcomes, const struct registry *registry,
                  const uint8_t key[SIPHASH_KEY_BYTES], unsigned commands_max, struct beat *beat);

#endif
