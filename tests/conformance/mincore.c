/* SPDX-License-Identifier: BSD-2-Clause */
/* mincore.c: which pages are there: those that were written. */
#include "conform.h"

CONFORM(mincore)
{
    unsigned char pages[4] = { 9, 9, 9, 9 };
    char *place =
        (char *)sys(SYS_mmap, NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    memset(place, 7, 2 * PAGE);
    result("two pages", sys(SYS_mincore, place, 2 * PAGE, pages));
    result("are there", (pages[0] & 1) + (pages[1] & 1));
    result("no more than two are reported", pages[2]);
    result("not at a page", sys(SYS_mincore, place + 1, PAGE, pages));
    result("nobody's memory", sys(SYS_mincore, 0x10000, PAGE, pages));
    result("to nobody's memory", sys(SYS_mincore, place, 2 * PAGE, NOWHERE));
}
