/* SPDX-License-Identifier: BSD-2-Clause */
/* mremap.c: memory made longer, shorter, moved with what is in it. */
#include "conform.h"

CONFORM(mremap)
{
    const int rw = PROT_READ | PROT_WRITE, own = MAP_PRIVATE | MAP_ANONYMOUS;
    char *place = (char *)sys(SYS_mmap, NULL, 65536, rw, own, -1, 0), *moved;

    memset(place, 7, 65536);
    holds("shorter, where it is", sys(SYS_mremap, place, 65536, 8192, 0) == (long)place);
    result("the rest is gone", sys(SYS_open, place + 8192, O_RDONLY));
    holds("longer, where there is room", sys(SYS_mremap, place, 8192, 16384, 0) == (long)place);
    result("old and new bytes", place[8191] * 10 + place[8192]);
    sys(SYS_mmap, place + 16384, 4096, rw, own | MAP_FIXED, -1, 0);
    result("longer, where there is none", sys(SYS_mremap, place, 16384, 32768, 0));
    moved = (char *)sys(SYS_mremap, place, 16384, 32768, MREMAP_MAYMOVE);
    holds("moved", moved != place && (unsigned long)moved < -4095UL);
    result("with its content", moved[0] * 100 + moved[8191] * 10 + moved[32767]);
    result("the old place is gone", sys(SYS_open, place, O_RDONLY));
    place = (char *)sys(SYS_mmap, NULL, 32768, rw, own, -1, 0);
    holds("to a place of one's choice",
          sys(SYS_mremap, moved, 32768, 32768, MREMAP_MAYMOVE | MREMAP_FIXED, place) == (long)place);
    result("with its content there", place[0]);
    result("onto itself", sys(SYS_mremap, place, 32768, 32768, MREMAP_MAYMOVE | MREMAP_FIXED, place + 4096));
    result("a place without MREMAP_MAYMOVE", sys(SYS_mremap, place, 4096, 4096, MREMAP_FIXED, place + 65536));
    result("no new length", sys(SYS_mremap, place, 4096, 0, MREMAP_MAYMOVE));
    result("not at a page", sys(SYS_mremap, place + 1, 4096, 8192, MREMAP_MAYMOVE));
    result("nobody's memory", sys(SYS_mremap, 0x10000, 4096, 8192, MREMAP_MAYMOVE));
    result("a flag that there is not", sys(SYS_mremap, place, 4096, 8192, 64));
    result("beyond all", sys(SYS_mremap, place, 4096, 1UL << 47, MREMAP_MAYMOVE));
}
