/* SPDX-License-Identifier: BSD-2-Clause */
/* identity.c: the program is root, in all ways. */
#include "conform.h"

/* capget(2): musl has no header for it. */
#define VERSION_1 0x19980330U
#define VERSION_3 0x20080522U

/* Tells the capabilities, and sets them to what they are. */
static void capabilities(void)
{
    struct {
        uint32_t version;
        int pid;
    } header = { 0, 0 }, other = { VERSION_3, 999999 };
    struct {
        uint32_t effective, permitted, inheritable;
    } sets[2];

    result("capget, no version", sys(SYS_capget, &header, sets));
    result("the newest", header.version);
    header.version = 0;
    result("capget, asks for the version", sys(SYS_capget, &header, NULL));
    result("capget", sys(SYS_capget, &header, sets));
    result("effective, the first 32", sets[0].effective);
    result("effective, the others", sets[1].effective);
    result("permitted, the first 32", sets[0].permitted);
    result("permitted, the others", sets[1].permitted);
    result("inheritable", sets[0].inheritable | sets[1].inheritable);
    result("capset to what they are", sys(SYS_capset, &header, sets));
    sets[0].permitted = 0;
    result("capset, effective without permitted", sys(SYS_capset, &header, sets));
    result("capget to nobody's memory", sys(SYS_capget, &header, NOWHERE));
    result("capget by nobody's memory", sys(SYS_capget, NOWHERE, sets));
    result("capget of nobody", sys(SYS_capget, &other, sets));
    other.pid = -1;
    result("capget of a number below 0", sys(SYS_capget, &other, sets));
    header.version = VERSION_1;
    result("capget by the old version", sys(SYS_capget, &header, sets));
}

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
    capabilities();
}
