/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * node_keys.h: the node's keys, and where they come from: the command line (`nettick_key=`, `ticket_key=`),
 * or after boot the conductor (`conductor_key=`, key_frame.h). Then the node draws a secret, of which only
 * the key that it shares with the conductor is kept, and requests its keys until it has them; and once more
 * at each BEAT_REKEY. What it gets then are the next keys: they count from the first beat under them on.
 *
 *      none --answer--> has keys --BEAT_REKEY--> requests next --answer--> has next --beat under them--> has
 * keys
 *
 * Keys are read between node_keys_open and node_keys_close alone, which exclude other CPUs: a leaf lock, held
 * for a hash. Outside, their page is not mapped. Any context, interrupts off.
 */
#ifndef TACET_NODE_KEYS_H
#define TACET_NODE_KEYS_H

#include "beat/key_frame.h"
#include "lib/command_line.h"
#include "mm/page_pool.h"

/* Applies `nettick_key=`, `ticket_key=` and `conductor_key=`. `start` is the number drawn at this start.
 * -EINVAL or -ENODEV with `why`. */
int node_keys_configure(const struct command_line *line, uint64_t start, struct message *why);

/* Returns whether one of these options is there: then the secrets need memory. */
bool node_keys_are_given(const struct command_line *line);

/* Moves the secrets into a page of the direct map, NODE_KEYS_BYTES with the tables for it, and unmaps the
 * page: it is there between node_keys_open and node_keys_close alone. Called once at boot. */
#define NODE_KEYS_BYTES (4 * ARCH_PAGE)
void node_keys_hide(void *page, struct page_pool *pool);

/* What is known without the secrets. Changed under the lock, read without it. */
extern struct node_keys_state {
    bool has_keys, has_ticket; /* a key for beats, one for tickets */
    bool has_next;             /* those of the last BEAT_REKEY, which do not count yet */
    bool come;                 /* they come after boot */
    bool waits;                /* for keys that it has requested; it requests them again at `due_ns`, with
                                * pauses that grow from 0.25 to 8 s */
    uint64_t due_ns;
} node_keys_state;

/* Sets the address of the card that requests go from. */
void node_keys_card_set(const uint8_t address[BEAT_ADDRESS_BYTES]);

/* The keys that count now, those that follow (zeros if there are none), and what the node shares with the
 * conductor. */
struct node_secrets {
    struct node_keys now, next;
    struct key_session session;
};

struct node_secrets *node_keys_open(void);
void node_keys_close(void);

/* Does BEAT_REKEY: requests keys once more. Returns 0; -ENOKEY if they come from the command line. */
int node_keys_renew(void);

/* Writes the request for keys. Returns false if none is due. */
bool node_keys_request(const char *name, uint8_t payload[KEY_REQUEST_BYTES]);

/* Takes an answer to it. */
enum beat_fault node_keys_take(const uint8_t *payload, size_t bytes);

/* Makes the next keys those that count: a beat under them has come. */
void node_keys_advance(void);

/* Prints the fingerprint of the node's public key, for the administrator. */
void node_keys_say(void);

#endif
