/* SPDX-License-Identifier: BSD-2-Clause */
/* fcntl.c: descriptors and their flags. */
#include "conform.h"

CONFORM(fcntl)
{
    int file = (int)sys(SYS_open, TEXT, O_RDONLY);
    struct flock range = { .l_type = F_RDLCK, .l_start = 1, .l_len = INT64_MAX };

    result("F_DUPFD from 10", sys(SYS_fcntl, file, F_DUPFD, 10));
    result("F_DUPFD from 10 again", sys(SYS_fcntl, file, F_DUPFD, 10));
    result("F_DUPFD from -1", sys(SYS_fcntl, file, F_DUPFD, -1));
    result("F_DUPFD beyond the table", sys(SYS_fcntl, file, F_DUPFD, 1 << 30));
    result("F_DUPFD_CLOEXEC", sys(SYS_fcntl, file, F_DUPFD_CLOEXEC, 15));
    result("its FD_CLOEXEC", sys(SYS_fcntl, 15, F_GETFD));
    result("F_GETFD", sys(SYS_fcntl, file, F_GETFD));
    result("F_SETFD", sys(SYS_fcntl, file, F_SETFD, FD_CLOEXEC));
    result("F_GETFD then", sys(SYS_fcntl, file, F_GETFD));
    result("F_GETFL", sys(SYS_fcntl, file, F_GETFL));
    result("F_SETFL", sys(SYS_fcntl, file, F_SETFL, O_NONBLOCK | O_WRONLY));
    result("F_GETFL then", sys(SYS_fcntl, file, F_GETFL));
    result("a lock up to the last byte there can be", sys(SYS_fcntl, file, F_SETLK, &range));
    range.l_start = 2;
    result("a lock up to the byte after it", sys(SYS_fcntl, file, F_SETLK, &range));
    range.l_start = -1;
    range.l_len = 5;
    result("a lock from before the beginning", sys(SYS_fcntl, file, F_SETLK, &range));
    result("no such command", sys(SYS_fcntl, file, 9999, 0));
    result("a closed descriptor", sys(SYS_fcntl, 40, F_GETFD));
    result("a closed descriptor, no such command", sys(SYS_fcntl, 40, 9999));
}
