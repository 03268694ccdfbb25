/* SPDX-License-Identifier: BSD-2-Clause */
/* newfstatat.c: stat from a folder, of a descriptor, of a link. */
#include "conform.h"

CONFORM(newfstatat)
{
    struct stat status;
    int folder = (int)sys(SYS_open, DATA, O_RDONLY | O_DIRECTORY);

    result("from a folder", sys(SYS_newfstatat, folder, "text", &status, 0));
    result("its size", status.st_size);
    result("a link", sys(SYS_newfstatat, folder, "link", &status, AT_SYMLINK_NOFOLLOW));
    holds("it is one", S_ISLNK(status.st_mode));
    result("the folder itself", sys(SYS_newfstatat, folder, "", &status, AT_EMPTY_PATH));
    holds("it is one too", S_ISDIR(status.st_mode));
    result("the current folder itself", sys(SYS_newfstatat, AT_FDCWD, "", &status, AT_EMPTY_PATH));
    result("an empty name without the flag", sys(SYS_newfstatat, folder, "", &status, 0));
    result("a flag that there is not", sys(SYS_newfstatat, folder, "text", &status, 1));
    result("from a closed descriptor", sys(SYS_newfstatat, 40, "text", &status, 0));
    result("into nobody's memory", sys(SYS_newfstatat, folder, "text", NOWHERE, 0));
}
