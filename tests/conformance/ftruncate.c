/* SPDX-License-Identifier: BSD-2-Clause */
/* ftruncate.c: files cut and made longer, by descriptor and by name. */
#include "conform.h"

CONFORM(ftruncate)
{
    char bytes[16];
    int file;

    if (!in_tmp())
        return;
    file = file_made("file", "0123456789");
    result("cut", sys(SYS_ftruncate, file, 5));
    result("its end", sys(SYS_lseek, file, 0, SEEK_END));
    result("made longer", sys(SYS_ftruncate, file, 10));
    result("read", sys(SYS_pread64, file, bytes, 16, 0));
    holds("zero where it was cut", memcmp(bytes, "01234\0\0\0\0\0", 10) == 0);
    result("below 0", sys(SYS_ftruncate, file, -1));
    result("by name", sys(SYS_truncate, "file", 3));
    result("its end then", sys(SYS_lseek, file, 0, SEEK_END));
    result("by name, below 0", sys(SYS_truncate, "file", -1));
    result("by name, what is not there", sys(SYS_truncate, "none", 3));
    result("by name, a folder", sys(SYS_truncate, ".", 3));
    result("opened to read", sys(SYS_ftruncate, sys(SYS_open, "file", O_RDONLY), 3));
    result("a folder", sys(SYS_ftruncate, sys(SYS_open, ".", O_RDONLY), 3));
    result("a closed descriptor", sys(SYS_ftruncate, 40, 3));
}
