/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * comm.h: groups and communicators as objects: how they are made and ended, what they say of themselves,
 * their attributes, and the topologies that they may have. Uses base/ alone: what takes messages, or an
 * agreement of the members, stands in construct/. Everything here runs under the library's lock.
 *
 * Source: MPI 3.1 chapters 6 and 7.
 */
#ifndef MPI_COMM_INTERNAL_H
#define MPI_COMM_INTERNAL_H

#include "base/base.h"

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

/* ---- Communicators (comm.c) ---- */

void comm_world_begin(void);
void comm_world_end(void);
int comm_live_count(void);
struct mpi_comm *comm_make(uint32_t context, struct mpi_group *group, struct mpi_group *remote, bool inter);
/* A communicator with parent's error handler. NULL: no memory. */
struct mpi_comm *comm_make_child(const struct mpi_comm *parent, uint32_t context, struct mpi_group *group,
                                 struct mpi_group *remote, bool inter);
/* The program gets no handle of it, and so cannot have left it unfreed. */
void comm_hide(struct mpi_comm *comm);

/* ---- Attributes (comm_attributes.c) ---- */

/* MPI_Finalize begins with it: the attributes of MPI_COMM_SELF are deleted. */
int comm_self_finalize(void);

/* ---- Topologies (topology.c) ---- */

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
void topology_free(struct mpi_topology *topology);
/* Coordinate i of a rank of a grid. */
int grid_coordinate(const struct mpi_topology *grid, int rank, int i);
/* The rank `by` steps along dimension i of the communicator's grid, or MPI_PROC_NULL past an edge. */
int grid_rank_shifted(const struct mpi_comm *comm, int i, int64_t by);

#endif
