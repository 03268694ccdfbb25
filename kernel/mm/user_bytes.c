/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * user_bytes.c: see user_bytes.h. In system calls, with any lock held; interrupts are off.
 *
 * Whether memory can be accessed changes only at page bounds. So a copy that failed is repeated page by
 * page, and ends at the first page that cannot be accessed: only wrong pointers pay for that.
 */
#include "mm/user_bytes.h"
#include "arch.h"
#include "lib/errno.h"
#include "mm/page.h"

enum user_copy { USER_READ, USER_WRITE, USER_CLEAR };

static int copy(enum user_copy kind, uint64_t user, char *kernel, uint64_t bytes)
{
    if (kind == USER_READ)
        return user_read(kernel, user, bytes);
    return kind == USER_WRITE ? user_write(user, kernel, bytes) : user_clear(user, bytes);
}

/* Copies page by page, after a copy of the whole has failed, up to the page that fails. */
static int64_t copy_by_pages(enum user_copy kind, uint64_t user, char *kernel, uint64_t bytes)
{
    uint64_t done = 0, part;

    for (; done < bytes; done += part) {
        part = smaller(ARCH_PAGE - (user + done) % ARCH_PAGE, bytes - done);
        if (copy(kind, user + done, kernel ? kernel + done : NULL, part))
            break;
    }
    return done == 0 && bytes > 0 ? -EFAULT : (int64_t)done;
}

int64_t user_read_partial(void *to, uint64_t from, uint64_t bytes)
{
    return user_read(to, from, bytes) ? copy_by_pages(USER_READ, from, to, bytes) : (int64_t)bytes;
}

int64_t user_write_partial(uint64_t to, const void *from, uint64_t bytes)
{
    return user_write(to, from, bytes) ? copy_by_pages(USER_WRITE, to, (char *)from, bytes) : (int64_t)bytes;
}

int64_t user_clear_partial(uint64_t to, uint64_t bytes)
{
    return user_clear(to, bytes) ? copy_by_pages(USER_CLEAR, to, NULL, bytes) : (int64_t)bytes;
}
