/* SPDX-License-Identifier: BSD-2-Clause */
/* mprotect.c: rights of pages, part of a map at a time. */
#include "conform.h"

CONFORM(mprotect)
{
    char *place =
        (char *)sys(SYS_mmap, NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int zero = (int)sys(SYS_open, "/dev/zero", O_RDONLY);

    memset(place, 7, 4 * PAGE);
    result("the second page read-only", sys(SYS_mprotect, place + PAGE, PAGE, PROT_READ));
    result("the kernel cannot write it", sys(SYS_read, zero, place + PAGE, 1));
    result("it can be read", place[PAGE]);
    result("no rights", sys(SYS_mprotect, place + PAGE, PAGE, PROT_NONE));
    result("the kernel cannot read it", sys(SYS_open, place + PAGE, O_RDONLY));
    result("all rights again", sys(SYS_mprotect, place, 4 * PAGE, PROT_READ | PROT_WRITE));
    result("its content has stayed", place[PAGE]);
    result("not at a page", sys(SYS_mprotect, place + 1, PAGE, PROT_READ));
    result("no length", sys(SYS_mprotect, place, 0, PROT_READ));
    result("nobody's memory", sys(SYS_mprotect, 0x10000, PAGE, PROT_READ));
    result("beyond the user's half", sys(SYS_mprotect, KERNEL_SIDE, PAGE, PROT_READ));
    result("beyond all", sys(SYS_mprotect, place, -PAGE, PROT_READ));
    result("rights that there are not", sys(SYS_mprotect, place, PAGE, 0x100));
    result("write and execute", sys(SYS_mprotect, place, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC));
    sys(SYS_munmap, place + 2 * PAGE, PAGE);
    result("over a hole", sys(SYS_mprotect, place, 4 * PAGE, PROT_READ));
}
