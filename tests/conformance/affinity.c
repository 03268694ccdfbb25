/* SPDX-License-Identifier: BSD-2-Clause */
/* affinity.c: the CPUs that this thread may use, and the one it uses. */
#include "conform.h"

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
    result("getcpu", sys(SYS_getcpu, &cpu, &node, NULL));
    holds("is one of them", cpu < 64 && mask[0] >> cpu & 1);
    result("the node", node);
    result("getcpu that asks nothing", sys(SYS_getcpu, NULL, NULL, NULL));
    result("getcpu to nobody's memory", sys(SYS_getcpu, NOWHERE, NULL, NULL));
}
