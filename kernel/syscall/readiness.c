/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * readiness.c: see readiness.h. It runs in system calls, interrupts off, with no lock held.
 */
#include "syscall/readiness.h"
#include "arch.h"
#include "lib/errno.h"
#include "process/process.h"
#include "time/clock.h"

int readiness_of(uint64_t descriptor, struct scan *scan)
{
    FILE_REFERENCE file = file_get(arch_process(), descriptor);

    if (!file)
        return -EBADF;
    unsigned ready = file->operations == &epoll_operations ? epoll_readiness(file, scan) : file_ready(file);
    scan->events |= file_events(file); /* a set has added those of its rows */
    return (int)ready;
}

long readiness_wait(int64_t (*scan_set)(void *set, struct scan *scan), void *set, uint64_t deadline_ns)
{
    for (;;) {
        struct scan scan = { 0 };
        long result = scan_set(set, &scan);

        if (result || clock_now_ns() >= deadline_ns)
            return result;
        result = file_event_wait(scan.events, deadline_ns);
        if (result)
            return result;
    }
}
