/* SPDX-License-Identifier: BSD-2-Clause */
/* close.c: a number is free again, and only once. */
#include "conform.h"

CONFORM(close)
{
    int file = (int)sys(SYS_open, TEXT, O_RDONLY);

    result("open", file);
    result("close", sys(SYS_close, file));
    result("again", sys(SYS_close, file));
    result("the number is used again", sys(SYS_open, TEXT, O_RDONLY));
    result("-1", sys(SYS_close, -1));
    result("beyond the table", sys(SYS_close, 1 << 30));
}
