/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * answer_frame.h: what a node says to the conductor that it takes beats from: frames of NETTICK's second kind
 * (beat_frame.h), each the answer to one beat, sent to the address that the beat came from. Pure C, for
 * senders and receivers alike. docs/nettick.md has the format byte by byte.
 */
#ifndef TACET_ANSWER_FRAME_H
#define TACET_ANSWER_FRAME_H

#include "beat/beat_frame.h"

#define ANSWER_BYTES      156 /* of the payload, its tag included */
#define ANSWER_NAME_BYTES 32

enum answer_state { ANSWER_RUNNING = 1, ANSWER_STOPPED = 2 };

struct answer {
    uint8_t state; /* enum answer_state */
    uint16_t cpus;
    bool is_welcomed;         /* it obeys commands of this epoch (welcome.h) */
    uint64_t epoch, sequence; /* of the beat that is answered */
    uint64_t booted_ns;       /* when the node was started, since 1970 by its own clock */
    uint64_t start;           /* drawn by the node at its start: another one after another start */
    int64_t error_ns;         /* by which its idea of global time was wrong last; positive: behind */
    uint64_t beats, lost;     /* that it took since its start, and that have not come */
    uint32_t done;            /* the highest command of this epoch that all of its CPUs have done; 0: none */
    uint32_t result;          /* of that one: 0, or Linux's errno */
    /* All CPUs' kernel entries up to the last BEAT_COUNT, and their switches between threads; 0 before. */
    uint64_t system_calls, exceptions, interrupts, switches;
    uint8_t address[4];           /* IPv4, of its network; zeros: none */
    uint16_t ranks;               /* that have not ended */
    char name[ANSWER_NAME_BYTES]; /* its host's, NUL-padded, and NUL-terminated */
    uint32_t job;                 /* the number of the job that runs there; 0: none does, or it has none */
};

/* Writes the payload, ANSWER_BYTES. */
void answer_encode(const struct answer *answer, const uint8_t key[SIPHASH_KEY_BYTES],
                   uint8_t payload[ANSWER_BYTES]);

/* Reads one. *answer is valid after BEAT_FINE only; its name is printable ASCII then. */
enum beat_fault answer_decode(const uint8_t *payload, size_t bytes, const uint8_t key[SIPHASH_KEY_BYTES],
                              struct answer *answer);

#endif
