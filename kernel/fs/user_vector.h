/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * user_vector.h: the parts of the program's memory from or to which a call moves bytes: the one part of read,
 * or the several of readv. A cursor: it advances with the bytes that are moved. The list of parts is in the
 * program's memory, too, and may change meanwhile; so only `left` is sure to be what was checked.
 */
#ifndef TACET_USER_VECTOR_H
#define TACET_USER_VECTOR_H

#include <stdbool.h>
#include <stdint.h>

struct user_vector {
    uint64_t base, bytes; /* what is left of the present part */
    uint64_t left;        /* bytes, of all parts */
    uint64_t next, parts; /* where the next `struct iovec` is, and how many follow */
};

static inline struct user_vector user_vector_of(uint64_t buffer, uint64_t bytes)
{
    return (struct user_vector){ .base = buffer, .bytes = bytes, .left = bytes };
}

/* Reads and checks the parts of readv's list. -EINVAL; -EFAULT if a part is not in the program's half of the
 * addresses. */
int user_vector_read(struct user_vector *vector, uint64_t list, uint64_t count);

/* Makes the next part that is not empty the present one: 1, or 0 if there is none, or -EFAULT. */
int user_vector_next(struct user_vector *vector);

/* Copies to the program or from it, at most `left` bytes, and advances by what was copied: after -EFAULT, up
 * to where the program's memory ends. */
int user_vector_copy(struct user_vector *vector, void *kernel, uint64_t bytes, bool to_program);

#endif
