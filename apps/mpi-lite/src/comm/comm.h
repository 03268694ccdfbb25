/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * comm.h: groups and communicators as objects: how they are made and ended, their properties, their
 * attributes, and the topologies that they may have. Uses base/ alone: code that needs messages, or an
 * agreement of the members, is in construct/. Everything here runs under the library's lock.
 *
 * Source: MPI 3.1 chapters 6 and 7.
 */
#ifndef MPI_COMM_INTERNAL_H
#define MPI_COMM_INTERNAL_H

#include "base/base.h"

/* ---- Groups (group.c) ---- */

/* Makes a group with one reference, of `size` members with the world ranks `world` (NULL: filled in later,
 * before group_seal). An empty group is MPI_GROUP_EMPTY. Returns NULL without memory. */
struct mpi_group *group_make(int size, const int *world);
/* Returns the array for the world ranks of a group that was just made. When the caller has filled it,
 * group_seal finds this process's rank. */
int *group_ranks(struct mpi_group *group);
void group_seal(struct mpi_group *group);
void group_hold(struct mpi_group *group);
/* Counts a handle that the program gets. Returns MPI_ERR_NO_MEM if the group is NULL. */
int group_given(const struct mpi_group *group);
void group_release(struct mpi_group *group);
/* Returns for each world rank its rank in the group plus 1, or 0. The caller frees it. Returns NULL without
 * memory.
 */
int *group_index(const struct mpi_group *group);
/* Compares two groups: MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL; -1 without memory. */
int group_order(const struct mpi_group *one, const struct mpi_group *two);
int check_group(const struct mpi_group *group, const char *argument);

/* ---- Communicators (comm.c) ---- */

void comm_world_begin(void);
void comm_world_end(void);
int comm_live_count(void);
struct mpi_comm *comm_make(uint32_t context, struct mpi_group *group, struct mpi_group *remote, bool inter);
/* Makes a communicator with the parent's error handler. Returns NULL without memory. */
struct mpi_comm *comm_make_child(const struct mpi_comm *parent, uint32_t context, struct mpi_group *group,
                                 struct mpi_group *remote, bool inter);
/* Marks a communicator that the program gets no handle of, so that it does not count as leaked. */
void comm_hide(struct mpi_comm *comm);

/* ---- Attributes (comm_attributes.c) ---- */

/* Deletes the attributes of MPI_COMM_SELF, as MPI_Finalize does first. */
int comm_self_finalize(void);

/* ---- Topologies (topology.c) ---- */

struct mpi_topology {
    int kind;  /* MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH */
    int count; /* dimensions of a grid; nodes of a graph; sources of a distributed graph */
    int edge_count;
    int *dims, *periods; /* of a grid: `count` each */
    int *index, *edges;  /* of a graph: index[i] is the end of node i's neighbours */
    /* Of a distributed graph, this rank's edges: `count` sources, `edge_count` destinations. */
    bool weighted;
    int *sources, *destinations, *source_weights, *destination_weights;
};

struct mpi_topology *topology_copy(const struct mpi_topology *from);
/* Makes a zeroed topology with room for a grid or a graph. Returns NULL without memory. */
struct mpi_topology *topology_make(int kind, int count, int edge_count);
/* Returns MPI_ERR_TOPOLOGY if the communicator has no topology of that kind. */
int check_topology(const struct mpi_comm *comm, int kind);
void topology_free(struct mpi_topology *topology);
/* Returns coordinate i of a rank in a grid. */
int grid_coordinate(const struct mpi_topology *grid, int rank, int i);
/* Returns the rank `by` steps along dimension i of the communicator's grid, or MPI_PROC_NULL past an edge. */
int grid_rank_shifted(const struct mpi_comm *comm, int i, int64_t by);

#endif
