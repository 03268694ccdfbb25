/* SPDX-License-Identifier: BSD-2-Clause */
/* eventfd.c: a counter that can be waited for. */
#include "conform.h"

#include <sys/eventfd.h>

CONFORM(eventfd)
{
    uint64_t value = 0;
    int event = (int)sys(SYS_eventfd2, 3, EFD_NONBLOCK);
    struct pollfd set = { event, POLLIN | POLLOUT, 0 };
    char link[32], name[64];

    result("made", event);
    result("poll", sys(SYS_poll, &set, 1, 0) * 100 + set.revents);
    result("read", sys(SYS_read, event, &value, 8));
    result("its first value", (long)value);
    result("read of 0", sys(SYS_read, event, &value, 8));
    value = 5;
    result("add", sys(SYS_write, event, &value, 8));
    sys(SYS_write, event, &value, 8);
    sys(SYS_read, event, &value, 8);
    result("the sum", (long)value);
    value = UINT64_MAX;
    result("add the highest", sys(SYS_write, event, &value, 8));
    value--;
    result("add what just fits", sys(SYS_write, event, &value, 8));
    value = 1;
    result("add to the full one", sys(SYS_write, event, &value, 8));
    sys(SYS_poll, &set, 1, 0);
    result("poll of the full one", set.revents);
    result("read 7 bytes", sys(SYS_read, event, &value, 7));
    result("write 7 bytes", sys(SYS_write, event, &value, 7));
    event = (int)sys(SYS_eventfd2, 3, EFD_SEMAPHORE);
    sys(SYS_read, event, &value, 8);
    result("one at a time", (long)value);
    snprintf(link, sizeof(link), "/proc/self/fd/%d", event);
    result("opened again by its link", sys(SYS_open, link, O_RDWR));
    memset(name, 0, sizeof(name));
    sys(SYS_readlink, link, name, sizeof(name) - 1);
    text("where the link leads", name);
    result("no such flag", sys(SYS_eventfd2, 0, 2));
    holds("eventfd", sys(SYS_eventfd, 1) > 0);
}
