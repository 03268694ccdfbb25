/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * key.h: the keys that are made of a site's master key, which never leaves the service node: one for each
 * purpose (label), and where nodes differ, one for each node (id). A derived key says nothing about another
 * one or the master. Portable C, for the kernel, the service programs, and tests; any context.
 */
#ifndef TACET_KEY_H
#define TACET_KEY_H

#include "lib/siphash.h"
#include <stdbool.h>

#define KEY_BYTES       SIPHASH_KEY_BYTES
#define KEY_DERIVED_MAX 128 /* bytes of a label with its NUL and an id, at most */

/* What a node has. */
struct node_keys {
    uint8_t beats[KEY_BYTES], ticket[KEY_BYTES];
};

/* Labels. */
#define KEY_BEATS  "tacet beats"  /* without id: the same on all nodes */
#define KEY_TICKET "tacet ticket" /* id: the node's, as its greeting says (docs/jobs.md) */

/* Makes a key: SipHash-2-4-128, under the master key, of the label, a NUL, and the id's bytes. `id` may be
 * NULL if `bytes` is 0. `out` may be `master`. */
void key_derive(uint8_t out[KEY_BYTES], const uint8_t master[KEY_BYTES], const char *label, const void *id,
                size_t bytes);

#endif
