/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * launch.h: what the library asks of the launcher that has started this process: its rank, values that ranks
 * exchange before they can send messages, a barrier, and which ranks are on which node. Uses base/ alone.
 * Blocks until the launcher has answered; runs under the library's lock, mostly at MPI_Init and MPI_Finalize.
 */
#ifndef MPI_LAUNCH_H
#define MPI_LAUNCH_H

#include "base/base.h"

/* ---- The launcher (pmi.c) ---- */

/* Chooses PMI-1, PMI-2 or no launcher, as the environment says. */
int pmi_begin(int *rank, int *size);
bool pmi_is_used(void); /* a launcher has started this process */
bool pmi_is_tied(void); /* a Tacet node ends all ranks without a launcher if one ends early */
int pmi_put(const char *key, const char *value);
int pmi_barrier(void); /* pmi_get returns values put before the barrier */
int pmi_get(const char *key, char *value, size_t bytes);
void pmi_end(void);
/* Gives the launcher time to end the job: a rank of another node is gone, and its status is the job's. */
void pmi_end_await(void);
/* Writes this process's IPv4 address, at which other nodes reach it. */
int pmi_local_address(char *text, size_t bytes);

/* ---- Nodes (nodes.c) ---- */

/* Fills mpi_world with which rank is on which node. */
int nodes_begin(void);

#endif
