/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nodes.c: how ranks are placed on nodes: as the launcher's PMI_process_mapping says, and without a launcher
 * all on one. Runs only at MPI_Init.
 *
 * "(vector,(first node,nodes,ranks on each),…)": blocks of ranks in order. If they end before the last rank,
 * they start again from the first block.
 *
 * Source: what MPICH's mpiexec and srun put under that key.
 */
#include "launch/launch.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A launcher's numbering of nodes may have gaps, but ends below this. */
#define NODES_MAX     (1 << 20)
#define MAPPING_BYTES (1 << 20)

struct block {
    int first, nodes, each;
};

/* Reads the block at ",(…)". Returns its end, or NULL if there is no valid block. */
static const char *block_read(const char *at, struct block *block)
{
    int bytes = 0;

    if (sscanf(at, ",(%7d,%7d,%8d)%n", &block->first, &block->nodes, &block->each, &bytes) != 3 || !bytes)
        return NULL;
    bool is_good = block->first >= 0 && block->nodes >= 1 && block->each >= 1 &&
                   block->first + block->nodes <= NODES_MAX;
    return is_good ? at + bytes : NULL;
}

static int block_place(const struct block *block, int rank)
{
    for (int node = block->first; node < block->first + block->nodes; node++)
        for (int i = 0; i < block->each && rank < mpi_world.size; i++)
            mpi_world.node_of[rank++] = node;
    return rank;
}

static int mapping_read(const char *text)
{
    struct block block;
    const char *begin = strncmp(text, "(vector,", 8) == 0 ? text + 7 : NULL, *at = begin;

    for (int rank = 0; at && rank < mpi_world.size;) {
        at = block_read(at, &block);
        if (at)
            rank = block_place(&block, rank);
        if (at && strcmp(at, ")") == 0)
            at = begin;
    }
    if (!at)
        return mpi_error(MPI_ERR_OTHER, "PMI_process_mapping=%.80s: it takes (vector,(NODE,NODES,RANKS),…)",
                         text);
    return MPI_SUCCESS;
}

static int mapping_get(void)
{
    char *text = malloc(MAPPING_BYTES);

    if (!text)
        return mpi_error(MPI_ERR_NO_MEM, "no memory for PMI_process_mapping");
    int error = pmi_get("PMI_process_mapping", text, MAPPING_BYTES);
    if (!error)
        error = mapping_read(text);
    free(text);
    return error;
}

/* Gives the nodes numbers in order of their lowest ranks. */
static int nodes_number(void)
{
    int last = 0;

    for (int i = 0; i < mpi_world.size; i++)
        last = mpi_world.node_of[i] > last ? mpi_world.node_of[i] : last;
    int *number_of = calloc((size_t)last + 1, sizeof(int)); /* plus 1 */
    if (!number_of)
        return mpi_error(MPI_ERR_NO_MEM, "no memory for %d nodes", last + 1);
    mpi_world.nodes = 0;
    for (int i = 0; i < mpi_world.size; i++) {
        int *number = &number_of[mpi_world.node_of[i]];

        if (!*number)
            *number = ++mpi_world.nodes;
        mpi_world.node_of[i] = *number - 1;
    }
    free(number_of);
    return MPI_SUCCESS;
}

static void own_find(void)
{
    mpi_world.node = mpi_world.node_of[mpi_world.rank];
    mpi_world.node_size = mpi_world.node_rank = 0;
    for (int i = 0; i < mpi_world.size; i++) {
        if (mpi_world.node_of[i] != mpi_world.node)
            continue;
        if (i < mpi_world.rank)
            mpi_world.node_rank++;
        mpi_world.node_size++;
    }
}

int nodes_begin(void)
{
    mpi_world.node_of = calloc((size_t)mpi_world.size, sizeof(int));
    if (!mpi_world.node_of)
        return mpi_error(MPI_ERR_NO_MEM, "no memory for %d ranks", mpi_world.size);
    int error = pmi_is_used() && mpi_world.size > 1 ? mapping_get() : MPI_SUCCESS;
    if (!error)
        error = nodes_number();
    if (!error)
        own_find();
    return error;
}
