/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fortran_calls.c: Fortran's names of functions whose arguments need more than their types say: arrays of
 * requests, statuses and types, indices that count from 1, and MPI-1's names, whose addresses are INTEGERs.
 * fortran.py makes the others.
 *
 * Source: MPI 3.1 §17.1 (Fortran), §17.2.4-17.2.5 (handles, status); MPI 1.3 for the names that MPI 3
 * removed.
 */
#include "fortran/fortran_wrapper.h"

/* Aligned at least as gfortran aligns a common block: the linker takes the greater alignment. */
#define COMMON_BLOCK _Alignas(32)
COMMON_BLOCK MPI_Fint mpi_lite_bottom_[1];
COMMON_BLOCK MPI_Fint mpi_lite_in_place_[1];
COMMON_BLOCK MPI_Fint mpi_lite_status_ignore_[6];
COMMON_BLOCK MPI_Fint mpi_lite_statuses_ignore_[6];
COMMON_BLOCK MPI_Fint mpi_lite_errcodes_ignore_[1];
COMMON_BLOCK MPI_Fint mpi_lite_unweighted_[1];
COMMON_BLOCK MPI_Fint mpi_lite_weights_empty_[1];
COMMON_BLOCK char mpi_lite_argv_null_[1];
COMMON_BLOCK char mpi_lite_argvs_null_[1];

/* ---- Begin and end ---- */

void pmpi_init_(MPI_Fint *ierror)
{
    *ierror = PMPI_Init(NULL, NULL);
}
FORTRAN_ALIAS(init);

void pmpi_init_thread_(const MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierror)
{
    *ierror = PMPI_Init_thread(NULL, NULL, *required, provided);
}
FORTRAN_ALIAS(init_thread);

/* Ends the job, whatever the communicator is. */
void pmpi_abort_(const MPI_Fint *comm, const MPI_Fint *errorcode, MPI_Fint *ierror)
{
    *ierror = PMPI_Abort(PMPI_Comm_f2c(*comm), *errorcode);
}
FORTRAN_ALIAS(abort);

void pmpi_pcontrol_(const MPI_Fint *level)
{
    PMPI_Pcontrol(*level);
}
FORTRAN_ALIAS(pcontrol);

/* Detaches the buffer. Returns no address, because a program in Fortran has its buffer. */
void pmpi_buffer_detach_(void *buffer, MPI_Fint *size, MPI_Fint *ierror)
{
    void *address;

    (void)buffer;
    *ierror = PMPI_Buffer_detach(&address, size);
}
FORTRAN_ALIAS(buffer_detach);

void pmpi_get_address_(void *location, MPI_Aint *address, MPI_Fint *ierror)
{
    *ierror = PMPI_Get_address(buffer_of(location), address);
}
FORTRAN_ALIAS(get_address);

/* ---- Requests ---- */

#define FEW 32

/* Requests and statuses in C for a call's arrays of `count` elements. */
struct several {
    MPI_Request few_requests[FEW], *requests;
    MPI_Status few_statuses[FEW], *statuses;
};

static void several_end(struct several *several)
{
    if (several->requests != several->few_requests)
        free(several->requests);
    if (several->statuses != several->few_statuses)
        free(several->statuses);
}

/* Converts the arrays of a call. A negative count is passed on to the call, which refuses it. */
static void several_begin(struct call *call, struct several *several, int count, const MPI_Fint *numbers,
                          const MPI_Fint *statuses)
{
    size_t room = count > 0 ? (size_t)count : 0;

    several->requests = room > FEW ? malloc(room * sizeof(MPI_Request)) : several->few_requests;
    several->statuses = statuses && room > FEW ? calloc(room, sizeof(MPI_Status)) : several->few_statuses;
    if (!several->requests || !several->statuses)
        call->error = mpi_lite_fortran_refuse(call->name, MPI_ERR_NO_MEM, "no memory for requests");
    for (size_t i = 0; i < room && !call->error; i++)
        several->requests[i] = handle_in(call, FORTRAN_REQUEST, "requests", numbers[i]);
    if (statuses && is_ignored(statuses)) {
        if (several->statuses != several->few_statuses)
            free(several->statuses);
        several->statuses = MPI_STATUSES_IGNORE;
    } else if (statuses && several->statuses && !call->error && room) {
        memcpy(several->statuses, statuses, room * sizeof(MPI_Status));
    }
}

static void requests_out(const struct several *several, int count, MPI_Fint *numbers)
{
    for (int i = 0; i < count; i++)
        handle_updated(FORTRAN_REQUEST, several->requests[i], &numbers[i]);
}

static void statuses_out(const struct several *several, int count, MPI_Fint *statuses)
{
    if (count > 0 && several->statuses != MPI_STATUSES_IGNORE)
        memcpy(statuses, several->statuses, (size_t)count * sizeof(MPI_Status));
}

void pmpi_waitall_(const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *statuses, MPI_Fint *ierror)
{
    struct call call = { "MPI_Waitall", MPI_SUCCESS };
    struct several all;

    several_begin(&call, &all, *count, requests, statuses);
    if (!call.error) {
        call.error = PMPI_Waitall(*count, all.requests, all.statuses);
        requests_out(&all, *count, requests);
        statuses_out(&all, *count, statuses);
    }
    several_end(&all);
    *ierror = call.error;
}
FORTRAN_ALIAS(waitall);

void pmpi_testall_(const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *flag, MPI_Fint *statuses,
                   MPI_Fint *ierror)
{
    struct call call = { "MPI_Testall", MPI_SUCCESS };
    struct several all;

    several_begin(&call, &all, *count, requests, statuses);
    if (!call.error) {
        call.error = PMPI_Testall(*count, all.requests, flag, all.statuses);
        requests_out(&all, *count, requests);
        statuses_out(&all, *count, statuses);
    }
    several_end(&all);
    *ierror = call.error;
}
FORTRAN_ALIAS(testall);

void pmpi_waitany_(const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *index, MPI_Fint *status,
                   MPI_Fint *ierror)
{
    struct call call = { "MPI_Waitany", MPI_SUCCESS };
    MPI_Status room, *c_status = status_in(status, &room);
    struct several all;
    int found = MPI_UNDEFINED;

    several_begin(&call, &all, *count, requests, NULL);
    if (!call.error) {
        call.error = PMPI_Waitany(*count, all.requests, &found, c_status);
        requests_out(&all, *count, requests);
        status_out(c_status, status);
        *index = found == MPI_UNDEFINED ? found : found + 1;
    }
    several_end(&all);
    *ierror = call.error;
}
FORTRAN_ALIAS(waitany);

void pmpi_testany_(const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *index, MPI_Fint *flag,
                   MPI_Fint *status, MPI_Fint *ierror)
{
    struct call call = { "MPI_Testany", MPI_SUCCESS };
    MPI_Status room, *c_status = status_in(status, &room);
    struct several all;
    int found = MPI_UNDEFINED;

    several_begin(&call, &all, *count, requests, NULL);
    if (!call.error) {
        call.error = PMPI_Testany(*count, all.requests, &found, flag, c_status);
        requests_out(&all, *count, requests);
        status_out(c_status, status);
        *index = found == MPI_UNDEFINED ? found : found + 1;
    }
    several_end(&all);
    *ierror = call.error;
}
FORTRAN_ALIAS(testany);

typedef int some_call(int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]);

static void some(const char *name, some_call *function, int count, MPI_Fint *requests, MPI_Fint *done,
                 MPI_Fint *indices, MPI_Fint *statuses, MPI_Fint *ierror)
{
    struct call call = { name, MPI_SUCCESS };
    struct several all;

    several_begin(&call, &all, count, requests, statuses);
    if (!call.error) {
        *done = 0;
        call.error = function(count, all.requests, done, indices, all.statuses);
        requests_out(&all, count, requests);
        if (*done != MPI_UNDEFINED)
            statuses_out(&all, *done, statuses);
        for (int i = 0; *done != MPI_UNDEFINED && i < *done; i++)
            indices[i]++;
    }
    several_end(&all);
    *ierror = call.error;
}

void pmpi_waitsome_(const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *done, MPI_Fint *indices,
                    MPI_Fint *statuses, MPI_Fint *ierror)
{
    some("MPI_Waitsome", PMPI_Waitsome, *count, requests, done, indices, statuses, ierror);
}
FORTRAN_ALIAS(waitsome);

void pmpi_testsome_(const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *done, MPI_Fint *indices,
                    MPI_Fint *statuses, MPI_Fint *ierror)
{
    some("MPI_Testsome", PMPI_Testsome, *count, requests, done, indices, statuses, ierror);
}
FORTRAN_ALIAS(testsome);

void pmpi_startall_(const MPI_Fint *count, MPI_Fint *requests, MPI_Fint *ierror)
{
    struct call call = { "MPI_Startall", MPI_SUCCESS };
    struct several all;

    several_begin(&call, &all, *count, requests, NULL);
    if (!call.error)
        call.error = PMPI_Startall(*count, all.requests);
    several_end(&all);
    *ierror = call.error;
}
FORTRAN_ALIAS(startall);
