/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * buffered.c: the buffer of MPI_Bsend. A buffered message is copied to memory of the library's own
 * (message.c); the size of the attached buffer only limits how much may be under way. Runs under the
 * library's lock.
 *
 * Source: MPI 3.1 §3.6.
 */
#include "message/message.h"
#include <string.h>

static void *attached;
static size_t attached_bytes, attached_used;

int buffered_take(size_t bytes)
{
    size_t bytes_taken = bytes + MPI_BSEND_OVERHEAD;

    if (bytes_taken > attached_bytes - attached_used)
        progress_poll();
    if (bytes_taken > attached_bytes - attached_used)
        return mpi_error(MPI_ERR_BUFFER,
                         "the attached buffer has %zu of %zu bytes free, and the message takes %zu",
                         attached_bytes - attached_used, attached_bytes, bytes_taken);
    attached_used += bytes_taken;
    return MPI_SUCCESS;
}

void buffered_give(size_t bytes)
{
    attached_used -= bytes;
}

static int Buffer_attach(void *buffer, int size)
{
    if (attached || size < 0)
        return mpi_error(MPI_ERR_BUFFER,
                         attached ? "a buffer is attached already" : "argument 2, size: %d is negative",
                         size);
    attached = buffer;
    attached_bytes = (size_t)size;
    return MPI_SUCCESS;
}
MPI_CALL(Buffer_attach);

static bool buffer_is_unused(void *argument)
{
    (void)argument;
    return attached_used == 0;
}

static int Buffer_detach(void *buffer, int *size)
{
    progress_wait(buffer_is_unused, NULL);
    memcpy(buffer, &attached, sizeof(attached));
    *size = (int)attached_bytes;
    attached = NULL;
    attached_bytes = 0;
    return MPI_SUCCESS;
}
MPI_CALL(Buffer_detach);
