/* SPDX-License-Identifier: BSD-2-Clause */
/* chdir.c: going about, by name and by descriptor. */
#include "conform.h"

CONFORM(chdir)
{
    char path[64];
    struct stat status;
    int folder;

    result("into a folder", sys(SYS_chdir, DATA));
    result("a name from there", sys(SYS_stat, "text", &status));
    result("further", sys(SYS_chdir, "sub"));
    result("and up", sys(SYS_chdir, ".."));
    result("through a link", sys(SYS_chdir, "folder_link"));
    sys(SYS_getcwd, path, sizeof(path));
    text("the folder's own name", path);
    result("into a file", sys(SYS_chdir, TEXT));
    result("into nothing", sys(SYS_chdir, "/none"));
    result("an empty name", sys(SYS_chdir, ""));
    result("nobody's memory", sys(SYS_chdir, NOWHERE));
    folder = (int)sys(SYS_open, DATA, O_RDONLY | O_DIRECTORY);
    result("by descriptor", sys(SYS_fchdir, folder));
    sys(SYS_getcwd, path, sizeof(path));
    text("there", path);
    result("by a file's descriptor", sys(SYS_fchdir, sys(SYS_open, TEXT, O_RDONLY)));
    result("by a closed descriptor", sys(SYS_fchdir, 40));
}
