/* SPDX-License-Identifier: BSD-2-Clause */
/* munmap.c: memory given back, whole or in part. */
#include "conform.h"

CONFORM(munmap)
{
    char *place =
        (char *)sys(SYS_mmap, NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    memset(place, 7, 4 * PAGE);
    result("a page in the middle", sys(SYS_munmap, place + PAGE, PAGE));
    result("is gone for the kernel", sys(SYS_open, place + PAGE, O_RDONLY));
    result("its neighbours stay", place[0] + place[2 * PAGE]);
    result("again", sys(SYS_munmap, place + PAGE, PAGE));
    result("over the hole", sys(SYS_munmap, place, 4 * PAGE));
    result("not at a page", sys(SYS_munmap, place + 1, PAGE));
    result("no length", sys(SYS_munmap, place, 0));
    result("beyond the user's half", sys(SYS_munmap, KERNEL_SIDE, PAGE));
    result("beyond all", sys(SYS_munmap, place, -PAGE));
}
