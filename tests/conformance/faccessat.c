/* SPDX-License-Identifier: BSD-2-Clause */
/* faccessat.c: access, from a folder. */
#include "conform.h"

CONFORM(faccessat)
{
    int folder = (int)sys(SYS_open, DATA, O_RDONLY | O_DIRECTORY);

    result("from a folder", sys(SYS_faccessat, folder, "text", R_OK));
    result("from the current one", sys(SYS_faccessat, AT_FDCWD, "data/text", R_OK));
    result("from a file", sys(SYS_faccessat, sys(SYS_open, TEXT, O_RDONLY), "text", R_OK));
    result("from nothing", sys(SYS_faccessat, 40, "text", R_OK));
    result("from nothing, a whole path", sys(SYS_faccessat, 40, TEXT, R_OK));
    result("no such right", sys(SYS_faccessat, AT_FDCWD, "data/text", 8));
    result("faccessat2, the link itself", sys(SYS_faccessat2, folder, "dangling", F_OK, AT_SYMLINK_NOFOLLOW));
    result("faccessat2, no such flag", sys(SYS_faccessat2, folder, "text", F_OK, 1));
}
