/* SPDX-License-Identifier: BSD-2-Clause */
/* lstat.c: what a name is, links not followed. */
#include "conform.h"

CONFORM(lstat)
{
    struct stat status;

    result("a link", sys(SYS_lstat, "/data/link", &status));
    holds("it is one", S_ISLNK(status.st_mode));
    result("its size", status.st_size);
    result("a link to nothing", sys(SYS_lstat, "/data/dangling", &status));
    result("a link with a slash after it", sys(SYS_lstat, "/data/link/", &status));
    result("a folder through a link, slash after it", sys(SYS_lstat, "/data/folder_link/", &status));
    holds("is the folder", S_ISDIR(status.st_mode));
    result("into nobody's memory", sys(SYS_lstat, "/data/link", NOWHERE));
}
