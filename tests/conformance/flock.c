/* SPDX-License-Identifier: BSD-2-Clause */
/* flock.c: locks on files, which one process alone may always have. */
#include "conform.h"

CONFORM(flock)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 10 };
    int a, b;

    if (!in_tmp())
        return;
    a = file_made("file", "");
    b = (int)sys(SYS_open, "file", O_RDWR);
    result("LOCK_EX", sys(SYS_flock, a, 2));
    result("LOCK_EX by another descriptor", sys(SYS_flock, b, 2 | 4));
    result("LOCK_SH", sys(SYS_flock, a, 1));
    result("LOCK_SH by another descriptor", sys(SYS_flock, b, 1 | 4));
    result("LOCK_UN", sys(SYS_flock, a, 8));
    result("no such way", sys(SYS_flock, a, 16));
    result("a closed descriptor", sys(SYS_flock, 40, 1));
    result("F_SETLK", sys(SYS_fcntl, a, F_SETLK, &lock));
    result("F_SETLK by another descriptor of the same process", sys(SYS_fcntl, b, F_SETLK, &lock));
    result("F_GETLK", sys(SYS_fcntl, b, F_GETLK, &lock));
    result("no one else's", lock.l_type);
    lock.l_type = F_UNLCK;
    result("F_UNLCK", sys(SYS_fcntl, a, F_SETLKW, &lock));
    lock.l_type = 99;
    result("no such lock", sys(SYS_fcntl, a, F_SETLK, &lock));
    result("a lock at nobody's", sys(SYS_fcntl, a, F_SETLK, NOWHERE));
    lock = (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 10 };
    result("to write, opened to read", sys(SYS_fcntl, sys(SYS_open, "file", O_RDONLY), F_SETLK, &lock));
}
