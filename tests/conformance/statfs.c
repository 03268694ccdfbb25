/* SPDX-License-Identifier: BSD-2-Clause */
/* statfs.c: what a file lies on. */
#include "conform.h"

#include <sys/vfs.h>

CONFORM(statfs)
{
    struct statfs info;

    memset(&info, 0, sizeof(info));
    result("/tmp", sys(SYS_statfs, "/tmp", &info));
    holds("memory", info.f_type == 0x01021994);
    holds("blocks, some of them free",
          info.f_bsize >= 512 && info.f_blocks > 0 && info.f_bfree <= info.f_blocks);
    result("the longest name", info.f_namelen);
    result("by descriptor", sys(SYS_fstatfs, sys(SYS_open, "/tmp", O_RDONLY), &info));
    result("/proc", sys(SYS_statfs, "/proc", &info));
    holds("is one", info.f_type == 0x9fa0);
    result("what is not there", sys(SYS_statfs, "/none", &info));
    result("to nobody's memory", sys(SYS_statfs, "/tmp", NOWHERE));
    result("a closed descriptor", sys(SYS_fstatfs, 40, &info));
}
