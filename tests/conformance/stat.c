/* SPDX-License-Identifier: BSD-2-Clause */
/* stat.c: what a file is, by its name. */
#include "conform.h"

CONFORM(stat)
{
    struct stat status;

    result("a file", sys(SYS_stat, TEXT, &status));
    result("its size", status.st_size);
    result("its mode, octal digits as decimal", (status.st_mode >> 12 & 017) * 1000 +
                                                    (status.st_mode >> 6 & 7) * 100 +
                                                    (status.st_mode >> 3 & 7) * 10 + (status.st_mode & 7));
    result("its links", (long)status.st_nlink);
    result("its owner", status.st_uid + status.st_gid);
    holds("a block size", status.st_blksize > 0);
    holds("a number of its own", status.st_ino != 0);
    result("through a link", sys(SYS_stat, "/data/link", &status));
    result("the target's size", status.st_size);
    result("a folder", sys(SYS_stat, DATA, &status));
    holds("it is one", S_ISDIR(status.st_mode));
    result("a device", sys(SYS_stat, "/dev/null", &status));
    holds("it is one of characters, 1:3", S_ISCHR(status.st_mode) && status.st_rdev == 0x103);
    result("what is not there", sys(SYS_stat, "/none", &status));
    result("a link to nothing", sys(SYS_stat, "/data/dangling", &status));
    result("a link to itself", sys(SYS_stat, "/data/loop", &status));
    result("into nobody's memory", sys(SYS_stat, TEXT, NOWHERE));
    result("into read-only memory", sys(SYS_stat, TEXT, read_only()));
    result("an empty name", sys(SYS_stat, "", &status));
    result("a name at nobody's", sys(SYS_stat, NOWHERE, &status));
}
