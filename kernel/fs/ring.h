/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring.h: the ring of bytes that pipes and sockets of AF_UNIX keep what was sent in. Positions count all
 * bytes ever sent; whoever owns the ring locks it.
 */
#ifndef TACET_RING_H
#define TACET_RING_H

#include "fs/user_vector.h"

#define RING_BYTES 65536

/* Copies between a ring, from a position on, and the program. -EFAULT. */
static inline int ring_copy(char *ring, uint64_t position, struct user_vector *vector, uint64_t bytes,
                            bool to_program)
{
    uint64_t at = position % RING_BYTES, first = bytes < RING_BYTES - at ? bytes : RING_BYTES - at;
    int error = user_vector_copy(vector, ring + at, first, to_program);

    return error || first == bytes ? error : user_vector_copy(vector, ring, bytes - first, to_program);
}

#endif
