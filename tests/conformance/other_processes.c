/* SPDX-License-Identifier: BSD-2-Clause */
/* other_processes.c: a program is one process; those who would start another are refused here and not
 * there. */
#include "conform.h"

#include <sys/wait.h>

/* A child that ends at once; its parent waits for it. */
static long child_of(long number)
{
    long child = sys(number);

    if (child == 0)
        sys(SYS_exit_group, 7);
    if (child > 0) {
        int status = 0;

        sys(SYS_wait4, child, &status, 0, NULL);
        return WEXITSTATUS(status);
    }
    return child;
}

CONFORM(other_processes)
{
    int status;

    result("a child's status", child_of(SYS_fork));
    result("execve of what is not there", sys(SYS_execve, "/none", NULL, NULL));
    result("wait for nobody", sys(SYS_wait4, -1, &status, 0, NULL));
    result("wait for nobody, not long", sys(SYS_wait4, -1, &status, WNOHANG, NULL));
    result("wait, no such flag", sys(SYS_wait4, -1, &status, 0x10000000, NULL));
    result("waitid for nobody", sys(SYS_waitid, P_ALL, 0, NULL, WEXITED, NULL));
    result("waitid for no kind of end", sys(SYS_waitid, P_ALL, 0, NULL, 0, NULL));
}
