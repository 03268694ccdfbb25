/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * user_bytes.c: see user_bytes.h. In system calls, with any lock held; interrupts are off.
 *
 * What can be touched and what cannot meet at the bound of a page. So a copy that failed is made again page
 * by page, and ends where one cannot be had: that costs only those whose pointers are wrong.
 */
#include "mm/user_bytes.h"
#include "arch.h"
#include "lib/errno.h"

/* Bytes from `address` to the end of its page, `left` at the most. */
static uint64_t page_part(uint64_t address, uint64_t left)
{
    uint64_t part = ARCH_PAGE - address % ARCH_PAGE;

    return part < left ? part : left;
}

static int64_t moved(uint64_t done, uint64_t wanted)
{
    return done == 0 && wanted > 0 ? -EFAULT : (int64_t)done;
}

int64_t user_read_partial(void *to, uint64_t from, uint64_t bytes)
{
    uint64_t done = 0, part;

    if (!user_read(to, from, bytes))
        return (int64_t)bytes;
    for (; done < bytes; done += part) {
        part = page_part(from + done, bytes - done);
        if (user_read((char *)to + done, from + done, part))
            break;
    }
    return moved(done, bytes);
}

int64_t user_write_partial(uint64_t to, const void *from, uint64_t bytes)
{
    uint64_t done = 0, part;

    if (!user_write(to, from, bytes))
        return (int64_t)bytes;
    for (; done < bytes; done += part) {
        part = page_part(to + done, bytes - done);
        if (user_write(to + done, (const char *)from + done, part))
            break;
    }
    return moved(done, bytes);
}

int64_t user_clear_partial(uint64_t to, uint64_t bytes)
{
    uint64_t done = 0, part;

    if (!user_clear(to, bytes))
        return (int64_t)bytes;
    for (; done < bytes; done += part) {
        part = page_part(to + done, bytes - done);
        if (user_clear(to + done, part))
            break;
    }
    return moved(done, bytes);
}
