/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * user_vector.c: see user_vector.h. Runs in system calls, under any lock.
 */
#include "fs/user_vector.h"
#include "arch.h"
#include "fs/linux_files.h"
#include "lib/errno.h"
#include "mm/page.h"
#include "mm/user_bytes.h"

int user_vector_read(struct user_vector *vector, uint64_t list, uint64_t count)
{
    struct linux_iovec part;

    *vector = (struct user_vector){ .next = list, .parts = count };
    if (count > IOV_MAX)
        return -EINVAL;
    for (uint64_t i = 0; i < count; i++) {
        if (user_read(&part, list + i * sizeof(part), sizeof(part)))
            return -EFAULT;
        if ((int64_t)part.bytes < 0 || (int64_t)(vector->left += part.bytes) < 0)
            return -EINVAL;
        if (part.bytes > ARCH_USER_LIMIT || part.base > ARCH_USER_LIMIT - part.bytes)
            return -EFAULT;
    }
    vector->left = smaller(vector->left, READ_WRITE_MAX);
    return 0;
}

int user_vector_next(struct user_vector *vector)
{
    struct linux_iovec part = { .bytes = 0 };

    for (; part.bytes == 0; vector->next += sizeof(part), vector->parts--) {
        if (vector->parts == 0 || vector->left == 0)
            return 0;
        if (user_read(&part, vector->next, sizeof(part)))
            return -EFAULT;
    }
    vector->base = part.base;
    vector->bytes = part.bytes < vector->left ? part.bytes : vector->left;
    return 1;
}

int user_vector_copy(struct user_vector *vector, void *kernel, uint64_t bytes, bool to_program)
{
    for (char *at = kernel; bytes > 0;) {
        uint64_t part = smaller(bytes, vector->bytes);
        bool fails = to_program ? user_write(vector->base, at, part) : user_read(at, vector->base, part);

        if (fails) {
            int64_t copied = to_program ? user_write_partial(vector->base, at, part)
                                        : user_read_partial(at, vector->base, part);
            part = copied > 0 ? (uint64_t)copied : 0;
        }
        at += part;
        bytes -= part;
        vector->base += part;
        vector->bytes -= part;
        vector->left -= part;
        if (fails || (bytes > 0 && user_vector_next(vector) <= 0))
            return -EFAULT;
    }
    return 0;
}
