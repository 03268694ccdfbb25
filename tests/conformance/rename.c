/* SPDX-License-Identifier: BSD-2-Clause */
/* rename.c: a file under another name, in place of another, in another folder. */
#include "conform.h"

CONFORM(rename)
{
    struct stat status;
    char bytes[4] = "";
    int file;

    if (!in_tmp())
        return;
    file = file_made("a", "a");
    file_made("b", "b");
    sys(SYS_mkdir, "folder", 0755);
    sys(SYS_mkdir, "full", 0755);
    file_made("full/file", "");
    result("to a new name", sys(SYS_rename, "a", "c"));
    result("the old one is gone", sys(SYS_stat, "a", &status));
    result("in place of another", sys(SYS_rename, "c", "b"));
    sys(SYS_read, sys(SYS_open, "b", O_RDONLY), bytes, 1);
    text("which now is", bytes);
    result("the descriptor stays", sys(SYS_pread64, file, bytes, 1, 0));
    result("into a folder", sys(SYS_rename, "b", "folder/b"));
    result("to itself", sys(SYS_rename, "folder/b", "folder/b"));
    result("a file onto a folder", sys(SYS_rename, "folder/b", "full"));
    result("a folder onto a file", sys(SYS_rename, "full", "folder/b"));
    result("a folder onto a full one", sys(SYS_rename, "folder", "full"));
    result("a folder into itself", sys(SYS_rename, "folder", "folder/deeper"));
    result("a folder onto an empty one", (sys(SYS_mkdir, "empty", 0755), sys(SYS_rename, "full", "empty")));
    result("with what is in it", sys(SYS_stat, "empty/file", &status));
    result("what is not there", sys(SYS_rename, "none", "other"));
    result("into what is not there", sys(SYS_rename, "folder/b", "none/b"));
    result("nobody's memory", sys(SYS_rename, NOWHERE, "b"));
    result("RENAME_NOREPLACE", sys(SYS_renameat2, AT_FDCWD, "folder/b", AT_FDCWD, "empty/file", 1));
    result("RENAME_EXCHANGE", sys(SYS_renameat2, AT_FDCWD, "folder/b", AT_FDCWD, "empty", 2));
    holds("both ways round", sys(SYS_stat, "folder/b/file", &status) == 0 &&
                                 sys(SYS_stat, "empty", &status) == 0 && S_ISREG(status.st_mode));
    result("both flags", sys(SYS_renameat2, AT_FDCWD, "empty", AT_FDCWD, "new", 3));
    result("renameat", sys(SYS_renameat, AT_FDCWD, "empty", AT_FDCWD, "new"));
    result("to the other file system", sys(SYS_rename, "new", "/dev/shm/new"));
}
