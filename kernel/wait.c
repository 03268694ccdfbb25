/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait.c: see wait.h. Nobody is told yet when something happens: whoever waits looks every millisecond, and a
 * program that does not wait pays nothing.
 */
#include "wait.h"
#include "arch.h"
#include "clock.h"
#include "process.h"
#include "syscall.h"

#define LOOK_NS 1000000

int file_wait(uint64_t deadline_ns)
{
    uint64_t next = clock_now_ns() + LOOK_NS;

    return thread_sleep(NULL, next < deadline_ns ? next : deadline_ns) == -EINTR ? -EINTR : 0;
}

void file_broken_pipe(void)
{
    sys_kill(arch_process()->pid, SIGNAL_PIPE);
}
