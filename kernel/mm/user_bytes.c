/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * user_bytes.c: see user_bytes.h. Runs in system calls, interrupts off; the caller may hold any lock.
 *
 * Whether memory can be accessed changes only at page bounds. So a copy that failed is repeated page by
 * page, and ends at the first page that cannot be accessed: only wrong pointers pay for that.
 */
#include "mm/user_bytes.h"
#include "arch.h"
#include "lib/errno.h"
#include "mm/page.h"

static int copy(uint64_t user, char *kernel, uint64_t bytes, bool writes)
{
    if (!writes)
        return user_read(kernel, user, bytes);
    return kernel ? user_write(user, kernel, bytes) : user_clear(user, bytes);
}

/* Copies the whole, or else page by page up to the page that fails. */
static int64_t copy_partial(uint64_t user, char *kernel, uint64_t bytes, bool writes)
{
    uint64_t done = 0, part;

    if (!copy(user, kernel, bytes, writes))
        return (int64_t)bytes;
    for (; done < bytes; done += part) {
        part = smaller(ARCH_PAGE - (user + done) % ARCH_PAGE, bytes - done);
        if (copy(user + done, kernel ? kernel + done : NULL, part, writes))
            break;
    }
    return done == 0 && bytes > 0 ? -EFAULT : (int64_t)done;
}

int64_t user_read_partial(void *to, uint64_t from, uint64_t bytes)
{
    return copy_partial(from, to, bytes, false);
}

int64_t user_write_partial(uint64_t to, const void *from, uint64_t bytes)
{
    return copy_partial(to, (char *)from, bytes, true);
}
