/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * window_memory.c: memory of windows that the ranks of a node share: a file in /dev/shm for each node of the
 * communicator, made by its lowest rank. The others receive its name, which is removed once all have mapped
 * the file. If that fails in MPI_Win_allocate, each rank gets memory of its own.
 *
 * The ranks' parts follow each other without a gap, so that they are one array. They are apart if the program
 * asks for it (alloc_shared_noncontig) or has not asked for shared memory.
 *
 * Runs only in calls that make and free windows. Source: MPI 3.1 §11.2.2, §11.2.3.
 */
#include "window/window.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct window_memory {
    struct mpi_comm *node; /* the ranks that share it */
    unsigned char *whole;  /* or NULL: `own` is this rank's, and no other rank sees it */
    unsigned char *own;
    size_t bytes;
    MPI_Aint *offsets; /* of each rank of `node` */
    int *node_ranks;   /* of each rank of the window: in `node`, or MPI_UNDEFINED */
};

/* What the lowest rank sends the others. */
struct notice {
    int32_t number; /* an errno value */
    char name[120];
};

static void file_make(struct notice *notice, size_t bytes)
{
    static unsigned made;
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(notice->name, sizeof(notice->name), "/dev/shm/tacet-mpi-window-%ld-%lld-%ld-%u", (long)getpid(),
             (long long)now.tv_sec, now.tv_nsec, made++);
    int fd = open(notice->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        notice->number = errno;
        return;
    }
    notice->number = ftruncate(fd, (off_t)bytes) ? errno : posix_fallocate(fd, 0, (off_t)bytes);
    close(fd);
    if (notice->number)
        unlink(notice->name);
}

/* Maps the file. Returns 0 or an errno value. */
static int file_map(struct window_memory *memory, const char *name)
{
    int fd = open(name, O_RDWR | O_CLOEXEC);

    if (fd < 0)
        return errno;
    void *whole = mmap(NULL, memory->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int number = whole == MAP_FAILED ? errno : 0;
    close(fd);
    if (!number)
        memory->whole = whole;
    return number;
}

/* Makes the file and maps it on all ranks of the node, or on none: then *number is the errno value. */
static int file_share(struct window_memory *memory, int *number)
{
    struct notice notice = { 0 };

    if (memory->node->rank == 0)
        file_make(&notice, memory->bytes);
    int error = PMPI_Bcast(&notice, sizeof(notice), MPI_BYTE, 0, memory->node);
    *number = notice.number;
    if (error || *number)
        return error;
    int own = file_map(memory, notice.name);
    error = PMPI_Allreduce(&own, number, 1, MPI_INT, MPI_MAX, memory->node);
    if (memory->node->rank == 0)
        unlink(notice.name);
    if (!error && *number && memory->whole) {
        munmap(memory->whole, memory->bytes);
        memory->whole = NULL;
    }
    return error;
}

/* Computes where each part begins; memory->bytes is the size of all. */
static int parts_place(struct window_memory *memory, MPI_Aint size, bool is_contiguous)
{
    int count = memory->node->size;
    MPI_Aint end = 0;

    memory->offsets = calloc((size_t)count, sizeof(*memory->offsets));
    if (!memory->offsets)
        return mpi_out_of_memory();
    int error = PMPI_Allgather(&size, 1, MPI_AINT, memory->offsets, 1, MPI_AINT, memory->node);
    for (int i = 0; i < count && !error; i++) {
        MPI_Aint bytes = memory->offsets[i];

        if (bytes > INTPTR_MAX - 2 * SEGMENT_ALIGN - end)
            return mpi_error(MPI_ERR_SIZE, "argument size: the parts of %d ranks are too large together",
                             count);
        memory->offsets[i] = end;
        end += is_contiguous ? bytes : (bytes + SEGMENT_ALIGN - 1) & -(MPI_Aint)SEGMENT_ALIGN;
    }
    memory->bytes = end ? (size_t)end : 1;
    return error;
}

static int node_ranks_find(struct window_memory *memory, const struct mpi_comm *comm)
{
    memory->node_ranks = calloc((size_t)comm->size, sizeof(int));
    if (!memory->node_ranks)
        return mpi_out_of_memory();
    for (int i = 0, count = 0; i < comm->size; i++) {
        bool is_here = mpi_world.node_of[comm->group->world[i]] == mpi_world.node;

        memory->node_ranks[i] = is_here ? count++ : MPI_UNDEFINED;
    }
    return MPI_SUCCESS;
}

static int memory_fill(struct window_memory *memory, struct mpi_comm *comm, MPI_Aint size, bool is_contiguous,
                       bool must_share)
{
    int number = 0, error = node_ranks_find(memory, comm);

    if (!error)
        error = comm_split(comm, mpi_world.node, comm->rank, &memory->node);
    if (error)
        return error;
    comm_hide(memory->node);
    error = parts_place(memory, size, is_contiguous);
    if (!error && (must_share || memory->node->size > 1))
        error = file_share(memory, &number);
    if (!error && number && must_share)
        return mpi_error(MPI_ERR_NO_MEM,
                         "shared memory of %zu bytes in /dev/shm: %s; make it larger, or the window smaller",
                         memory->bytes, strerror(number));
    if (error || memory->whole)
        return error;
    if (posix_memalign((void **)&memory->own, SEGMENT_ALIGN, size ? (size_t)size : 1))
        return mpi_error(MPI_ERR_NO_MEM, "argument size: no memory for %lld bytes", (long long)size);
    memset(memory->own, 0, size ? (size_t)size : 1);
    return MPI_SUCCESS;
}

int window_memory_make(struct mpi_comm *comm, MPI_Aint size, bool is_contiguous, bool must_share,
                       struct window_memory **made, unsigned char **base)
{
    struct window_memory *memory = calloc(1, sizeof(*memory));
    int error = memory ? memory_fill(memory, comm, size, is_contiguous, must_share) : mpi_out_of_memory();

    if (error) {
        window_memory_free(memory);
        return error;
    }
    *made = memory;
    *base = memory->whole ? memory->whole + memory->offsets[memory->node->rank] : memory->own;
    return MPI_SUCCESS;
}

unsigned char *window_memory_of(const struct window_memory *memory, const struct mpi_comm *comm, int rank)
{
    int node_rank = memory->node_ranks[rank];

    if (!memory->whole)
        return rank == comm->rank ? memory->own : NULL;
    return node_rank == MPI_UNDEFINED ? NULL : memory->whole + memory->offsets[node_rank];
}

void window_memory_free(struct window_memory *memory)
{
    if (!memory)
        return;
    if (memory->whole)
        munmap(memory->whole, memory->bytes);
    if (memory->node)
        comm_release(memory->node);
    free(memory->own);
    free(memory->offsets);
    free(memory->node_ranks);
    free(memory);
}
