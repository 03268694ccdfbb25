/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * poison.h: in a kernel that checks itself (make kernel LOCKCHECK=1), a free object is full of POISON_BYTE,
 * but for its first word, in which free lists keep their link. Reading a freed object gives pointers that
 * fault, and a freed object that was written is a panic when it is allocated again. Empty in other kernels.
 */
#ifndef TACET_POISON_H
#define TACET_POISON_H

#include "debug/stop.h"
#include "lib/kstring.h"
#include <stddef.h>
#include <stdint.h>

#ifdef LOCKCHECK

#define POISON_BYTE 0xdb

/* Fills an object that is freed. */
static inline void poison(void *object, size_t bytes)
{
    memset((char *)object + sizeof(void *), POISON_BYTE, bytes - sizeof(void *));
}

/* Stops the node if a free object was written. `owner` names its memory in the message. */
static inline void poison_check(const void *object, size_t bytes, const char *owner)
{
    const unsigned char *const begin = object;

    for (size_t at = sizeof(void *); at < bytes; at++)
        if (begin[at] != POISON_BYTE)
            node_stop(STOP_PANIC, "%#lx of %s was written, at +%lu, after it had been freed",
                      (uint64_t)object, owner, (uint64_t)at);
}

#else
#define poison(object, bytes)              ((void)(bytes))
#define poison_check(object, bytes, owner) ((void)(bytes))
#endif

#endif
