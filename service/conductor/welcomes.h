/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * welcomes.h: which nodes the conductor welcomes with its next beats (beat/welcome.h): those whose last
 * answer says that they were not welcomed. Each is welcomed with three beats, like a one-way command, so that
 * a wire that loses every other beat does not lose all of them. A node that has got none says so in its next
 * answer, and is welcomed again. Portable C.
 */
#ifndef TACET_SERVICE_WELCOMES_H
#define TACET_SERVICE_WELCOMES_H

#include "beat/welcome.h"
#include "service/conductor/registry.h"

#define WELCOME_BEATS 3 /* for each answer */

struct welcomes {
    uint8_t due[REGISTRY_NODES_MAX]; /* for each place of the registry: beats that are to welcome its node */
    unsigned next;                   /* the place that the next beat begins with */
};

/* Notes from a node's answer, which counts, whether the node is to be welcomed. */
void welcomes_answer(struct welcomes *welcomes, const struct registry *registry, const struct node *node);

/* Adds due welcomes to a beat that has no commands yet, as many as fit into `commands_max` commands. */
void welcomes_put(struct welcomes *welcomes, const struct registry *registry,
                  const uint8_t key[SIPHASH_KEY_BYTES], unsigned commands_max, struct beat *beat);

#endif
