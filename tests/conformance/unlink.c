/* SPDX-License-Identifier: BSD-2-Clause */
/* unlink.c: a name removed; the file stays as long as it is open. */
#include "conform.h"

CONFORM(unlink)
{
    struct stat status = { .st_nlink = 9 };
    char bytes[4];
    int file;

    if (!in_tmp())
        return;
    file = file_made("file", "12");
    sys(SYS_mkdir, "folder", 0755);
    result("a file", sys(SYS_unlink, "file"));
    result("its name", sys(SYS_open, "file", O_RDONLY));
    result("itself", sys(SYS_read, file, bytes, 4));
    const long got = sys(SYS_fstat, file, &status); /* a file server may answer ESTALE or ENOENT */
    result("its status", got == -ESTALE ? -ENOENT : got);
    result("its links", (long)status.st_nlink);
    result("again", sys(SYS_unlink, "file"));
    result("a folder", sys(SYS_unlink, "folder"));
    result("a folder, unlinkat", sys(SYS_unlinkat, AT_FDCWD, "folder", 0));
    result("a folder, AT_REMOVEDIR", sys(SYS_unlinkat, AT_FDCWD, "folder", AT_REMOVEDIR));
    result("a file, AT_REMOVEDIR",
           (file_made("file", ""), sys(SYS_unlinkat, AT_FDCWD, "file", AT_REMOVEDIR)));
    result("no such flag", sys(SYS_unlinkat, AT_FDCWD, "file", 1));
    result("from a closed descriptor", sys(SYS_unlinkat, 40, "file", 0));
    sys(SYS_symlink, "file", "link");
    result("a link", sys(SYS_unlink, "link"));
    result("its target stays", sys(SYS_stat, "file", &status));
    result("a file with a slash after it", sys(SYS_unlink, "file/"));
    result("an empty name", sys(SYS_unlink, ""));
    result("nobody's memory", sys(SYS_unlink, NOWHERE));
}
