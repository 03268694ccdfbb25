/* SPDX-License-Identifier: BSD-2-Clause */
/* object.c: the end of objects that programs have handles of. */
#include "mpi_internal.h"
#include <stdlib.h>
#include <string.h>

#define ENDED_KEPT 64

static void *ended[ENDED_KEPT];
static unsigned ended_next;

void object_end(void *object, size_t bytes)
{
    memset(object, 0, bytes);
    free(ended[ended_next]);
    ended[ended_next] = object;
    ended_next = (ended_next + 1) % ENDED_KEPT;
}
