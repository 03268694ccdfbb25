/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tcp_begin.c: see tcp_begin.h. Runs under the library's lock.
 */
#include "transport/tcp_begin.h"
#include "launch/launch.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>

#define FDS_OWN 16 /* of the program, of the launcher, and for watching */

int tcp_secret_agree(uint64_t *secret)
{
    char text[32];
    int error = MPI_SUCCESS;

    if (mpi_world.rank == 0) {
        if (getrandom(secret, sizeof(*secret), 0) != (ssize_t)sizeof(*secret))
            return mpi_error(MPI_ERR_OTHER, "no random number for the job's secret: %s", strerror(errno));
        snprintf(text, sizeof(text), "%016llx", (unsigned long long)*secret);
        error = pmi_put("tacet-mpi-secret", text);
    }
    if (!error)
        error = pmi_barrier();
    if (!error && mpi_world.rank)
        error = pmi_get("tacet-mpi-secret", text, sizeof(text));
    if (!error && mpi_world.rank)
        *secret = strtoull(text, NULL, 16);
    return error;
}

int tcp_address_of(int rank, struct sockaddr_in *address)
{
    char key[64], text[64], *colon;

    snprintf(key, sizeof(key), "tacet-mpi-address-%d", rank);
    int error = pmi_get(key, text, sizeof(text));
    if (error)
        return error;
    *address = (struct sockaddr_in){ .sin_family = AF_INET };
    colon = strchr(text, ':');
    if (colon)
        *colon = '\0';
    if (!colon || inet_pton(AF_INET, text, &address->sin_addr) != 1)
        return mpi_error(MPI_ERR_OTHER, "the launcher has %s=\"%.40s\", which is not ADDRESS:PORT", key,
                         text);
    address->sin_port = htons((uint16_t)atoi(colon + 1));
    return MPI_SUCCESS;
}

void tcp_descriptors_raise(int remote)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit))
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit); /* if this fails, connections retire earlier */
    getrlimit(RLIMIT_NOFILE, &limit);
    if (mpi_world.rank == 0 && limit.rlim_cur < (rlim_t)remote + FDS_OWN)
        fprintf(stderr,
                "mpi-lite: a rank may open %llu files (RLIMIT_NOFILE), and needs %d for %d ranks of other "
                "nodes: it will close and open connections again; raise the hard limit (ulimit -Hn)\n",
                (unsigned long long)limit.rlim_cur, remote + FDS_OWN, remote);
}
