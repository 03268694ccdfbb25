/* SPDX-License-Identifier: BSD-2-Clause */
/* burst.h: which way large messages go of which several are under way at once (burst.c). Under the lock. */
#ifndef MPI_BURST_H
#define MPI_BURST_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a message to a rank of this node, of which others are under way, is copied from memory to memory,
 * or goes through the segment. */
bool burst_copies(size_t bytes);
/* The last of the messages under way is through. */
void burst_end(void);

#endif
