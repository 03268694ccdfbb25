/* SPDX-License-Identifier: BSD-2-Clause */
/* creat.c: a file made and cut; O_EXCL, O_TRUNC, O_APPEND, the mask of new files. */
#include "conform.h"

CONFORM(creat)
{
    struct stat status;
    int file;

    if (!in_tmp())
        return;
    result("umask", sys(SYS_umask, 027));
    result("umask again", sys(SYS_umask, 022));
    file = (int)sys(SYS_creat, "file", 0666);
    result("made", file);
    sys(SYS_fstat, file, &status);
    result("its mode", status.st_mode);
    result("its size", status.st_size);
    sys(SYS_write, file, "12345", 5);
    result("made to be there alone", sys(SYS_open, "file", O_WRONLY | O_CREAT | O_EXCL, 0666));
    holds("opened, it stays", sys(SYS_open, "file", O_RDWR | O_CREAT, 0600) > 0 &&
                                  sys(SYS_stat, "file", &status) == 0 && status.st_size == 5);
    holds("O_TRUNC cuts it", sys(SYS_open, "file", O_WRONLY | O_TRUNC) > 0 &&
                                 sys(SYS_stat, "file", &status) == 0 && status.st_size == 0);
    result("in a folder that is not there", sys(SYS_creat, "none/file", 0666));
    result("below a file", sys(SYS_creat, "file/file", 0666));
    result("a folder", sys(SYS_creat, ".", 0666));
    result("a name of a folder to be", sys(SYS_open, "new/", O_WRONLY | O_CREAT, 0666));
    result("O_CREAT and O_DIRECTORY of a file", sys(SYS_open, "file", O_RDONLY | O_DIRECTORY));
    result("through a link to nothing",
           (sys(SYS_symlink, "target", "to"), sys(SYS_open, "to", O_WRONLY | O_CREAT, 0666)) > 0);
    result("made the target", sys(SYS_stat, "target", &status));
    result("nobody's memory", sys(SYS_creat, NOWHERE, 0666));
}
