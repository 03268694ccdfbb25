/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * construct.h: communicators that are made of others: copies, splits, intercommunicators, and those with a
 * topology. Their members agree by messages and collectives of existing communicators, so this folder is
 * above collective/. It uses that, comm/, message/, type/ and base/. Everything here runs under the library's
 * lock.
 *
 * Source: MPI 3.1 §6.4, §6.6, §7.5.
 */
#ifndef MPI_CONSTRUCT_H
#define MPI_CONSTRUCT_H

#include "comm/comm.h"
#include "message/message.h"

/* ---- Bridges (bridge.c) ---- */

/* How two groups communicate: their leaders exchange messages over `peer`, and pass the result to their own
 * group. */
struct bridge {
    struct mpi_comm *local;
    int leader; /* rank in `local` */
    struct mpi_comm *peer;
    int remote_leader; /* rank in `peer`; used by the leader alone */
    int tag;           /* on peer's second context; negative, so that no collective uses it */
};

/* Maps a tag of the program's to a tag of the second context that no collective uses, and that is not
 * MPI_ANY_TAG. */
static inline int tag_inner(int tag)
{
    return (int)(INT32_MIN + (int64_t)tag % INT32_MAX);
}

/* Sends a message to one member and receives one from another, on the second context. */
int comm_swap(struct mpi_comm *comm, int tag, struct mpi_datatype *type, const void *out, int out_count,
              int to, void *in, int in_count, int from);
/* Swaps data between the leaders; every member of the local group receives what the other group's leader
 * sent. */
int bridge_swap(const struct bridge *bridge, struct mpi_datatype *type, const void *out, int out_count,
                void *in, int in_count);
/* Returns the bridge between the groups of an existing intercommunicator. */
struct bridge bridge_of(struct mpi_comm *comm);

/* ---- Agreements (agreement.c) ---- */

/* Finds an even number that no communicator of these members uses, by an allreduce over `comm`. */
int context_agree(struct mpi_comm *comm, uint32_t *context);
/* Does the same for all members of both groups. */
int context_agree_across(const struct bridge *bridge, uint32_t *context);
/* Does the same for the members of a group alone. */
int context_agree_in_group(struct mpi_comm *comm, const struct mpi_group *group, int tag, uint32_t *context);

#define CONTEXTS_AGREED                                                                 \
    (1u << 31) /* numbers that context_agree finds are below it, those of MPI_Comm_idup \
                * are from it on */

/* ---- Parts of communicators (comm_split.c) ---- */

/* Makes a communicator of the ranks below `size`; *child is MPI_COMM_NULL on the others. Collective over
 * `parent`. */
int comm_first_ranks(struct mpi_comm *parent, int size, struct mpi_comm **child);
/* Does MPI_Comm_split, with checked arguments. */
int comm_split(struct mpi_comm *comm, int color, int key, struct mpi_comm **child);

/* ---- Copies and end (comm_copy.c) ---- */

/* Makes the intracommunicator that an intercommunicator keeps for its local group. */
int comm_local_make(struct mpi_comm *comm, uint32_t context);
/* Makes a copy with the topology and the attributes that are copied; *copy is MPI_COMM_NULL if that fails.
 * `local_context` is used only for intercommunicators: the context of the local group's own communicator. */
int comm_copy_make(struct mpi_comm *comm, uint32_t context, uint32_t local_context, struct mpi_comm **copy);
/* Deletes its attributes, and releases the program's reference. */
int comm_end(struct mpi_comm *comm);

#endif
