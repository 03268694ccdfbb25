/* SPDX-License-Identifier: BSD-2-Clause */
/* readlink.c: where a link points, as it is, without an end. */
#include "conform.h"

CONFORM(readlink)
{
    char path[32];

    memset(path, '#', sizeof(path));
    result("a link", sys(SYS_readlink, "/data/link", path, sizeof(path)));
    holds("no NUL after it", memcmp(path, "text#", 5) == 0);
    result("cut", sys(SYS_readlink, "/data/link", path, 2));
    result("no room", sys(SYS_readlink, "/data/link", path, 0));
    result("room below 0", sys(SYS_readlink, "/data/link", path, -1));
    result("a link to nothing", sys(SYS_readlink, "/data/dangling", path, sizeof(path)));
    result("a file", sys(SYS_readlink, TEXT, path, sizeof(path)));
    result("what is not there", sys(SYS_readlink, "/none", path, sizeof(path)));
    result("to nobody's memory", sys(SYS_readlink, "/data/link", NOWHERE, 32));
    result("a name at nobody's", sys(SYS_readlink, NOWHERE, path, 32));
    holds("/proc/self/exe is this program",
          sys(SYS_readlink, "/proc/self/exe", path, sizeof(path)) > 0 && path[0] == '/');
}
