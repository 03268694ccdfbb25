/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * welcomes.h: which nodes the conductor welcomes with its next beats (beat/welcome.h): those whose last
 * answer says that they were not, each with three beats, as a command that is one-way: a wire that loses
 * every other beat loses none of them for ever. A node to which none came says so with its next answer. Pure
 * C.
 */
#ifndef TACET_SERVICE_WELCOMES_H
#define TACET_SERVICE_WELCOMES_H

#include "beat/welcome.h"
#include "service/conductor/registry.h"

#define WELCOME_BEATS 3 /* for each answer */

struct welcomes {
    uint8_t due[REGISTRY_NODES_MAX]; /* for each place of the registry: so many beats */
    unsigned next;                   /* the place that the next beat begins with */
};

/* An answer of this node counts: whether it is due follows from that. */
void welcomes_answer(struct welcomes *welcomes, const struct registry *registry, const struct node *node);

/* Adds to a beat without commands those that are due and have room in so many commands. */
void welcomes_put(struct welcomes *welcomes, const struct registry *registry,
                  const uint8_t key[SIPHASH_KEY_BYTES], unsigned commands_max, struct beat *beat);

#endif
