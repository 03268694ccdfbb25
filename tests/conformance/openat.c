/* SPDX-License-Identifier: BSD-2-Clause */
/* openat.c: open from a folder. */
#include "conform.h"

CONFORM(openat)
{
    int folder = (int)sys(SYS_openat, AT_FDCWD, DATA, O_RDONLY | O_DIRECTORY);
    int file = (int)sys(SYS_openat, folder, "text", O_RDONLY);

    result("a folder", folder);
    result("from it", file);
    result("above it", sys(SYS_openat, folder, "../data/text", O_RDONLY));
    result("from a file", sys(SYS_openat, file, "text", O_RDONLY));
    result("from a closed descriptor", sys(SYS_openat, 40, "text", O_RDONLY));
    result("a whole path needs no folder", sys(SYS_openat, 40, TEXT, O_RDONLY));
    result("an empty name", sys(SYS_openat, folder, "", O_RDONLY));
    result("what is not there", sys(SYS_openat, folder, "none", O_RDONLY));
    result("O_CLOEXEC", sys(SYS_fcntl, sys(SYS_openat, folder, "text", O_RDONLY | O_CLOEXEC), F_GETFD));
    result("a file, with a name below it", sys(SYS_openat, folder, "text/..", O_RDONLY));
}
