/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tcp_begin.h: what TCP between nodes (tcp.c) needs at its start: the secret by which ranks of a job know
 * each other, and as many descriptors as a rank may have.
 */
#ifndef MPI_TCP_BEGIN_H
#define MPI_TCP_BEGIN_H

#include "base/base.h"
#include <netinet/in.h>

/* Agrees on the job's secret, which rank 0 draws. Returns an MPI error class, with its reason. */
int tcp_secret_agree(uint64_t *secret);

/* Reads a rank's address from the launcher. Returns an MPI error class, with its reason. */
int tcp_address_of(int rank, struct sockaddr_in *address);

/* Raises this rank's limit of descriptors as far as it may. Rank 0 says on standard error if that is too low
 * for a connection with each of the `remote` ranks of other nodes. */
void tcp_descriptors_raise(int remote);

#endif
