/* SPDX-License-Identifier: BSD-2-Clause */
/* sendfile.c: bytes from file to file inside the kernel. */
#include "conform.h"

CONFORM(sendfile)
{
    char bytes[16];
    int64_t offset = 2, to = 4;
    int a, b;

    if (!in_tmp())
        return;
    a = file_made("a", "0123456789");
    b = file_made("b", "");
    result("from a place", sys(SYS_sendfile, b, a, &offset, 4));
    result("the place moves", offset);
    result("the offset stays", sys(SYS_lseek, a, 0, SEEK_CUR));
    result("from the offset", sys(SYS_sendfile, b, a, NULL, 100));
    result("which moves", sys(SYS_lseek, a, 0, SEEK_CUR));
    result("at the end", sys(SYS_sendfile, b, a, NULL, 100));
    sys(SYS_pread64, b, bytes, 16, 0);
    holds("written", memcmp(bytes, "23450123456789", 14) == 0);
    result("a place at nobody's", sys(SYS_sendfile, b, a, NOWHERE, 4));
    result("to a closed descriptor", sys(SYS_sendfile, 40, a, NULL, 4));
    result("to one opened to read", sys(SYS_sendfile, sys(SYS_open, "b", O_RDONLY), a, NULL, 4));
    offset = 0;
    result("copy_file_range", sys(SYS_copy_file_range, a, &offset, b, &to, 3, 0));
    result("both places move", offset * 100 + to);
    sys(SYS_pread64, b, bytes, 16, 0);
    holds("written in the middle",
          memcmp(bytes, "23450123456789" + 0, 4) == 0 && memcmp(bytes + 4, "012", 3) == 0);
    result("copy_file_range, no such flag", sys(SYS_copy_file_range, a, NULL, b, NULL, 3, 1));
}
