/* SPDX-License-Identifier: BSD-2-Clause */
/* mlock.c: memory that stays where it is. */
#include "conform.h"

CONFORM(mlock)
{
    char *place =
        (char *)sys(SYS_mmap, NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    result("mlock", sys(SYS_mlock, place, 2 * PAGE));
    result("munlock", sys(SYS_munlock, place, 2 * PAGE));
    result("mlock2", sys(SYS_mlock2, place, 2 * PAGE, 0));
    result("mlock2, a flag that there is not", sys(SYS_mlock2, place, 2 * PAGE, 64));
    result("no length", sys(SYS_mlock, place, 0));
    result("nobody's memory", sys(SYS_mlock, 0x10000, PAGE));
    result("munlock of nobody's memory", sys(SYS_munlock, 0x10000, PAGE));
    result("mlockall", sys(SYS_mlockall, MCL_CURRENT | MCL_FUTURE));
    result("mlockall, nothing", sys(SYS_mlockall, 0));
    result("mlockall, a flag that there is not", sys(SYS_mlockall, 64));
    result("munlockall", sys(SYS_munlockall));
}
