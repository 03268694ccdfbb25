/* SPDX-License-Identifier: BSD-2-Clause */
/* vector_append.c: a write from several places goes to the end of a file, after which the offset stands. */
#include "conform.h"

CONFORM(vector_append)
{
    char read_back[16] = "";
    struct iovec two[2] = { { "cd", 2 }, { "ef", 2 } }, broken[2] = { { "gh", 2 }, { NOWHERE, 10 } };

    if (!in_tmp())
        return;
    file_made("file", "ab");
    int file = (int)sys(SYS_open, "file", O_RDWR | O_APPEND);
    result("two places", sys(SYS_writev, file, two, 2));
    result("the offset", sys(SYS_lseek, file, 0, SEEK_CUR));
    result("an offset that does not count", sys(SYS_pwritev, file, two, 2, 1));
    result("the offset again", sys(SYS_lseek, file, 0, SEEK_CUR));
    result("as far as the memory goes", sys(SYS_writev, file, broken, 2));
    result("nothing at all", sys(SYS_writev, file, &broken[1], 1));
    result("no bytes", sys(SYS_write, file, "", 0));
    result("read back", sys(SYS_pread64, file, read_back, 15, 0));
    text("in order", read_back);
}
