/* SPDX-License-Identifier: BSD-2-Clause */
/* timerfd.c: a timer that is read. */
#include "conform.h"

#include <sys/timerfd.h>

CONFORM(timerfd)
{
    struct itimerspec when = { { 0, 2000000 }, { 0, 2000000 } }, now;
    uint64_t times = 0, begin = now_ns();
    int timer = (int)sys(SYS_timerfd_create, CLOCK_MONOTONIC, 0);

    result("made", timer);
    if (timer < 0)
        return;
    result("set", sys(SYS_timerfd_settime, timer, 0, &when, NULL));
    result("get", sys(SYS_timerfd_gettime, timer, &now));
    holds("what is left is no more", now.it_interval.tv_nsec == 2000000 && now.it_value.tv_nsec <= 2000000);
    result("read waits", sys(SYS_read, timer, &times, 8));
    holds("not before it is over", now_ns() - begin >= 2000000 && times >= 1);
    rest_ms(7);
    sys(SYS_read, timer, &times, 8);
    holds("counts what was missed", times >= 3);
    result("read 4 bytes", sys(SYS_read, timer, &times, 4));
    when = (struct itimerspec){ { 0, 0 }, { 0, 0 } };
    result("off", sys(SYS_timerfd_settime, timer, 0, &when, &now));
    holds("what it was", now.it_interval.tv_nsec == 2000000);
    sys(SYS_fcntl, timer, F_SETFL, O_NONBLOCK);
    result("read, off", sys(SYS_read, timer, &times, 8));
    when.it_value.tv_nsec = 1000000000;
    result("no time at all", sys(SYS_timerfd_settime, timer, 0, &when, NULL));
    result("no such clock", sys(SYS_timerfd_create, 99, 0));
    result("no such flag", sys(SYS_timerfd_create, CLOCK_MONOTONIC, 1));
    result("of what is none", sys(SYS_timerfd_gettime, 0, &now));
}
