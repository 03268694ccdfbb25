/* SPDX-License-Identifier: BSD-2-Clause */
/* link.c: one file under two names, and names that stand for others. */
#include "conform.h"

CONFORM(link)
{
    struct stat status, same;
    char path[16];

    if (!in_tmp())
        return;
    file_made("file", "12");
    result("a second name", sys(SYS_link, "file", "other"));
    sys(SYS_stat, "other", &status);
    sys(SYS_stat, "file", &same);
    holds("one file", status.st_ino == same.st_ino);
    result("its links", (long)status.st_nlink);
    result("a name in use", sys(SYS_link, "file", "other"));
    result("of a folder", (sys(SYS_mkdir, "folder", 0755), sys(SYS_link, "folder", "second")));
    result("of what is not there", sys(SYS_link, "none", "second"));
    result("to another file system", sys(SYS_link, "file", "/dev/shm/file"));
    result("a link", sys(SYS_symlink, "file", "link"));
    result("read", sys(SYS_readlink, "link", path, 16));
    result("through it", sys(SYS_stat, "link", &status));
    result("a link in use", sys(SYS_symlink, "file", "link"));
    result("a link to nothing", sys(SYS_symlink, "nothing", "dangling"));
    result("through that", sys(SYS_stat, "dangling", &status));
    result("an empty target", sys(SYS_symlink, "", "empty"));
    result("symlinkat", sys(SYS_symlinkat, "file", AT_FDCWD, "link2"));
    result("linkat of a link is the link", sys(SYS_linkat, AT_FDCWD, "link", AT_FDCWD, "link3", 0));
    sys(SYS_lstat, "link3", &status);
    holds("so it is", S_ISLNK(status.st_mode));
    result("linkat, followed", sys(SYS_linkat, AT_FDCWD, "link", AT_FDCWD, "link4", AT_SYMLINK_FOLLOW));
    sys(SYS_lstat, "link4", &status);
    holds("is the file", S_ISREG(status.st_mode));
    result("linkat, no such flag", sys(SYS_linkat, AT_FDCWD, "link", AT_FDCWD, "link5", 1));
}
