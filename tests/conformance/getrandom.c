/* SPDX-License-Identifier: BSD-2-Clause */
/* getrandom.c: bytes that nobody can predict. */
#include "conform.h"

#include <sys/random.h>

CONFORM(getrandom)
{
    unsigned char a[64] = { 0 }, b[64] = { 0 };

    result("64 bytes", sys(SYS_getrandom, a, sizeof(a), 0));
    result("64 more", sys(SYS_getrandom, b, sizeof(b), GRND_NONBLOCK));
    holds("others", memcmp(a, b, sizeof(a)) != 0);
    result("GRND_RANDOM", sys(SYS_getrandom, a, 16, GRND_RANDOM));
    result("nothing", sys(SYS_getrandom, a, 0, 0));
    result("no such flag", sys(SYS_getrandom, a, 16, 64));
    result("GRND_RANDOM and GRND_INSECURE", sys(SYS_getrandom, a, 16, GRND_RANDOM | 4));
    result("to nobody's memory", sys(SYS_getrandom, NOWHERE, 16, 0));
    result("4 bytes to the end of a page and beyond", sys(SYS_getrandom, edge(4), 8, 0));
    result("/dev/urandom", sys(SYS_read, sys(SYS_open, "/dev/urandom", O_RDONLY), a, 16));
}
