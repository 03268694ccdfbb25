/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmi.c: finds out how this process was started, and talks to its launcher. The environment says which
 * protocol:
 *
 *   PMI_FD and PMI_JOBID          PMI-2 over a connection that is open: srun --mpi=pmi2
 *   PMI_FD                        PMI-1: tacetrun, tacet-mpirun, MPICH's mpiexec; with PMI_RANK and
 *                                 PMI_SIZE
 *   TACET_SIZE                    none: ranks that a Tacet node has started without a launcher
 *   none of these                 a world of one, unless a launcher has started several that cannot meet
 *
 * Blocks until the launcher has answered; runs at MPI_Init, MPI_Finalize and MPI_Abort, and before the first
 * message to a rank of another node, under the lock.
 *
 * Source: what srun 22.05, MPICH 4 and Open MPI 4 set; PMI-1 as Flux RFC 13 describes it.
 */
#include "launch/launch.h"
#include "launch/pmi_protocol.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <tacet.h>
#include <unistd.h>

#define END_S 2 /* time in which a launcher hears of a rank's end */

static const struct pmi_protocol *protocol = &pmi1; /* meaningful only if connected */

/* Reads a number from an environment variable. Returns an error that names it if there is none. */
static int variable_read(const char *name, int *number)
{
    const char *text = getenv(name);

    if (!text || !number_read(text, number))
        return mpi_error(MPI_ERR_OTHER, "%s=%.40s: the launcher sets it to a number from 0 on", name,
                         text ? text : "(not set)");
    return MPI_SUCCESS;
}

/* ---- No launcher ---- */

static bool is_tied;

bool pmi_is_tied(void)
{
    return is_tied;
}

/* Has the Tacet node end all ranks if this one ends before node_end. */
static void node_tie(void)
{
    const int left = prctl(PR_TACET_TIE, 1, 0, 0, 0);

    is_tied = left >= 0;
    if (left > 0)
        mpi_abort(left - 1, "another rank has ended with status %d, without MPI_Init", left - 1);
}

static void node_end(void)
{
    if (is_tied)
        prctl(PR_TACET_TIE, 0, 0, 0, 0);
    is_tied = false;
}

/* Begins a rank that a Tacet node has started without a launcher, on its CPUs. */
static int node_begin(int *rank, int *size)
{
    int error = variable_read("TACET_RANK", rank);

    if (!error)
        error = variable_read("TACET_SIZE", size);
    if (!error && (*size < 1 || *rank >= *size))
        error = mpi_error(MPI_ERR_OTHER,
                          "rank %d (TACET_RANK) of %d (TACET_SIZE): ranks go from 0 to TACET_SIZE - 1", *rank,
                          *size);
    if (!error && *size > 1)
        node_tie();
    return error;
}

/* Begins a world of one. Returns an error if a launcher has started several processes, each of which would be
 * a world of its own. */
static int lone_begin(void)
{
    const char *open_mpi = getenv("OMPI_COMM_WORLD_SIZE"), *slurm = getenv("SLURM_STEP_NUM_TASKS");

    if (open_mpi ? strcmp(open_mpi, "1") != 0 : !slurm && getenv("PMIX_NAMESPACE"))
        return mpi_error(MPI_ERR_OTHER,
                         "%s: started by Open MPI's mpirun or another launcher that speaks PMIx, which this "
                         "library does not support: use tacet-mpirun, MPICH's mpiexec, or srun --mpi=pmi2",
                         open_mpi ? "OMPI_COMM_WORLD_SIZE" : "PMIX_NAMESPACE");
    if (getenv("PMI_PORT"))
        return mpi_error(MPI_ERR_OTHER, "PMI_PORT=%.80s: a launcher must pass PMI's connection as PMI_FD",
                         getenv("PMI_PORT"));
    if (!open_mpi && slurm && strcmp(slurm, "1") != 0)
        return mpi_error(MPI_ERR_OTHER,
                         "SLURM_STEP_NUM_TASKS=%.20s: srun has started several tasks without PMI-2, so "
                         "they cannot find each other: use srun --mpi=pmi2, or unset the variable to "
                         "run each task as a world of one",
                         slurm);
    return MPI_SUCCESS;
}

/* ---- A launcher ---- */

static int handle_begin(int *rank, int *size)
{
    int fd = -1;
    int error = variable_read("PMI_FD", &fd);

    if (!error)
        error = variable_read("PMI_RANK", rank);
    if (!error)
        error = variable_read("PMI_SIZE", size);
    if (!error && fcntl(fd, F_GETFD) < 0)
        error = mpi_error(MPI_ERR_OTHER,
                          "PMI_FD=%d is not open here: a program between the launcher and this one has "
                          "closed it, and must pass it on",
                          fd);
    if (!error)
        wire_fd = fd;
    return error;
}

static int rank_check(int rank, int size)
{
    if (size < 1 || rank < 0 || rank >= size)
        return mpi_error(
            MPI_ERR_OTHER,
            "the launcher says rank %d (PMI_RANK) of %d (PMI_SIZE): ranks go from 0 to PMI_SIZE - 1", rank,
            size);
    return MPI_SUCCESS;
}

/* Exchanges the init lines, with which both protocols begin. */
static int version_agree(void)
{
    char line[PMI_LINE_BYTES], result[16], version[16];
    const char *job = getenv("PMI_JOBID");
    int number = -1;
    int error = line_answered(line, "response_to_init", "cmd=init pmi_version=%d pmi_subversion=%d\n",
                              protocol->version, protocol->subversion);

    if (error)
        return error;
    word_find(line, "rc", result, sizeof(result));
    word_find(line, "pmi_version", version, sizeof(version));
    if (strcmp(result, "0") == 0 && number_read(version, &number) && number == protocol->version)
        return MPI_SUCCESS;
    return mpi_error(MPI_ERR_OTHER, "the launcher does not speak %s, which %s: it answers \"%.80s\"",
                     protocol->name, job ? "PMI_JOBID selects (unset it for PMI-1)" : "PMI_FD selects", line);
}

bool pmi_is_used(void)
{
    return wire_fd >= 0;
}

/* Makes the launcher end the other ranks, for mpi_abort. */
static void job_end(int status, const char *why)
{
    if (pmi_is_used())
        protocol->abort(status, why);
}

int pmi_begin(int *rank, int *size)
{
    *rank = 0;
    *size = 1;
    if (!getenv("PMI_FD"))
        return getenv("TACET_SIZE") ? node_begin(rank, size) : lone_begin();
    mpi_others_end = job_end;
    protocol = getenv("PMI_JOBID") ? &pmi2 : &pmi1;
    int error = handle_begin(rank, size);
    if (!error)
        error = rank_check(*rank, *size);
    if (!error)
        error = version_agree();
    if (!error)
        error = protocol->begin(rank, size);
    return error ? error : rank_check(*rank, *size);
}

int pmi_put(const char *key, const char *value)
{
    return pmi_is_used() ? protocol->put(key, value) : MPI_SUCCESS;
}

int pmi_barrier(void)
{
    return pmi_is_used() ? protocol->barrier() : MPI_SUCCESS;
}

int pmi_get(const char *key, char *value, size_t bytes)
{
    if (!pmi_is_used())
        return mpi_error(MPI_ERR_OTHER, "no launcher has started this process, so there is no value for %s",
                         key);
    return protocol->get(key, value, bytes);
}

void pmi_end(void)
{
    node_end();
    if (!pmi_is_used())
        return;
    protocol->end();
    wire_close();
}

void pmi_end_await(void)
{
    sleep(END_S);
}

/* ---- The address ---- */

static bool is_usable(struct in_addr address)
{
    return (ntohl(address.s_addr) >> 24) != 127 && address.s_addr != htonl(INADDR_ANY);
}

/* Finds the address from which this machine reaches another; sends no packet. */
static bool address_towards(const char *other, struct in_addr *address)
{
    struct sockaddr_in there = { .sin_family = AF_INET, .sin_port = htons(9) }, here = { 0 };
    socklen_t bytes = sizeof(here);

    if (!other || inet_pton(AF_INET, other, &there.sin_addr) != 1)
        return false;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool found = fd >= 0 && !connect(fd, (struct sockaddr *)&there, sizeof(there)) &&
                 !getsockname(fd, (struct sockaddr *)&here, &bytes) && is_usable(here.sin_addr);
    if (fd >= 0)
        close(fd);
    *address = here.sin_addr;
    return found;
}

static bool address_of_interface(struct in_addr *address)
{
    struct ifaddrs *all = NULL;
    bool found = false;

    if (getifaddrs(&all))
        return false;
    for (struct ifaddrs *at = all; at && !found; at = at->ifa_next) {
        if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET || !(at->ifa_flags & IFF_UP))
            continue;
        *address = ((struct sockaddr_in *)(void *)at->ifa_addr)->sin_addr;
        found = is_usable(*address);
    }
    freeifaddrs(all);
    return found;
}

/* Uses the first of these that there is: TACET_MPI_ADDRESS; the address from which this process reaches the
 * launcher or, if that is no network connection, the machine that srun runs on; the address of a network
 * interface; the loopback address. */
int pmi_local_address(char *text, size_t bytes)
{
    const char *given = getenv("TACET_MPI_ADDRESS");
    struct sockaddr_in own = { .sin_family = AF_UNSPEC };
    socklen_t own_bytes = sizeof(own);

    if (given && inet_pton(AF_INET, given, &own.sin_addr) != 1)
        return mpi_error(MPI_ERR_OTHER, "TACET_MPI_ADDRESS=%.40s: it takes an IPv4 address of this node's",
                         given);
    bool is_known = given || (!getsockname(wire_fd, (struct sockaddr *)&own, &own_bytes) &&
                              own_bytes >= sizeof(own) && own.sin_family == AF_INET);
    if (!is_known && !address_towards(getenv("SLURM_LAUNCH_NODE_IPADDR"), &own.sin_addr) &&
        !address_of_interface(&own.sin_addr))
        own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    inet_ntop(AF_INET, &own.sin_addr, text, (socklen_t)bytes);
    return MPI_SUCCESS;
}
