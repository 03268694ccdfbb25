/* SPDX-License-Identifier: BSD-2-Clause */
/* sched.c: policies and priorities: an ordinary program's. */
#include "conform.h"

CONFORM(sched)
{
    struct sched_param parameter = { .sched_priority = 9 };
    struct timespec interval = { -1, -1 };

    result("sched_yield", sys(SYS_sched_yield));
    result("the policy", sys(SYS_sched_getscheduler, 0));
    result("the policy of nobody", sys(SYS_sched_getscheduler, 4000000));
    result("the policy of -1", sys(SYS_sched_getscheduler, -1));
    result("sched_getparam", sys(SYS_sched_getparam, 0, &parameter));
    result("the priority", parameter.sched_priority);
    result("sched_getparam to nobody's memory", sys(SYS_sched_getparam, 0, NULL));
    result("highest, SCHED_FIFO", sys(SYS_sched_get_priority_max, SCHED_FIFO));
    result("lowest, SCHED_FIFO", sys(SYS_sched_get_priority_min, SCHED_FIFO));
    result("highest, SCHED_OTHER", sys(SYS_sched_get_priority_max, SCHED_OTHER));
    result("highest, no such policy", sys(SYS_sched_get_priority_max, 99));
    result("set to what it is", sys(SYS_sched_setscheduler, 0, SCHED_OTHER, &parameter));
    parameter.sched_priority = 5;
    result("SCHED_OTHER with a priority", sys(SYS_sched_setscheduler, 0, SCHED_OTHER, &parameter));
    result("no such policy", sys(SYS_sched_setscheduler, 0, 99, &parameter));
    result("sched_rr_get_interval", sys(SYS_sched_rr_get_interval, 0, &interval));
    result("getpriority", sys(SYS_getpriority, PRIO_PROCESS, 0));
    result("setpriority to what it is", sys(SYS_setpriority, PRIO_PROCESS, 0, 0));
    result("getpriority of no such kind", sys(SYS_getpriority, 9, 0));
}
