/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sys_random.c: getrandom. The numbers are those of /dev/urandom (devices.c) and never run out, so no flag
 * makes a difference.
 */
#include "fs/file.h"
#include "lib/errno.h"
#include "syscall/linux_calls.h"
#include "syscall/syscall.h"

long sys_getrandom(uint64_t buffer, uint64_t bytes, uint64_t flags)
{
    enum { NONBLOCK = 1, RANDOM = 2, INSECURE = 4 };

    if (((uint32_t)flags & ~(uint32_t)(NONBLOCK | RANDOM | INSECURE)) ||
        ((flags & RANDOM) && (flags & INSECURE)))
        return -EINVAL;
    return random_write(buffer, bytes < READ_WRITE_MAX ? bytes : READ_WRITE_MAX);
}
