/* SPDX-License-Identifier: BSD-2-Clause */
/* mmap.c: anonymous memory: where, how much, with which rights. */
#include "conform.h"

static long mapped(void *place, size_t bytes, int rights, int flags)
{
    long address = sys(SYS_mmap, place, bytes, rights, flags, -1, 0);

    return address < 0 && address >= -4095 ? address : address % (long)PAGE;
}

CONFORM(mmap)
{
    const int rw = PROT_READ | PROT_WRITE, own = MAP_PRIVATE | MAP_ANONYMOUS;
    char *place = (char *)sys(SYS_mmap, NULL, 4 * PAGE, rw, own, -1, 0);
    unsigned sum = 0;

    holds("a place", place && (unsigned long)place % PAGE == 0);
    for (unsigned i = 0; i < 4 * PAGE; i++)
        sum += (unsigned char)place[i];
    result("the sum of its bytes", sum);
    memset(place, 7, 4 * PAGE);
    holds("a hint that is free is taken",
          (sys(SYS_munmap, place + PAGE, PAGE), sys(SYS_mmap, place + PAGE, PAGE, rw, own, -1, 0)) ==
              (long)(place + PAGE));
    result("and is zero", place[PAGE]);
    holds("a hint in use is not", sys(SYS_mmap, place, PAGE, rw, own, -1, 0) != (long)place);
    result("there it stays", place[0]);
    holds("MAP_FIXED takes the place", sys(SYS_mmap, place, PAGE, rw, own | MAP_FIXED, -1, 0) == (long)place);
    result("and is zero then", place[0]);
    result("MAP_FIXED_NOREPLACE on what is there", mapped(place, PAGE, rw, own | MAP_FIXED_NOREPLACE));
    result("MAP_FIXED, not at a page", mapped(place + 1, PAGE, rw, own | MAP_FIXED));
    result("MAP_FIXED beyond the user's half", mapped(KERNEL_SIDE, PAGE, rw, own | MAP_FIXED));
    result("no length", mapped(NULL, 0, rw, own));
    result("a length beyond all", mapped(NULL, (size_t)-1, rw, own));
    result("a length beyond the address space", mapped(NULL, 1UL << 47, PROT_NONE, own));
    result("a byte", mapped(NULL, 1, rw, own));
    result("neither private nor shared", mapped(NULL, PAGE, rw, MAP_ANONYMOUS));
    result("shared", mapped(NULL, PAGE, rw, MAP_SHARED | MAP_ANONYMOUS));
    result("no rights, a gibibyte", mapped(NULL, 1UL << 30, PROT_NONE, own | MAP_NORESERVE));
    result("the rights that there are not", mapped(NULL, PAGE, rw | 0x40, own));
    result("MAP_POPULATE", mapped(NULL, PAGE, rw, own | MAP_POPULATE));
    result("MAP_STACK", mapped(NULL, 16 * PAGE, rw, own | MAP_STACK));
    result("write and execute", mapped(NULL, PAGE, rw | PROT_EXEC, own));
    result("execute", mapped(NULL, PAGE, PROT_READ | PROT_EXEC, own));
}
