/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * keys.h: the nodes that ask the conductor for their keys (beat/key_frame.h, docs/nettick.md "Keys"): which
 * are admitted, by an administrator or at first sight, and which keys they get; and the rotation of the
 * master key.
 *
 * An asker is an Ethernet address and a public key. The table has sets of eight, chosen by a secret hash of
 * the address: askers of one address, and a host that invents addresses, take only what has waited longest.
 * Making the key that is shared with an asker takes some 100 µs, so keys_settle answers one asker at a time.
 */
#ifndef TACET_SERVICE_KEYS_H
#define TACET_SERVICE_KEYS_H

#include "beat/key_frame.h"
#include "service/conductor/admission_file.h"
#include "service/lib/json.h"
#include "service/lib/wire.h"

#define KEYS_SETS 2048
#define KEYS_WAYS 8

/* Begins, with the secret of the conductor's public key; NULL: no keys are given. */
void keys_start(const uint8_t *identity, bool trusts_first);

/* Makes the beats' key of a master key. */
void beats_key_make(uint8_t key[KEY_BYTES], const uint8_t master[KEY_BYTES]);

/* Takes a node's request for its keys. Returns what is wrong with the frame. */
enum beat_fault key_request_heard(const struct wire_frame *frame);

/* Answers one admitted asker, if one is due. keys_are_due returns whether there are more. */
void keys_settle(void);
bool keys_are_due(void);

/* Returns whether the conductor gives keys. */
bool keys_are_given(void);

/* Writes the admitted nodes into `all`, which has ADMISSIONS_MAX. Returns their number. */
unsigned keys_admitted(struct admission *all);

/* Takes up an admission of an earlier start. */
void keys_restore(const struct admission *admission);

/* Answers the request "keys FROM" (control.h). */
void keys_write(struct json *answer, unsigned long from);

/* Does "admit NODE FINGERPRINT". Returns as request_take does. */
bool keys_admit(const char *words, unsigned client, struct json *answer);

/* Reads the master key that the key file has now. Returns NULL, or why it is none to rotate to. */
const char *master_next(uint8_t master[KEY_BYTES]);

/* Reads the key file once more, for a rotation to its key. Returns NULL, or why there is none. */
const char *rotation_begin(void);

/* Ends a rotation: from the next beat on the new master key counts, or if not `is_done` the old one stays. */
void rotation_end(bool is_done);

#endif
