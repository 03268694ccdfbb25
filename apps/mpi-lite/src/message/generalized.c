/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * generalized.c: generalized requests, which the program itself completes. Each has three functions of the
 * program's: one for its status, called when a call completes it or asks for its status; one for its end,
 * called once; and one for its cancel. They run within the library's lock, which nests: they may call MPI.
 * The call in which they run returns what they return.
 *
 * Source: MPI 3.1 §12.2.
 */
#include "message/message.h"
#include <stdlib.h>

struct generalized {
    MPI_Grequest_query_function *query;
    MPI_Grequest_free_function *free;
    MPI_Grequest_cancel_function *cancel;
    void *state;
};

int generalized_query(struct mpi_request *request)
{
    const struct generalized *generalized = request->generalized;

    return generalized->query ? generalized->query(generalized->state, &request->status) : MPI_SUCCESS;
}

int generalized_end(struct mpi_request *request)
{
    struct generalized *generalized = request->generalized;
    int error = generalized->free ? generalized->free(generalized->state) : MPI_SUCCESS;

    free(generalized);
    request->generalized = NULL;
    return error;
}

int generalized_cancel(struct mpi_request *request)
{
    const struct generalized *generalized = request->generalized;

    return generalized->cancel ? generalized->cancel(generalized->state, request->complete) : MPI_SUCCESS;
}

static int generalized_make(const struct generalized *given, struct mpi_request **request)
{
    struct generalized *generalized = malloc(sizeof(*generalized));

    *request = generalized ? request_make(REQUEST_GENERALIZED, NULL) : MPI_REQUEST_NULL;
    if (!*request) {
        free(generalized);
        return mpi_error(MPI_ERR_NO_MEM, "no memory for a request");
    }
    *generalized = *given;
    (*request)->generalized = generalized;
    status_empty(&(*request)->status, MPI_ANY_SOURCE);
    return MPI_SUCCESS;
}

static int Grequest_start(MPI_Grequest_query_function *query, MPI_Grequest_free_function *free_function,
                          MPI_Grequest_cancel_function *cancel, void *state, MPI_Request *request)
{
    const struct generalized given = { query, free_function, cancel, state };

    return generalized_make(&given, request);
}
MPI_CALL(Grequest_start);

static int Grequest_complete(MPI_Request request)
{
    bool is_null = request == MPI_REQUEST_NULL;
    int error = is_null ? MPI_SUCCESS : check_live(!request->ended, MPI_ERR_REQUEST, "request");

    if (error)
        return error;
    if (is_null || request->kind != REQUEST_GENERALIZED)
        return mpi_error(MPI_ERR_REQUEST, "argument request: %s",
                         is_null ? "MPI_REQUEST_NULL" : "it is not generalized");
    if (request->complete)
        return mpi_error(MPI_ERR_REQUEST, "argument request: it is complete already");
    return request_complete(request);
}
MPI_CALL(Grequest_complete);
