/* SPDX-License-Identifier: BSD-2-Clause */
/* write.c: what can be written says how much it took; the rest says why not. */
#include "conform.h"

CONFORM(write)
{
    int null = (int)sys(SYS_open, "/dev/null", O_WRONLY);

    result("to /dev/null", sys(SYS_write, null, "12345", 5));
    result("nothing", sys(SYS_write, null, "", 0));
    result("to /dev/zero", sys(SYS_write, sys(SYS_open, "/dev/zero", O_RDWR), "12345", 5));
    result("to /dev/full", sys(SYS_write, sys(SYS_open, "/dev/full", O_WRONLY), "12345", 5));
    result("what was opened to read", sys(SYS_write, sys(SYS_open, "/dev/null", O_RDONLY), "12345", 5));
    result("a file opened to read", sys(SYS_write, sys(SYS_open, TEXT, O_RDONLY), "12345", 5));
    result("a folder", sys(SYS_write, sys(SYS_open, DATA, O_RDONLY), "12345", 5));
    result("a closed descriptor", sys(SYS_write, 40, "12345", 5));
    result("standard output, from nobody's memory", sys(SYS_write, 1, NOWHERE, 5));
    result("standard output, from the kernel's memory", sys(SYS_write, 1, KERNEL_SIDE, 5));
    result("standard output, nothing", sys(SYS_write, 1, "", 0));
}
