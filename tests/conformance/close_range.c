/* SPDX-License-Identifier: BSD-2-Clause */
/* close_range.c: many descriptors at once. */
#include "conform.h"

CONFORM(close_range)
{
    for (int i = 0; i < 4; i++)
        sys(SYS_dup, 0);
    result("some", sys(SYS_close_range, 4, 5, 0));
    result("before them", sys(SYS_fcntl, 3, F_GETFD));
    result("the first", sys(SYS_fcntl, 4, F_GETFD));
    result("the last", sys(SYS_fcntl, 5, F_GETFD));
    result("above them", sys(SYS_fcntl, 6, F_GETFD));
    result("CLOSE_RANGE_CLOEXEC", sys(SYS_close_range, 6, -1, 4));
    result("stays, with FD_CLOEXEC", sys(SYS_fcntl, 6, F_GETFD));
    result("the wrong way round", sys(SYS_close_range, 6, 5, 0));
    result("no such flag", sys(SYS_close_range, 3, 5, 1));
}
