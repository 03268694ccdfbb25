/* SPDX-License-Identifier: BSD-2-Clause */
/* access.c: what the caller, who is root, may do. */
#include "conform.h"

CONFORM(access)
{
    result("is it there", sys(SYS_access, TEXT, F_OK));
    result("read", sys(SYS_access, TEXT, R_OK));
    result("execute what is no program", sys(SYS_access, TEXT, X_OK));
    result("enter a folder", sys(SYS_access, DATA, X_OK));
    result("what is not there", sys(SYS_access, "/none", F_OK));
    result("no such right", sys(SYS_access, TEXT, 8));
    result("nobody's memory", sys(SYS_access, NOWHERE, F_OK));
    result("a link to nothing", sys(SYS_access, "/data/dangling", F_OK));
    result("write a device", sys(SYS_access, "/dev/null", W_OK));
}
