/* SPDX-License-Identifier: BSD-2-Clause */
/* fallocate.c: room for a file before it is written. */
#include "conform.h"

CONFORM(fallocate)
{
    struct stat status;
    char bytes[8] = "unread";
    int file;

    if (!in_tmp())
        return;
    file = file_made("file", "12");
    result("room", sys(SYS_fallocate, file, 0, 0, 10000));
    sys(SYS_fstat, file, &status);
    result("its size", status.st_size);
    holds("is there", status.st_blocks * 512 >= 10000);
    result("keeps its size", sys(SYS_fallocate, file, 1, 0, 20000));
    sys(SYS_fstat, file, &status);
    result("its size then", status.st_size);
    result("its bytes", sys(SYS_pread64, file, bytes, 3, 0));
    holds("as they were, then zero", memcmp(bytes, "12\0", 3) == 0);
    result("a hole", sys(SYS_fallocate, file, 3, 0, 1));
    sys(SYS_pread64, file, bytes, 2, 0);
    holds("is zero", memcmp(bytes, "\0002", 2) == 0);
    result("no length", sys(SYS_fallocate, file, 0, 0, 0));
    result("below 0", sys(SYS_fallocate, file, 0, -1, 10));
    result("no such way", sys(SYS_fallocate, file, 0x1000, 0, 10));
    result("opened to read", sys(SYS_fallocate, sys(SYS_open, "file", O_RDONLY), 0, 0, 10));
    result("a closed descriptor", sys(SYS_fallocate, 40, 0, 0, 10));
}
