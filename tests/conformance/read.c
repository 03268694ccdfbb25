/* SPDX-License-Identifier: BSD-2-Clause */
/* read.c: bytes come in order, end is 0, and a bad place or descriptor is reported before anything moves. */
#include "conform.h"

CONFORM(read)
{
    char bytes[64];
    int file = (int)sys(SYS_open, TEXT, O_RDONLY);
    int folder = (int)sys(SYS_open, DATA, O_RDONLY | O_DIRECTORY);

    result("open", file);
    result("5 bytes", sys(SYS_read, file, bytes, 5));
    holds("they are the file's", memcmp(bytes, "first", 5) == 0);
    result("no bytes", sys(SYS_read, file, bytes, 0));
    result("to nobody's memory", sys(SYS_read, file, NOWHERE, 5));
    result("to the kernel's memory", sys(SYS_read, file, KERNEL_SIDE, 5));
    result("to read-only memory", sys(SYS_read, file, read_only(), 5));
    result("a failed read moves nothing", sys(SYS_lseek, file, 0, SEEK_CUR));
    result("more than there is", sys(SYS_read, file, bytes, sizeof(bytes)));
    result("at the end", sys(SYS_read, file, bytes, sizeof(bytes)));
    result("at the end, to nobody's memory", sys(SYS_read, file, NOWHERE, 5));
    result("up to the last byte of a page",
           (sys(SYS_lseek, file, 0, SEEK_SET), sys(SYS_read, file, edge(5), 5)));
    result("a folder", sys(SYS_read, folder, bytes, 5));
    result("a closed descriptor", sys(SYS_read, 40, bytes, 5));
    result("descriptor -1", sys(SYS_read, -1, bytes, 5));
    result("a closed descriptor and a bad place", sys(SYS_read, 40, NOWHERE, 5));
    result("what was opened to write", sys(SYS_read, sys(SYS_open, "/dev/null", O_WRONLY), bytes, 5));
    result("a path alone", sys(SYS_read, sys(SYS_open, TEXT, O_PATH), bytes, 5));
    result("/dev/null", sys(SYS_read, 0, bytes, 5));
    memset(bytes, 1, sizeof(bytes));
    result("/dev/zero", sys(SYS_read, sys(SYS_open, "/dev/zero", O_RDONLY), bytes, 8));
    holds("it gives zeroes", memcmp(bytes, "\0\0\0\0\0\0\0\0\1", 9) == 0);
    result("a length beyond all", sys(SYS_read, 0, bytes, -1L));
}
