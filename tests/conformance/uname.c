/* SPDX-License-Identifier: BSD-2-Clause */
/* uname.c: a Linux on this machine, whatever its name. */
#include "conform.h"

#include <sys/utsname.h>

CONFORM(uname)
{
    struct utsname name;
    int major = 0, minor = 0;

    memset(&name, '#', sizeof(name));
    result("uname", sys(SYS_uname, &name));
    text("system", name.sysname);
    text("machine", name.machine);
    holds("a release of numbers", sscanf(name.release, "%d.%d", &major, &minor) == 2 && major >= 3);
    holds("each text ends", memchr(name.nodename, 0, 65) && memchr(name.version, 0, 65));
    result("to nobody's memory", sys(SYS_uname, NOWHERE));
    result("to a page's end", sys(SYS_uname, edge(100)));
}
