/* SPDX-License-Identifier: BSD-2-Clause */
/* identity.c: the program is root, in all ways. */
#include "conform.h"

CONFORM(identity)
{
    unsigned real = 9, effective = 9, saved = 9, list[4];

    result("getuid", sys(SYS_getuid));
    result("getgid", sys(SYS_getgid));
    result("geteuid", sys(SYS_geteuid));
    result("getegid", sys(SYS_getegid));
    result("getresuid", sys(SYS_getresuid, &real, &effective, &saved));
    result("all three", real + effective + saved);
    result("getresgid", sys(SYS_getresgid, &real, &effective, &saved));
    result("getresuid to nobody's memory", sys(SYS_getresuid, NOWHERE, &effective, &saved));
    holds("getgroups", sys(SYS_getgroups, 4, list) >= 0);
    result("getgroups, room below 0", sys(SYS_getgroups, -1, list));
    result("setuid to what it is", sys(SYS_setuid, 0));
    result("setgid to what it is", sys(SYS_setgid, 0));
}
