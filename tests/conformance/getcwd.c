/* SPDX-License-Identifier: BSD-2-Clause */
/* getcwd.c: where one is, and with the NUL that ends it. */
#include "conform.h"

CONFORM(getcwd)
{
    char path[64];

    result("in the root", sys(SYS_getcwd, path, sizeof(path)));
    text("which is", path);
    sys(SYS_chdir, "/data/sub");
    result("below", sys(SYS_getcwd, path, sizeof(path)));
    text("there", path);
    result("just enough room", sys(SYS_getcwd, path, 10));
    result("a byte too little", sys(SYS_getcwd, path, 9));
    result("no room", sys(SYS_getcwd, path, 0));
    result("to nobody's memory", sys(SYS_getcwd, NOWHERE, 64));
}
