/* SPDX-License-Identifier: BSD-2-Clause */
/* madvise.c: advice, of which MADV_DONTNEED changes what is read. */
#include "conform.h"

CONFORM(madvise)
{
    char *place =
        (char *)sys(SYS_mmap, NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    memset(place, 7, 4 * PAGE);
    result("MADV_DONTNEED", sys(SYS_madvise, place + PAGE, PAGE, MADV_DONTNEED));
    result("zero, between what stays", place[0] * 100 + place[PAGE] * 10 + place[2 * PAGE]);
    result("MADV_NORMAL", sys(SYS_madvise, place, 4 * PAGE, MADV_NORMAL));
    result("MADV_WILLNEED", sys(SYS_madvise, place, 4 * PAGE, MADV_WILLNEED));
    result("MADV_HUGEPAGE", sys(SYS_madvise, place, 4 * PAGE, MADV_HUGEPAGE));
    result("its content has stayed", place[0]);
    result("a length that is no page's", sys(SYS_madvise, place, 1, MADV_NORMAL));
    result("no length", sys(SYS_madvise, place, 0, MADV_NORMAL));
    result("no such advice", sys(SYS_madvise, place, PAGE, 9999));
    result("not at a page", sys(SYS_madvise, place + 1, PAGE, MADV_NORMAL));
    result("nobody's memory", sys(SYS_madvise, 0x10000, PAGE, MADV_DONTNEED));
    sys(SYS_munmap, place + PAGE, PAGE);
    result("over a hole", sys(SYS_madvise, place, 4 * PAGE, MADV_DONTNEED));
}
