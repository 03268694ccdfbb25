/* SPDX-License-Identifier: BSD-2-Clause */
/* no_such_call.c: numbers that are no call's. */
#include "conform.h"

CONFORM(no_such_call)
{
    result("511", sys(511));
    result("600", sys(600));
    result("-1", sys(-1));
    result("the lowest", sys(INT64_MIN));
    result("1 << 31", sys(1L << 31));
    result("_sysctl, which is no more", sys(156));
}
