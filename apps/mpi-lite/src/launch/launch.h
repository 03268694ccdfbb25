/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * launch.h: what the library asks of whoever has started this process: its rank, values that ranks tell each
 * other before they have messages, a barrier, and who is on which node. Uses base/ alone. Blocks until the
 * launcher has answered; runs under the library's lock, mostly at MPI_Init and MPI_Finalize.
 */
#ifndef MPI_LAUNCH_H
#define MPI_LAUNCH_H

#include "base/base.h"

/* ---- The launcher (pmi.c) ---- */

/* PMI-1, PMI-2 or nothing, as the environment says. */
int pmi_begin(int *rank, int *size);
bool pmi_is_used(void); /* a launcher has started this process */
int pmi_put(const char *key, const char *value);
int pmi_barrier(void); /* puts made before it can be got after it */
int pmi_get(const char *key, char *value, size_t bytes);
void pmi_end(void);
/* This process's IPv4 address, as other nodes may use it. */
int pmi_local_address(char *text, size_t bytes);

/* ---- Nodes (nodes.c) ---- */

/* Which rank is on which node, into mpi_world. */
int nodes_begin(void);

#endif
