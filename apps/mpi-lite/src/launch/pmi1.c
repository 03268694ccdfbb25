/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmi1.c: a rank's side of PMI-1, as MPICH's mpiexec, tacet-mpirun and tacetrun speak it: lines of words
 * NAME=VALUE. service/lib/pmi.h is the other side.
 *
 * Source: PMI-1 as Flux RFC 13 describes it.
 */
#include "launch/pmi_protocol.h"
#include <stdio.h>
#include <string.h>

static char store_name[256];
static char line[PMI_LINE_BYTES]; /* the last answer */

static bool answer_is_good(void)
{
    char result[16];

    word_find(line, "rc", result, sizeof(result));
    return strcmp(result, "0") == 0;
}

static int pmi1_begin(int *rank, int *size)
{
    (void)rank, (void)size; /* the environment has set them */
    int error = line_answered(line, "my_kvsname", "cmd=get_my_kvsname\n");
    if (error)
        return error;
    size_t bytes = word_find(line, "kvsname", store_name, sizeof(store_name));
    if (!bytes || bytes >= sizeof(store_name))
        return mpi_error(MPI_ERR_OTHER, "the launcher answers \"%.80s\"; PMI-1 requires kvsname=NAME", line);
    return MPI_SUCCESS;
}

static int pmi1_put(const char *key, const char *value)
{
    int error =
        line_answered(line, "put_result", "cmd=put kvsname=%s key=%s value=%s\n", store_name, key, value);

    if (!error && !answer_is_good())
        error = mpi_error(MPI_ERR_OTHER, "the launcher refuses to store %s: \"%.80s\"", key, line);
    return error;
}

static int pmi1_barrier(void)
{
    return line_answered(line, "barrier_out", "cmd=barrier_in\n");
}

static int pmi1_get(const char *key, char *value, size_t room)
{
    int error = line_answered(line, "get_result", "cmd=get kvsname=%s key=%s\n", store_name, key);

    if (error)
        return error;
    if (!answer_is_good())
        return mpi_error(MPI_ERR_OTHER, "the launcher has no value for %s", key);
    if (word_find(line, "value", value, room) >= room)
        return mpi_error(MPI_ERR_OTHER, "the launcher's value for %s has more than %zu bytes", key, room - 1);
    return MPI_SUCCESS;
}

static void pmi1_end(void)
{
    /* The process ends normally whatever the launcher answers. */
    (void)line_answered(line, "finalize_ack", "cmd=finalize\n");
}

static void pmi1_abort(int status, const char *why)
{
    char request[64];

    (void)why; /* it is printed on standard error; PMI-1 carries the exit code alone */
    int bytes = snprintf(request, sizeof(request), "cmd=abort exitcode=%d\n", status);
    (void)wire_send(request, (size_t)bytes); /* if the launcher is gone, the job ends without it */
}

const struct pmi_protocol pmi1 = {
    .name = "PMI-1",
    .version = 1,
    .subversion = 1,
    .begin = pmi1_begin,
    .put = pmi1_put,
    .barrier = pmi1_barrier,
    .get = pmi1_get,
    .end = pmi1_end,
    .abort = pmi1_abort,
};
