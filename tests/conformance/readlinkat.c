/* SPDX-License-Identifier: BSD-2-Clause */
/* readlinkat.c: readlink, from a folder, or of an open link. */
#include "conform.h"

CONFORM(readlinkat)
{
    char path[32];
    int folder = (int)sys(SYS_open, DATA, O_RDONLY | O_DIRECTORY);

    result("from a folder", sys(SYS_readlinkat, folder, "link", path, sizeof(path)));
    result("from a closed descriptor", sys(SYS_readlinkat, 40, "link", path, sizeof(path)));
    result("from a file", sys(SYS_readlinkat, sys(SYS_open, TEXT, O_RDONLY), "link", path, sizeof(path)));
    result("an open link",
           sys(SYS_readlinkat, sys(SYS_open, "/data/link", O_PATH | O_NOFOLLOW), "", path, sizeof(path)));
    result("an open folder", sys(SYS_readlinkat, folder, "", path, sizeof(path)));
    result("no room", sys(SYS_readlinkat, folder, "link", path, 0));
}
