/* SPDX-License-Identifier: BSD-2-Clause */
/* munmap.c: memory given back, whole or in part. */
#include "conform.h"

CONFORM(munmap)
{
    char *place =
        (char *)sys(SYS_mmap, NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    memset(place, 7, 16384);
    result("a page in the middle", sys(SYS_munmap, place + 4096, 4096));
    result("is gone for the kernel", sys(SYS_open, place + 4096, O_RDONLY));
    result("its neighbours stay", place[0] + place[8192]);
    result("again", sys(SYS_munmap, place + 4096, 4096));
    result("over the hole", sys(SYS_munmap, place, 16384));
    result("not at a page", sys(SYS_munmap, place + 1, 4096));
    result("no length", sys(SYS_munmap, place, 0));
    result("beyond the user's half", sys(SYS_munmap, KERNEL_SIDE, 4096));
    result("beyond all", sys(SYS_munmap, place, -4096L));
}
