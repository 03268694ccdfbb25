/* SPDX-License-Identifier: BSD-2-Clause */
/* sysinfo.c: a shape that makes sense. */
#include "conform.h"

#include <sys/sysinfo.h>

CONFORM(sysinfo)
{
    struct sysinfo info;

    memset(&info, 0xff, sizeof(info));
    result("sysinfo", sys(SYS_sysinfo, &info));
    holds("memory, some of it free",
          info.totalram > 0 && info.freeram <= info.totalram && info.mem_unit >= 1);
    holds("no swap", info.totalswap == 0 && info.freeswap == 0);
    holds("time since boot", info.uptime < 3600);
    holds("at least this process", info.procs >= 1);
    result("to nobody's memory", sys(SYS_sysinfo, NOWHERE));
}
