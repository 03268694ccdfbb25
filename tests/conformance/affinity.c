/* SPDX-License-Identifier: BSD-2-Clause */
/* affinity.c: the CPUs that this thread may use, and the one it uses. */
#include "conform.h"

#include <sys/mman.h>

/* A set of CPUs is as large as the caller says: what it has beyond the machine's CPUs is not looked at. */
static void bits_beyond_the_machine(const unsigned long *own)
{
    unsigned long wide[512] = { 0 }, seen[512];
    char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    for (unsigned i = 0; i < 512; i++)
        seen[i] = 0x5a5a;
    result("room for 1,024 CPUs", sys(SYS_sched_getaffinity, 0, 128, seen));
    result("room for 32,768 CPUs", sys(SYS_sched_getaffinity, 0, sizeof(seen), seen));
    holds("beyond the machine's CPUs nothing is written", seen[1] == 0x5a5a && seen[511] == 0x5a5a);
    result("room whose bits are beyond 2^32", sys(SYS_sched_getaffinity, 0, 1UL << 29, seen));
    result("room that is beyond 2^32", sys(SYS_sched_getaffinity, 0, (1UL << 32) + 8, seen));
    wide[1] = 1;
    result("set to CPU 64 alone", sys(SYS_sched_setaffinity, 0, 16, wide));
    wide[1] = 0;
    wide[511] = ~0UL;
    result("set to the last of 32,768", sys(SYS_sched_setaffinity, 0, sizeof(wide), wide));
    wide[0] = own[0];
    result("set to what it is and CPUs that there are not",
           sys(SYS_sched_setaffinity, 0, sizeof(wide), wide));
    sys(SYS_sched_getaffinity, 0, 128, seen);
    holds("is what it was", seen[0] == own[0]);
    result("set by a byte", sys(SYS_sched_setaffinity, 0, 1, wide));
    result("set by nothing", sys(SYS_sched_setaffinity, 0, 0, wide));
    munmap(pages + PAGE, PAGE);
    *(unsigned long *)(pages + PAGE - 8) = own[0];
    result("set from a word at the end of memory, of a larger set",
           sys(SYS_sched_setaffinity, 0, 128, pages + PAGE - 8));
    result("set from memory that ends within the word", sys(SYS_sched_setaffinity, 0, 128, pages + PAGE - 4));
}

CONFORM(affinity)
{
    unsigned long mask[16], one[16] = { 0 };
    unsigned cpu = 999, node = 999;
    long bytes = sys(SYS_sched_getaffinity, 0, sizeof(mask), mask);

    holds("some CPU", bytes > 0 && bytes % 8 == 0 && mask[0] != 0);
    holds("of this thread by its number",
          sys(SYS_sched_getaffinity, sys(SYS_gettid), sizeof(mask), mask) == bytes);
    result("room that is no multiple of 8", sys(SYS_sched_getaffinity, 0, 7, mask));
    result("no room", sys(SYS_sched_getaffinity, 0, 0, mask));
    result("to nobody's memory", sys(SYS_sched_getaffinity, 0, 128, NOWHERE));
    result("of nobody", sys(SYS_sched_getaffinity, 4000000, 128, mask));
    result("set to what it is", sys(SYS_sched_setaffinity, 0, bytes, mask));
    result("set to no CPU", sys(SYS_sched_setaffinity, 0, sizeof(one), one));
    result("set from nobody's memory", sys(SYS_sched_setaffinity, 0, 128, NOWHERE));
    result("set of nobody", sys(SYS_sched_setaffinity, 4000000, 128, mask));
    bits_beyond_the_machine(mask);
    result("getcpu", sys(SYS_getcpu, &cpu, &node, NULL));
    holds("is one of them", cpu < 64 && mask[0] >> cpu & 1);
    result("the node", node);
    result("getcpu that asks nothing", sys(SYS_getcpu, NULL, NULL, NULL));
    result("getcpu to nobody's memory", sys(SYS_getcpu, NOWHERE, NULL, NULL));
}
