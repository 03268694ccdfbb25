/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * beat.c: the kernel's own writer of heartbeats (kernel/beat/beat_frame.c) as one function for Python, which
 * then need not know a struct of C. No state, no locks.
 */
#include "kernel/beat/beat_frame.h"

__attribute__((visibility("default"))) size_t lockstep_beat(uint64_t epoch, uint64_t sequence,
                                                            uint64_t time_ns, uint64_t period_ns,
                                                            const uint8_t key[SIPHASH_KEY_BYTES],
                                                            uint8_t *payload, size_t room);

/* Writes a beat's payload; its bytes, or 0 where the beat is none that a conductor sends. */
size_t lockstep_beat(uint64_t epoch, uint64_t sequence, uint64_t time_ns, uint64_t period_ns,
                     const uint8_t key[SIPHASH_KEY_BYTES], uint8_t *payload, size_t room)
{
    const struct beat beat = {
        .epoch = epoch,
        .sequence = sequence,
        .time_ns = time_ns,
        .period_ns = period_ns,
    };

    return beat_encode(&beat, key, payload, room);
}
