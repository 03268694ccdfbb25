/* SPDX-License-Identifier: BSD-2-Clause */
/* brk.c: the heap's end; an answer that did not change is the refusal. */
#include "conform.h"

CONFORM(brk)
{
    unsigned long end = (unsigned long)sys(SYS_brk, 0);
    unsigned sum = 0;

    holds("an end", end != 0);
    holds("further", (unsigned long)sys(SYS_brk, end + 100000) == end + 100000);
    for (unsigned i = 0; i < 100000; i++)
        sum += ((unsigned char *)end)[i];
    result("the new bytes' sum", sum);
    memset((void *)end, 7, 100000);
    holds("back", (unsigned long)sys(SYS_brk, end) == end);
    sys(SYS_brk, end + 100000);
    result("grown again it is zero after the old page", ((unsigned char *)end)[90000]);
    holds("beyond all is refused", (unsigned long)sys(SYS_brk, -4096L) == end + 100000);
    holds("before the program is refused", (unsigned long)sys(SYS_brk, 4096) == end + 100000);
    sys(SYS_brk, end);
}
