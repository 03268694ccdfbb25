/* SPDX-License-Identifier: BSD-2-Clause */
/* write_file.c: writing a file of /tmp: the offset, holes, O_APPEND, and what is left after a bad address. */
#include "conform.h"

CONFORM(write_file)
{
    char bytes[32];
    struct stat status;
    int file, other;

    if (!in_tmp())
        return;
    file = file_made("file", "");
    result("write", sys(SYS_write, file, "0123456789", 10));
    result("the offset after it", sys(SYS_lseek, file, 0, SEEK_CUR));
    result("from nobody's memory", sys(SYS_write, file, NOWHERE, 10));
    result("the offset has stayed", sys(SYS_lseek, file, 0, SEEK_CUR));
    sys(SYS_lseek, file, 4, SEEK_SET);
    result("over the middle", sys(SYS_write, file, "xy", 2));
    result("read again", sys(SYS_pread64, file, bytes, sizeof(bytes), 0));
    holds("as written", memcmp(bytes, "0123xy6789", 10) == 0);
    sys(SYS_lseek, file, 20000, SEEK_SET);
    result("beyond the end", sys(SYS_write, file, "z", 1));
    sys(SYS_fstat, file, &status);
    result("its size", status.st_size);
    result("the hole", sys(SYS_pread64, file, bytes, 4, 15000));
    holds("is zero", memcmp(bytes, "\0\0\0\0", 4) == 0);
    other = (int)sys(SYS_open, "file", O_WRONLY | O_APPEND);
    result("appended", sys(SYS_write, other, "end", 3));
    result("its offset", sys(SYS_lseek, other, 0, SEEK_CUR));
    result("read what is only to be written", sys(SYS_read, other, bytes, 1));
    result("half of it readable", sys(SYS_write, file, edge(4), 8));
}
