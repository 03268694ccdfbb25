/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * open_read_only.c: what the boot archive's tree answers to those who would change it: Linux unpacks it into
 * memory of its own, Tacet reads it where it lies.
 */
#include "conform.h"

CONFORM(open_read_only)
{
    result("a file to write", sys(SYS_open, "/data/empty", O_WRONLY));
    result("a file to read and write", sys(SYS_open, "/data/empty", O_RDWR));
    result("a file to be cut", sys(SYS_open, "/data/empty", O_RDONLY | O_TRUNC));
    result("a new file", sys(SYS_open, "/data/new", O_WRONLY | O_CREAT, 0644));
    result("a new folder", sys(SYS_mkdir, "/data/folder", 0755));
    result("a folder that is there", sys(SYS_mkdir, "/data/sub", 0755));
    result("remove a file", sys(SYS_unlink, "/data/new"));
    result("remove what is not there", sys(SYS_unlink, "/data/none"));
    result("rename what is not there", sys(SYS_rename, "/data/none", "/data/other"));
}
