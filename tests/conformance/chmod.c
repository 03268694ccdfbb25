/* SPDX-License-Identifier: BSD-2-Clause */
/* chmod.c: permissions and owners are kept and reported. */
#include "conform.h"

CONFORM(chmod)
{
    struct stat status;
    int file;

    if (!in_tmp())
        return;
    file = file_made("file", "");
    result("chmod", sys(SYS_chmod, "file", 04751));
    sys(SYS_stat, "file", &status);
    result("the mode", status.st_mode & 07777);
    result("fchmod", sys(SYS_fchmod, file, 0600));
    result("fchmodat", sys(SYS_fchmodat, AT_FDCWD, "file", 0640));
    sys(SYS_stat, "file", &status);
    result("the mode then", status.st_mode & 07777);
    result("chown", sys(SYS_chown, "file", 12, 34));
    sys(SYS_stat, "file", &status);
    result("the owner", status.st_uid * 100 + status.st_gid);
    result("fchown, of the group alone", sys(SYS_fchown, file, -1, 35));
    sys(SYS_stat, "file", &status);
    result("the owner then", status.st_uid * 100 + status.st_gid);
    result("lchown", (sys(SYS_symlink, "file", "link"), sys(SYS_lchown, "link", 1, 1)));
    result("fchownat, no such flag", sys(SYS_fchownat, AT_FDCWD, "file", 1, 1, 1));
    result("what is not there", sys(SYS_chmod, "none", 0600));
    result("a closed descriptor", sys(SYS_fchmod, 40, 0600));
}
