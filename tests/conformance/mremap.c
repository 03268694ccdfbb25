/* SPDX-License-Identifier: BSD-2-Clause */
/* mremap.c: memory made longer, shorter, moved with what is in it. */
#include "conform.h"

CONFORM(mremap)
{
    const int rw = PROT_READ | PROT_WRITE, own = MAP_PRIVATE | MAP_ANONYMOUS;
    char *place = (char *)sys(SYS_mmap, NULL, 16 * PAGE, rw, own, -1, 0), *moved;

    memset(place, 7, 16 * PAGE);
    holds("shorter, where it is", sys(SYS_mremap, place, 16 * PAGE, 2 * PAGE, 0) == (long)place);
    result("the rest is gone", sys(SYS_open, place + 2 * PAGE, O_RDONLY));
    holds("longer, where there is room", sys(SYS_mremap, place, 2 * PAGE, 4 * PAGE, 0) == (long)place);
    result("old and new bytes", place[2 * PAGE - 1] * 10 + place[2 * PAGE]);
    sys(SYS_mmap, place + 4 * PAGE, PAGE, rw, own | MAP_FIXED, -1, 0);
    result("longer, where there is none", sys(SYS_mremap, place, 4 * PAGE, 8 * PAGE, 0));
    moved = (char *)sys(SYS_mremap, place, 4 * PAGE, 8 * PAGE, MREMAP_MAYMOVE);
    holds("moved", moved != place && (unsigned long)moved < -4095UL);
    result("with its content", moved[0] * 100 + moved[2 * PAGE - 1] * 10 + moved[8 * PAGE - 1]);
    result("the old place is gone", sys(SYS_open, place, O_RDONLY));
    place = (char *)sys(SYS_mmap, NULL, 8 * PAGE, rw, own, -1, 0);
    holds("to a place of one's choice",
          sys(SYS_mremap, moved, 8 * PAGE, 8 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, place) == (long)place);
    result("with its content there", place[0]);
    result("onto itself",
           sys(SYS_mremap, place, 8 * PAGE, 8 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, place + PAGE));
    result("a place without MREMAP_MAYMOVE",
           sys(SYS_mremap, place, PAGE, PAGE, MREMAP_FIXED, place + 16 * PAGE));
    result("no new length", sys(SYS_mremap, place, PAGE, 0, MREMAP_MAYMOVE));
    result("not at a page", sys(SYS_mremap, place + 1, PAGE, 2 * PAGE, MREMAP_MAYMOVE));
    result("nobody's memory", sys(SYS_mremap, 0x10000, PAGE, 2 * PAGE, MREMAP_MAYMOVE));
    result("a flag that there is not", sys(SYS_mremap, place, PAGE, 2 * PAGE, 64));
    result("beyond all", sys(SYS_mremap, place, PAGE, 1UL << 47, MREMAP_MAYMOVE));
}
