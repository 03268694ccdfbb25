/* SPDX-License-Identifier: BSD-2-Clause */
/* prlimit64.c: limits, read, and set to what they are. */
#include "conform.h"
#include "tests/programs/machine.h"

CONFORM(prlimit64)
{
    struct rlimit limit = { 7, 3 }, old;

    result("RLIMIT_NOFILE", sys(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &old));
    holds("descriptors enough", old.rlim_cur >= 256 && old.rlim_max >= old.rlim_cur);
    result("the same by getrlimit", sys(MACHINE_GETRLIMIT, RLIMIT_NOFILE, &limit));
    holds("is the same", limit.rlim_cur == old.rlim_cur && limit.rlim_max == old.rlim_max);
    result("RLIMIT_STACK", sys(SYS_prlimit64, 0, RLIMIT_STACK, NULL, &old));
    holds("mebibytes", old.rlim_cur >= 1 << 20);
    result("RLIMIT_CORE", sys(SYS_prlimit64, 0, RLIMIT_CORE, NULL, &old));
    result("set to what it is", sys(SYS_prlimit64, 0, RLIMIT_CORE, &old, NULL));
    result("of this process by number", sys(SYS_prlimit64, sys(SYS_getpid), RLIMIT_AS, NULL, &old));
    result("no such limit", sys(SYS_prlimit64, 0, 99, NULL, &old));
    result("of nobody", sys(SYS_prlimit64, 4000000, RLIMIT_AS, NULL, &old));
    result("to nobody's memory", sys(SYS_prlimit64, 0, RLIMIT_AS, NULL, NOWHERE));
    result("from nobody's memory", sys(SYS_prlimit64, 0, RLIMIT_CORE, NOWHERE, NULL));
    limit = (struct rlimit){ 10, 5 };
    result("more than one may have", sys(SYS_prlimit64, 0, RLIMIT_CORE, &limit, NULL));
    result("getrlimit, no such limit", sys(MACHINE_GETRLIMIT, 99, &limit));
    result("getrlimit to nobody's memory", sys(MACHINE_GETRLIMIT, RLIMIT_AS, NOWHERE));
}
