/* SPDX-License-Identifier: BSD-2-Clause */
/* getcwd.c: where one is, and with the NUL that ends it. */
#include "conform.h"

CONFORM(getcwd)
{
    char path[64] = "";
    struct stat status;

    result("in the root", sys(SYS_getcwd, path, sizeof(path)));
    text("which is", path);
    sys(SYS_chdir, "/data/sub");
    result("below", sys(SYS_getcwd, path, sizeof(path)));
    text("there", path);
    result("just enough room", sys(SYS_getcwd, path, 10));
    result("a byte too little", sys(SYS_getcwd, path, 9));
    result("no room", sys(SYS_getcwd, path, 0));
    result("to nobody's memory", sys(SYS_getcwd, NOWHERE, 64));
    result("by its link", sys(SYS_readlink, "/proc/self/cwd", path, sizeof(path)));
    text("it leads to", path);
    result("cut", sys(SYS_readlink, "/proc/self/cwd", path, 3));
    result("a file by its link", sys(SYS_stat, "/proc/self/cwd/file", &status));
    result("its size", status.st_size);
    result("the link itself", sys(SYS_lstat, "/proc/self/cwd", &status));
    result("its mode", status.st_mode);
    result("a folder of its name", sys(SYS_mkdir, "/proc/self/cwd", 0700));
    sys(SYS_mkdir, "/tmp/getcwd", 0700);
    sys(SYS_chdir, "/tmp/getcwd");
    sys(SYS_rmdir, "/tmp/getcwd");
    result("of a folder that is gone", sys(SYS_getcwd, path, sizeof(path)));
    result("the folder that is gone, by its link", sys(SYS_stat, "/proc/self/cwd", &status));
}
