/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object.c: memory of the objects that programs have handles of. Keeps the memory of the last ended objects.
 */
#include "base/base.h"
#include <stdlib.h>
#include <string.h>

#define ENDED_KEPT 64

static struct ended {
    void *object;
    size_t bytes;
} ended[ENDED_KEPT]; /* in the order of their ends */
static unsigned ended_count;

static void ended_remove(unsigned index)
{
    ended_count--;
    memmove(ended + index, ended + index + 1, (ended_count - index) * sizeof(*ended));
}

void *object_make(size_t bytes)
{
    for (unsigned i = ended_count; i-- > 0;)
        if (ended[i].bytes == bytes) {
            void *object = ended[i].object;

            ended_remove(i);
            return object;
        }
    return calloc(1, bytes);
}

void object_end(void *object, size_t bytes)
{
    if (ended_count == ENDED_KEPT) {
        free(ended[0].object);
        ended_remove(0);
    }
    memset(object, 0, bytes);
    ended[ended_count++] = (struct ended){ object, bytes };
}
