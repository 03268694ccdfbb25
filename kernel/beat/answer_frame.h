/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * answer_frame.h: a node's answers to its conductor: frames of NETTICK's second kind (beat_frame.h), each the
 * answer to one beat, sent to the address that the beat came from. Portable C, for senders and receivers
 * alike. docs/nettick.md has the format byte by byte.
 */
#ifndef TACET_ANSWER_FRAME_H
#define TACET_ANSWER_FRAME_H

#include "beat/beat_frame.h"

#define ANSWER_BYTES      170 /* length of the payload, including its end */
#define ANSWER_NAME_BYTES 32

enum answer_state { ANSWER_RUNNING = 1, ANSWER_STOPPED = 2 };

struct answer {
    uint8_t state; /* enum answer_state */
    uint16_t cpus;
    bool is_welcomed;         /* the node obeys commands of this epoch (welcome.h) */
    bool has_next_keys;       /* it has the keys that it has requested since the last BEAT_REKEY */
    uint64_t epoch, sequence; /* epoch and number of the beat that is answered */
    uint64_t follows;     /* epoch that the node follows: `epoch`, or a higher one, whose beats it lacks */
    uint64_t booted_ns;   /* when the node was started, since 1970 by its own clock */
    uint64_t start;       /* a random number that the node draws at each start */
    int64_t error_ns;     /* the last error of the node's global time; positive: it was slow */
    uint64_t beats, lost; /* beats taken, and beats missed, since its start */
    uint32_t done;        /* the highest command of this epoch that all of its CPUs have done; 0: none */
    uint32_t result;      /* result of that command: 0, or Linux's errno */
    /* Counts of all CPUs at the last BEAT_COUNT: kernel entries, and switches between threads. 0 before the
     * first one. */
    uint64_t system_calls, exceptions, interrupts, switches;
    uint8_t address[4];           /* its IPv4 address; zeros: none */
    uint16_t ranks;               /* ranks that have not ended */
    bool polls;                   /* it hears no beat while all its CPUs compute */
    char name[ANSWER_NAME_BYTES]; /* its host name, NUL-padded and NUL-terminated */
    uint32_t job;                 /* the number of its job; 0: no job runs, or it has no number */
};

/* Returns whether a name is printable ASCII, padded and terminated with NULs: it may be printed to a
 * terminal. */
bool answer_name_is_fine(const char name[ANSWER_NAME_BYTES]);

/* Writes the payload, ANSWER_BYTES. */
void answer_encode(const struct answer *answer, const uint8_t key[SIPHASH_KEY_BYTES],
                   const uint8_t sender[BEAT_ADDRESS_BYTES], uint8_t payload[ANSWER_BYTES]);

/* Reads a payload from `sender`. *answer is valid after BEAT_FINE only; its name is printable ASCII then. */
enum beat_fault answer_decode(const uint8_t *payload, size_t bytes, const uint8_t key[SIPHASH_KEY_BYTES],
                              const uint8_t sender[BEAT_ADDRESS_BYTES], struct answer *answer);

#endif
