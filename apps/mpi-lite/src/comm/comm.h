/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * comm.h: what groups, communicators and topologies share beside the contract (base.h): the making of
 * groups, the making of a communicator out of another one, and the bridge between the two groups of an
 * intercommunicator. Everything here runs under the library's lock.
 *
 * Source: MPI 3.1 chapters 6 and 7.
 */
#ifndef MPI_COMM_INTERNAL_H
#define MPI_COMM_INTERNAL_H

#include "message/message.h"

/* ---- Groups (group.c) ---- */

/* A group with one reference, of `size` members whose world ranks `world` says (NULL: filled in later, before
 * group_seal). An empty one is MPI_GROUP_EMPTY. NULL: no memory. */
struct mpi_group *group_make(int size, const int *world);
/* Where a caller writes the world ranks of a group that it has just made; then this process's rank is found.
 */
int *group_ranks(struct mpi_group *group);
void group_seal(struct mpi_group *group);
void group_hold(struct mpi_group *group);
/* A handle of it goes to the program; NULL: out of memory. */
int group_given(const struct mpi_group *group);
void group_release(struct mpi_group *group);
/* For each world rank, its rank in the group plus 1, or 0. To be freed. NULL: no memory. */
int *group_index(const struct mpi_group *group);
/* MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL; -1: no memory. */
int group_order(const struct mpi_group *one, const struct mpi_group *two);
int check_group(const struct mpi_group *group, const char *argument);

/* ---- Communicators (comm.c, comm_split.c) ---- */

/* How two groups speak: their leaders exchange messages over `peer`, and tell their own group. */
struct bridge {
    struct mpi_comm *local;
    int leader; /* rank in `local` */
    struct mpi_comm *peer;
    int remote_leader; /* rank in `peer`, for the leader alone */
    int tag;           /* on peer's second context; negative, so that no collective has it */
};

/* A tag of the program's as a tag of the second context, which no collective uses, and which is not
 * MPI_ANY_TAG. */
static inline int tag_inner(int tag)
{
    return (int)(INT32_MIN + (int64_t)tag % INT32_MAX);
}

/* A message to one member and one from another, on the second context. */
int comm_swap(struct mpi_comm *comm, int tag, struct mpi_datatype *type, const void *out, int out_count,
              int to, void *in, int in_count, int from);
/* The leaders swap what they have; every member of the local group gets what the other side's leader sent. */
int bridge_swap(const struct bridge *bridge, struct mpi_datatype *type, const void *out, int out_count,
                void *in, int in_count);
/* Of an intercommunicator that exists. */
struct bridge bridge_of(struct mpi_comm *comm);
/* context_agree between all members of both groups. */
int context_agree_across(const struct bridge *bridge, uint32_t *context);
/* context_agree between the members of a group alone. */
int context_agree_in_group(struct mpi_comm *comm, const struct mpi_group *group, int tag, uint32_t *context);

#define CONTEXTS_AGREED \
    (1u << 31) /* contexts of agreements are below it, those of MPI_Comm_idup from it on */

/* A communicator with parent's error handler. NULL: no memory. */
struct mpi_comm *comm_make_child(const struct mpi_comm *parent, uint32_t context, struct mpi_group *group,
                                 struct mpi_group *remote, bool inter);
/* A communicator of the ranks below `size`: *child is MPI_COMM_NULL on the others. Collective over `parent`.
 */
int comm_first_ranks(struct mpi_comm *parent, int size, struct mpi_comm **child);
/* MPI_Comm_split, with checked arguments. */
int comm_split(struct mpi_comm *comm, int color, int key, struct mpi_comm **child);
/* The intracommunicator that an intercommunicator keeps of its local group. */
int comm_local_make(struct mpi_comm *comm, uint32_t context);
/* A copy with the topology and the attributes that are copied; *copy is MPI_COMM_NULL where that fails. Its
 * contexts: the second, of the local group's own communicator, counts for intercommunicators. */
int comm_copy_make(struct mpi_comm *comm, uint32_t context, uint32_t local_context, struct mpi_comm **copy);
/* Deletes its attributes, and gives up the program's reference. */
int comm_end(struct mpi_comm *comm);
int comm_out_of_memory(void);

/* ---- Topologies (topology.c, cart.c, dist_graph.c) ---- */

struct mpi_topology {
    int kind;  /* MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH */
    int count; /* dimensions; nodes of the graph; sources */
    int edge_count;
    int *dims, *periods; /* of a grid: `count` each */
    int *index, *edges;  /* of a graph: index[i] is the end of node i's neighbours */
    /* Of a distributed graph, this rank's edges: `count` sources, `edge_count` destinations. */
    bool weighted;
    int *sources, *destinations, *source_weights, *destination_weights;
};

struct mpi_topology *topology_copy(const struct mpi_topology *from);
/* Room for a grid or a graph, zeroed; NULL: no memory. */
struct mpi_topology *topology_make(int kind, int count, int edge_count);
/* MPI_ERR_TOPOLOGY where the communicator has none of that kind. */
int check_topology(const struct mpi_comm *comm, int kind);
/* The ranks one step down and up along dimension i of a grid; MPI_PROC_NULL past an edge. */
void cart_neighbours(const struct mpi_comm *comm, int i, int *down, int *up);

/* ---- Errors (error_text.c) ---- */

/* The name of an error class, or of a code's. */
const char *error_name(int code);
/* Its sentence. */
void error_say(int code, char *text, size_t bytes);
/* The exit status of a job that it ends. */
int error_status(int code);
/* Where the highest error code in use stands, which is an attribute. */
int *error_last_used(void);

#endif
