/* SPDX-License-Identifier: BSD-2-Clause */
/* thread_start.c: what a C library registers with the kernel when it begins: set_tid_address,
 * set_robust_list. */
#include "conform.h"

CONFORM(thread_start)
{
    static struct {
        void *list[3];
    } head = { { &head, NULL, NULL } };
    void *registered = NULL;
    size_t bytes = 0;
    int word;

    holds("set_tid_address answers the thread", sys(SYS_set_tid_address, &word) == sys(SYS_gettid));
    result("set_robust_list", sys(SYS_set_robust_list, &head, 24));
    result("set_robust_list of another size", sys(SYS_set_robust_list, &head, 16));
    result("get_robust_list", sys(SYS_get_robust_list, 0, &registered, &bytes));
    holds("is what was set", registered == &head && bytes == 24);
    result("get_robust_list of nobody", sys(SYS_get_robust_list, 4000000, &registered, &bytes));
    result("get_robust_list to nobody's memory", sys(SYS_get_robust_list, 0, NOWHERE, &bytes));
}
