/* SPDX-License-Identifier: BSD-2-Clause */
/* fsync.c: written to where it stays: here memory, so that only the descriptor counts. */
#include "conform.h"

CONFORM(fsync)
{
    int file;

    if (!in_tmp())
        return;
    file = file_made("file", "12");
    result("fsync", sys(SYS_fsync, file));
    result("fdatasync", sys(SYS_fdatasync, file));
    result("sync", sys(SYS_sync));
    result("syncfs", sys(SYS_syncfs, file));
    result("of a folder", sys(SYS_fsync, sys(SYS_open, ".", O_RDONLY)));
    result("of a closed descriptor", sys(SYS_fsync, 40));
    result("of /dev/null", sys(SYS_fsync, 0));
    result("fadvise64", sys(SYS_fadvise64, file, 0, 0, POSIX_FADV_SEQUENTIAL));
    result("fadvise64, no such advice", sys(SYS_fadvise64, file, 0, 0, 99));
    result("readahead", sys(SYS_readahead, file, 0, 10));
}
