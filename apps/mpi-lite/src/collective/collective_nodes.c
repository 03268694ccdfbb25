/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * collective_nodes.c: which ranks of a communicator share a node, for collectives that work within nodes
 * first. A message between nodes costs many times what a message within a node costs, so one rank of each
 * node, its leader, exchanges messages for it.
 *
 * Made on the first use by a communicator, kept in it, freed with it; a world of one node never makes it.
 * Runs under the library's lock.
 *
 * Source: [Hoefler10 §IV]; MPI 3.1 §5.1 (which leaves the algorithm free).
 */
#include "collective/collective.h"
#include <stdlib.h>

static struct mpi_comm_nodes *nodes_make(const struct mpi_comm *comm)
{
    size_t size = (size_t)comm->size;
    struct mpi_comm_nodes *nodes = malloc(sizeof(*nodes) + 3 * size * sizeof(int));

    int *known = calloc((size_t)mpi_world.nodes, sizeof(*known)); /* each node's place in `leaders`, plus 1 */
    if (!nodes || !known)
        mpi_abort(1, "no memory for the nodes of a communicator of %d", comm->size);
    *nodes = (struct mpi_comm_nodes){ .node_of = (int *)(nodes + 1) };
    nodes->leaders = nodes->node_of + size;
    nodes->locals = nodes->leaders + size;
    int own = mpi_world.node_of[comm->group->world[comm->rank]];
    for (int i = 0; i < comm->size; i++) {
        int node = mpi_world.node_of[comm->group->world[i]];

        if (!known[node]) {
            nodes->leaders[nodes->count++] = i;
            known[node] = nodes->count;
        }
        nodes->node_of[i] = known[node] - 1;
        if (node != own)
            continue;
        if (i == comm->rank)
            nodes->local_rank = nodes->local_size;
        nodes->locals[nodes->local_size++] = i;
    }
    free(known);
    return nodes;
}

bool team_spans_nodes(const struct team *team)
{
    if (mpi_world.nodes < 2 || team->members || team->size < 3)
        return false;
    if (!team->comm->nodes)
        team->comm->nodes = nodes_make(team->comm);
    return team->comm->nodes->count > 1 && team->comm->nodes->count < team->size;
}

bool team_is_on_node(const struct team *team)
{
    if (mpi_world.nodes == 1)
        return true;
    if (team->members)
        return false;
    if (!team->comm->nodes)
        team->comm->nodes = nodes_make(team->comm);
    return team->comm->nodes->count == 1;
}

bool team_split(struct schedule *schedule, const struct team *team, int root, struct team *local,
                struct team *leaders, int *local_root, int *leaders_root)
{
    const struct mpi_comm_nodes *nodes = team->comm->nodes;
    int own = nodes->node_of[team->rank],
        *chosen = schedule_room(schedule, (size_t)nodes->count * sizeof(int));

    for (int i = 0; i < nodes->count; i++)
        chosen[i] = nodes->leaders[i];
    *leaders_root = root < 0 ? 0 : nodes->node_of[root];
    if (root >= 0)
        chosen[*leaders_root] = root;
    *local = (struct team){ team->comm, nodes->locals, nodes->local_size, nodes->local_rank };
    for (*local_root = 0; nodes->locals[*local_root] != chosen[own];)
        ++*local_root;
    bool leads = chosen[own] == team->rank;
    *leaders = (struct team){ team->comm, chosen, nodes->count, leads ? own : -1 };
    return leads;
}
