/* SPDX-License-Identifier: BSD-2-Clause */
/* mlock.c: memory that stays where it is. */
#include "conform.h"

CONFORM(mlock)
{
    char *place =
        (char *)sys(SYS_mmap, NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    result("mlock", sys(SYS_mlock, place, 8192));
    result("munlock", sys(SYS_munlock, place, 8192));
    result("mlock2", sys(SYS_mlock2, place, 8192, 0));
    result("mlock2, a flag that there is not", sys(SYS_mlock2, place, 8192, 64));
    result("no length", sys(SYS_mlock, place, 0));
    result("nobody's memory", sys(SYS_mlock, 0x10000, 4096));
    result("munlock of nobody's memory", sys(SYS_munlock, 0x10000, 4096));
    result("mlockall", sys(SYS_mlockall, MCL_CURRENT | MCL_FUTURE));
    result("mlockall, nothing", sys(SYS_mlockall, 0));
    result("mlockall, a flag that there is not", sys(SYS_mlockall, 64));
    result("munlockall", sys(SYS_munlockall));
}
