/* SPDX-License-Identifier: BSD-2-Clause */
/* mprotect.c: rights of pages, part of a map at a time. */
#include "conform.h"

CONFORM(mprotect)
{
    char *place =
        (char *)sys(SYS_mmap, NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int zero = (int)sys(SYS_open, "/dev/zero", O_RDONLY);

    memset(place, 7, 16384);
    result("the second page read-only", sys(SYS_mprotect, place + 4096, 4096, PROT_READ));
    result("the kernel cannot write it", sys(SYS_read, zero, place + 4096, 1));
    result("it can be read", place[4096]);
    result("no rights", sys(SYS_mprotect, place + 4096, 4096, PROT_NONE));
    result("the kernel cannot read it", sys(SYS_open, place + 4096, O_RDONLY));
    result("all rights again", sys(SYS_mprotect, place, 16384, PROT_READ | PROT_WRITE));
    result("its content has stayed", place[4096]);
    result("not at a page", sys(SYS_mprotect, place + 1, 4096, PROT_READ));
    result("no length", sys(SYS_mprotect, place, 0, PROT_READ));
    result("nobody's memory", sys(SYS_mprotect, 0x10000, 4096, PROT_READ));
    result("beyond the user's half", sys(SYS_mprotect, KERNEL_SIDE, 4096, PROT_READ));
    result("beyond all", sys(SYS_mprotect, place, -4096L, PROT_READ));
    result("rights that there are not", sys(SYS_mprotect, place, 4096, 0x100));
    result("write and execute", sys(SYS_mprotect, place, 4096, PROT_READ | PROT_WRITE | PROT_EXEC));
    sys(SYS_munmap, place + 8192, 4096);
    result("over a hole", sys(SYS_mprotect, place, 16384, PROT_READ));
}
