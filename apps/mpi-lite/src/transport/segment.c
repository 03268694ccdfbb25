/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * segment.c: the memory that the ranks of a node share: a file in /dev/shm, made by the first of them, whose
 * name goes through PMI and is removed once all have mapped it.
 *
 * Ranks that a Tacet node has started without a launcher (TACET_RANK and TACET_SIZE give their rank and
 * number) use a file with a fixed name, which appears there only when it is complete. No other process uses
 * that /dev/shm, and it is empty when they start.
 *
 * Runs only at MPI_Init and MPI_Finalize.
 */
#include "launch/launch.h"
#include "transport/transport.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define FIXED_NAME "/dev/shm/tacet-mpi"

/* At the begin of the segment. */
struct heading {
    _Alignas(SEGMENT_ALIGN) uint32_t arrived, met;
};

static struct heading *heading;
static size_t whole_bytes;
static char name[128];

static int failed(const char *what, int number)
{
    return mpi_error(MPI_ERR_NO_MEM,
                     "shared memory of %zu bytes, %s: %s: %s; make /dev/shm larger, or start fewer "
                     "ranks on a node",
                     whole_bytes, name, what, strerror(number));
}

static int segment_map(int fd)
{
    void *memory = mmap(NULL, whole_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int number = errno;

    close(fd);
    if (memory == MAP_FAILED)
        return failed("mmap", number);
    heading = memory;
    return MPI_SUCCESS;
}

/* Creates a file of zeroed memory and allocates all of it: a rank that writes to it later is not killed for
 * lack of memory. */
static int segment_create(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0)
        return failed("open", errno);
    int number = ftruncate(fd, (off_t)whole_bytes) ? errno : posix_fallocate(fd, 0, (off_t)whole_bytes);
    if (number) {
        unlink(path);
        close(fd);
        return failed("allocate", number);
    }
    return segment_map(fd);
}

static int segment_join(void)
{
    int fd = open(name, O_RDWR | O_CLOEXEC);

    return fd < 0 ? failed("open", errno) : segment_map(fd);
}

static int open_by_launcher(void)
{
    char key[64];
    struct timespec now;
    int error;

    snprintf(key, sizeof(key), "tacet-mpi-segment-%d", mpi_world.node);
    if (mpi_world.node_rank) {
        error = pmi_barrier();
        if (!error)
            error = pmi_get(key, name, sizeof(name));
        return error ? error : segment_join();
    }
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(name, sizeof(name), "%s-%ld-%lld-%ld", FIXED_NAME, (long)getpid(), (long long)now.tv_sec,
             now.tv_nsec);
    error = segment_create(name);
    if (!error)
        error = pmi_put(key, name);
    return error ? error : pmi_barrier();
}

static int open_alone(void)
{
    static const char unfinished[] = FIXED_NAME ".unfinished";
    const struct timespec pause = { 0, 100000 };

    snprintf(name, sizeof(name), "%s", FIXED_NAME);
    if (mpi_world.node_rank == 0) {
        int error = segment_create(unfinished);

        if (!error && rename(unfinished, name))
            error = failed("rename", errno);
        return error;
    }
    while (access(name, F_OK) && errno == ENOENT)
        nanosleep(&pause, NULL); /* the first rank makes it, or ends the job if that fails */
    return segment_join();
}

int segment_begin(size_t bytes, void **memory)
{
    whole_bytes = sizeof(struct heading) + bytes;
    int error = pmi_is_used() ? open_by_launcher() : open_alone();
    if (!error)
        *memory = heading + 1;
    return error;
}

/* Returns once all ranks have called it; they yield their CPUs while they wait. The last one to arrive
 * releases the others. */
void segment_meet(void)
{
    uint32_t met = __atomic_load_n(&heading->met, __ATOMIC_ACQUIRE);

    if (__atomic_add_fetch(&heading->arrived, 1, __ATOMIC_ACQ_REL) == (uint32_t)mpi_world.node_size) {
        __atomic_store_n(&heading->arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&heading->met, met + 1, __ATOMIC_RELEASE);
    }
    while (__atomic_load_n(&heading->met, __ATOMIC_ACQUIRE) == met)
        sched_yield();
}

void segment_unlink(void)
{
    if (mpi_world.node_rank == 0)
        unlink(name);
}

void segment_end(void)
{
    if (heading)
        munmap(heading, whole_bytes);
    heading = NULL;
}
