/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * readiness.c: see readiness.h. It runs in system calls, interrupts off; a CPU counts its scans by itself, so
 * that ranks share nothing.
 */
#include "syscall/readiness.h"
#include "arch.h"
#include "fs/file.h"
#include "lib/errno.h"
#include "process/event.h"
#include "process/process.h"
#include "smp/crosscall.h"
#include "time/clock.h"

static struct {
    uint64_t count;
} __attribute__((aligned(64))) scans[ARCH_CPUS_MAX];

uint64_t readiness_scan(void)
{
    return scans[arch_cpu_index()].count * ARCH_CPUS_MAX + arch_cpu_index();
}

int readiness_of(uint64_t descriptor, bool *polled)
{
    struct file *file = file_get(arch_process(), descriptor);

    if (!file)
        return -EBADF;
    crosscall_serve(); /* a program may list many large sets */
    int ready = (int)file_ready(file);
    *polled |= file_is_polled(file);
    file_put(file);
    return ready;
}

long readiness_wait(int64_t (*scan)(void *set, bool *polled), void *set, uint64_t deadline_ns)
{
    bool polled = false;

    for (;;) {
        scans[arch_cpu_index()].count++;

        long result = scan(set, &polled);
        if (result || clock_now_ns() >= deadline_ns)
            return result;
        result = event_wait_any(deadline_ns, polled);
        if (result)
            return result;
    }
}
