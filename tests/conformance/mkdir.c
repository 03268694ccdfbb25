/* SPDX-License-Identifier: BSD-2-Clause */
/* mkdir.c: folders made and removed. */
#include "conform.h"

CONFORM(mkdir)
{
    struct stat status;
    int folder;

    if (!in_tmp())
        return;
    result("made", sys(SYS_mkdir, "folder", 0777));
    sys(SYS_stat, "folder", &status);
    result("its mode", status.st_mode);
    result("its links", (long)status.st_nlink);
    result("again", sys(SYS_mkdir, "folder", 0755));
    result("deeper", sys(SYS_mkdir, "folder/deeper", 0755));
    sys(SYS_stat, "folder", &status);
    result("its links then", (long)status.st_nlink);
    result("below what is not there", sys(SYS_mkdir, "none/folder", 0755));
    result("below a file", (file_made("file", ""), sys(SYS_mkdir, "file/folder", 0755)));
    result("with a slash after it", sys(SYS_mkdir, "slash/", 0755));
    result("nobody's memory", sys(SYS_mkdir, NOWHERE, 0755));
    folder = (int)sys(SYS_open, "folder", O_RDONLY | O_DIRECTORY);
    result("mkdirat", sys(SYS_mkdirat, folder, "other", 0755));
    result("mkdirat from a file", sys(SYS_mkdirat, sys(SYS_open, "file", O_RDONLY), "other", 0755));
    result("remove a full one", sys(SYS_rmdir, "folder"));
    result("remove a file", sys(SYS_rmdir, "file"));
    result("remove \".\"", sys(SYS_rmdir, "folder/deeper/."));
    result("remove \"..\"", sys(SYS_rmdir, "folder/deeper/.."));
    result("remove an empty one", sys(SYS_rmdir, "folder/deeper"));
    result("remove what is not there", sys(SYS_rmdir, "folder/deeper"));
    result("remove the root", sys(SYS_rmdir, "/"));
}
