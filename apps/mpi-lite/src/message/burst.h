/* SPDX-License-Identifier: BSD-2-Clause */
/* burst.h: chooses the way of large messages while several are under way at once (burst.c). Runs under the
 * lock. */
#ifndef MPI_BURST_H
#define MPI_BURST_H

#include <stdbool.h>
#include <stddef.h>

/* Returns whether a message to a rank of this node is copied from memory to memory while others are under
 * way; false: it goes through the segment. */
bool burst_copies(size_t bytes);
/* Ends a burst: the last of the messages under way is complete. */
void burst_end(void);

#endif
