/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * init.c: the world's beginning and end, and these environment variables:
 *
 *   TACET_MPI_EAGER=BYTES  messages of at most this many bytes go eagerly (a transport's fragment limits it)
 *
 *   TACET_MPI_SPIN_US=US   waits block after this time, even if no CPU is shared
 *
 *   TACET_MPI_DEBUG=1      MPI_Finalize reports what was not freed
 *
 *   TACET_MPI_PEER_READ=0  large messages are not copied from memory to memory (peer_copy.c)
 *
 * Source: MPI 3.1 §8.7 (startup), §12.4 (MPI and threads).
 */
#include "collective/collective.h"
#include "launch/launch.h"
#include "window/window.h"
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EAGER_USUAL UINT64_MAX /* the transport's own limit */
#define SPIN_US     20

static pthread_t main_thread;

/* ---- The beginning ---- */

static int variable_number(const char *name, uint64_t max, uint64_t usual, uint64_t *value)
{
    const char *text = getenv(name);
    char *end = NULL;

    *value = usual;
    if (!text)
        return MPI_SUCCESS;
    unsigned long long number = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || number > max)
        return mpi_error(MPI_ERR_OTHER, "%s=%.40s: it takes a number from 0 to %llu", name, text,
                         (unsigned long long)max);
    *value = number;
    return MPI_SUCCESS;
}

static int variables_read(void)
{
    uint64_t eager, spin_us, debug, reads_peers;
    int error = variable_number("TACET_MPI_EAGER", 1 << 30, EAGER_USUAL, &eager);

    if (!error)
        error = variable_number("TACET_MPI_SPIN_US", 1000000000, SPIN_US, &spin_us);
    if (!error)
        error = variable_number("TACET_MPI_DEBUG", 1, 0, &debug);
    if (!error)
        error = variable_number("TACET_MPI_PEER_READ", 1, 1, &reads_peers);
    const char *address = getenv("TACET_MPI_ADDRESS");
    if (!error && address && inet_pton(AF_INET, address, &(struct in_addr){ 0 }) != 1)
        error = mpi_error(MPI_ERR_OTHER, "TACET_MPI_ADDRESS=%.40s: it takes an IPv4 address", address);
    if (error)
        return error;
    mpi_world.reads_peers = reads_peers != 0;
    mpi_world.eager_bytes = (size_t)eager;
    mpi_world.spin_ns = spin_us * 1000;
    mpi_world.crowded = getenv("TACET_MPI_SPIN_US") != NULL;
    mpi_world.debug = debug != 0;
    return MPI_SUCCESS;
}

static int world_begin(void)
{
    int error = variables_read();

    if (!error)
        error = collective_begin();
    if (!error)
        error = pmi_begin(&mpi_world.rank, &mpi_world.size);
    if (error)
        return error;
    error = nodes_begin();
    if (error)
        return error;
    if (!match_begin())
        return mpi_error(MPI_ERR_NO_MEM, "no memory for messages that come early");
    window_begin();
    error = transport_tcp.begin(&message_receiver);
    if (!error)
        error = transport_shared.begin(&message_receiver);
    if (!error)
        comm_world_begin();
    return error;
}

int PMPI_Init_thread(int *count, char ***arguments, int required, int *provided)
{
    (void)count, (void)arguments; /* the launcher passes nothing in them */
    if (mpi_world.initialized)
        return mpi_return(NULL, "MPI_Init_thread", mpi_error(MPI_ERR_OTHER, "MPI is initialized already"));
    if (!provided)
        return mpi_return(NULL, "MPI_Init_thread", check_output(provided, "provided"));
    if (required < MPI_THREAD_SINGLE || required > MPI_THREAD_MULTIPLE)
        required = MPI_THREAD_MULTIPLE;
    mpi_world.thread_level = required;
    int error = world_begin();
    if (!error) {
        mpi_world.initialized = true;
        main_thread = pthread_self();
        *provided = required;
    }
    return mpi_return(NULL, "MPI_Init", error);
}
MPI_ALIAS(Init_thread);

int PMPI_Init(int *count, char ***arguments)
{
    int provided;

    return PMPI_Init_thread(count, arguments, MPI_THREAD_SINGLE, &provided);
}
MPI_ALIAS(Init);

/* ---- The end ---- */

static void leak_name(int count, const char *one, const char *several, const char *how)
{
    if (count)
        fprintf(stderr, "mpi-lite: rank %d: %d %s not %s\n", mpi_world.rank, count,
                count == 1 ? one : several, how);
}

static void leaks_name(void)
{
    leak_name(request_live_count(), "request was", "requests were", "completed or freed");
    leak_name(comm_live_count(), "communicator was", "communicators were", "freed");
    leak_name(window_live_count(), "window was", "windows were", "freed");
    leak_name(match_unexpected_count(), "message was", "messages were", "received");
    leak_name(mpi_live[LIVE_TYPE], "data type was", "data types were", "freed");
    leak_name(mpi_live[LIVE_OPERATION], "operation was", "operations were", "freed");
    leak_name(mpi_live[LIVE_GROUP], "group was", "groups were", "freed");
    leak_name(mpi_live[LIVE_INFO], "info object was", "info objects were", "freed");
}

/* Waits until everything has arrived that other ranks sent before their MPI_Finalize. Each rank sends a byte
 * to each other, because the messages between two ranks arrive in order. A barrier is not enough: its
 * messages go between other pairs, or there are none. */
static int sent_messages_await(void)
{
    int size = mpi_world.size;
    int *counts = malloc(2 * (size_t)size * sizeof(*counts)), *places = counts + size;
    char *bytes = calloc(2, (size_t)size);
    int error = MPI_SUCCESS;

    if (counts && bytes) {
        for (int i = 0; i < size; i++) {
            counts[i] = 1;
            places[i] = i;
        }
        error = PMPI_Alltoallv(bytes, counts, places, MPI_CHAR, bytes + size, counts, places, MPI_CHAR,
                               MPI_COMM_WORLD);
    } else {
        error = mpi_error(MPI_ERR_NO_MEM, "no memory for a byte of each rank");
    }
    free(counts);
    free(bytes);
    return error;
}

int PMPI_Finalize(void)
{
    mpi_enter();
    int error = check_comm(MPI_COMM_WORLD);
    if (!error)
        error = comm_self_finalize();
    if (!error) {
        progress_wait(outputs_are_empty, NULL);
        if (mpi_world.debug)
            error = sent_messages_await();
    }
    if (!error) {
        error = PMPI_Barrier(MPI_COMM_WORLD);
        progress_wait(outputs_are_empty, NULL);
    }
    if (!error && mpi_world.debug)
        leaks_name();
    error = mpi_return(NULL, "MPI_Finalize", error);
    mpi_leave();
    if (error)
        return error;
    mpi_world.finalized = true;
    mpi_world.thread_level = MPI_THREAD_SINGLE;
    transport_shared.end();
    transport_tcp.end();
    match_end();
    pmi_end();
    comm_world_end();
    free(mpi_world.node_of);
    mpi_world.node_of = NULL;
    return MPI_SUCCESS;
}
MPI_ALIAS(Finalize);

int PMPI_Initialized(int *flag)
{
    int error = check_output(flag, "flag");

    if (!error)
        *flag = mpi_world.initialized;
    return mpi_return(NULL, "MPI_Initialized", error);
}
MPI_ALIAS(Initialized);

int PMPI_Finalized(int *flag)
{
    int error = check_output(flag, "flag");

    if (!error)
        *flag = mpi_world.finalized;
    return mpi_return(NULL, "MPI_Finalized", error);
}
MPI_ALIAS(Finalized);

int PMPI_Query_thread(int *provided)
{
    int error = check_output(provided, "provided");

    if (!error)
        *provided = mpi_world.thread_level;
    return mpi_return(NULL, "MPI_Query_thread", error);
}
MPI_ALIAS(Query_thread);

int PMPI_Is_thread_main(int *flag)
{
    int error = check_output(flag, "flag");

    if (!error)
        *flag = pthread_equal(main_thread, pthread_self()) != 0;
    return mpi_return(NULL, "MPI_Is_thread_main", error);
}
MPI_ALIAS(Is_thread_main);

int PMPI_Abort(MPI_Comm comm, int code)
{
    (void)comm; /* the whole job ends, whichever communicator it is */
    mpi_abort(code, "MPI_Abort with exit code %d", code);
}
MPI_ALIAS(Abort);
