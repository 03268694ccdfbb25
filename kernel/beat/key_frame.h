/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * key_frame.h: how a node gets its keys after boot (docs/nettick.md, "Keys"): frames of NETTICK's fourth and
 * fifth kinds (beat_frame.h). The node draws a secret at its start and broadcasts the public key of it; the
 * conductor, whose public key the node knows, sends the keys sealed under what both public keys give
 * (lib/seal.h). The tag also covers both public keys, the node's address and start, and the request's number:
 * an answer to another node, start or request is forged. Portable C, for conductor and nodes alike.
 */
#ifndef TACET_KEY_FRAME_H
#define TACET_KEY_FRAME_H

#include "beat/answer_frame.h"
#include "lib/key.h"
#include "lib/seal.h"

#define KEY_REQUEST_BYTES 96
#define KEY_ANSWER_BYTES  68

struct key_request {
    uint32_t number; /* 1, 2, 3 … in one start of the node */
    uint64_t start;  /* the number that the node has drawn at its start */
    uint8_t public[CURVE_BYTES];
    char name[ANSWER_NAME_BYTES]; /* as in answers */
};

/* What both sides know of a node's request besides the frames. */
struct key_session {
    uint8_t node[CURVE_BYTES], conductor[CURVE_BYTES]; /* public keys */
    uint8_t address[BEAT_ADDRESS_BYTES];               /* that the request comes from */
    uint64_t start;
    uint8_t key[SEAL_KEY_BYTES]; /* secret */
};

/* Writes a payload. `ticket` is the node's key for tickets, which proves that it is the node; NULL: it has
 * none yet. */
void key_request_encode(const struct key_request *request, const uint8_t *ticket,
                        uint8_t payload[KEY_REQUEST_BYTES]);

/* Reads a payload, which any host may have made. *request is valid after BEAT_FINE only; its name is
 * printable ASCII then. */
enum beat_fault key_request_decode(const uint8_t *payload, size_t bytes, struct key_request *request);

/* Returns whether a fine request was made with this key for tickets. */
bool key_request_proves(const uint8_t payload[KEY_REQUEST_BYTES], const uint8_t ticket[KEY_BYTES]);

/* Writes an answer to the request of this number. The nonce is random. */
void key_answer_encode(const struct key_session *session, uint32_t number, const struct node_keys *keys,
                       const uint8_t nonce[SEAL_NONCE_BYTES], uint8_t payload[KEY_ANSWER_BYTES]);

/* Reads an answer. *keys is valid after BEAT_FINE only. */
enum beat_fault key_answer_decode(const struct key_session *session, uint32_t number, const uint8_t *payload,
                                  size_t bytes, struct node_keys *keys);

/* Writes the fingerprint of a public key, which people compare: its first ten bytes. */
#define FINGERPRINT_BYTES sizeof("01234-56789-abcde-f0123")
void fingerprint_print(const uint8_t public[CURVE_BYTES], char text[FINGERPRINT_BYTES]);

#endif
