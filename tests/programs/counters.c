/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counters.c: the node's counters count every entry once, by its cause; reading them is no entry.
 */
#include "machine.h"
#include "promise.h"
#include "raw_call.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <tacet.h>
#include <unistd.h>

int main(void)
{
    const volatile struct tacet_counters *counters = tacet_counters(0);

    PROMISE(counters, "the node shows its counters");
    if (!counters)
        return promises_kept();

    uint64_t calls = counters->system_calls, all = tacet_kernel_entries(0);
    for (int i = 0; i < 1000; i++)
        (void)tacet_kernel_entries(0);
    PROMISE(tacet_kernel_entries(0) == all, "looking is no entry");

    for (int i = 0; i < 12345; i++)
        bare_call(SYS_getpid, 0, 0, 0);
    PROMISE(counters->system_calls - calls == 12345, "12345 calls count %lu",
            (unsigned long)(counters->system_calls - calls));
    PROMISE(tacet_kernel_entries(0) - all == 12345, "and nothing else does");

    /* Calls that do not exist count too, whatever their number. */
    calls = counters->system_calls;
    PROMISE(bare_call(390, 0, 0, 0) == -ENOSYS && bare_call(100000, 0, 0, 0) == -ENOSYS &&
                bare_call(-1, 0, 0, 0) == -ENOSYS,
            "not there");
    PROMISE(counters->system_calls - calls == 3, "three calls count %lu",
            (unsigned long)(counters->system_calls - calls));

    /* A fault of the kernel's own copy from the program's memory is a page fault, once. */
    uint64_t faults = counters->exceptions[MACHINE_PAGE_FAULT];
    all = tacet_kernel_entries(0);
    PROMISE(bare_call(SYS_access, NOT_THERE, 0, 0) == -EFAULT, "a path that is nowhere");
    PROMISE(counters->exceptions[MACHINE_PAGE_FAULT] - faults == 1, "one page fault, counted %lu",
            (unsigned long)(counters->exceptions[MACHINE_PAGE_FAULT] - faults));
    PROMISE(tacet_kernel_entries(0) - all == 2, "with its call, two entries: %lu",
            (unsigned long)(tacet_kernel_entries(0) - all));

    /* The kernel's addresses are refused by their value: no fault at all. */
    faults = counters->exceptions[MACHINE_PAGE_FAULT];
    PROMISE(bare_call(SYS_access, KERNEL_IMAGE, 0, 0) == -EFAULT, "a path in the kernel");
    PROMISE(counters->exceptions[MACHINE_PAGE_FAULT] == faults, "no fault");

    for (int i = 0; i < TACET_INTERRUPTS; i++)
        PROMISE(counters->interrupts[i] == 0, "interrupt %d", i);

    /* The file says the same: it is made when it is opened. */
    static char text[65536], expected[64];
    int file = open("/proc/tacet/counters", O_RDONLY);
    calls = counters->system_calls;
    ssize_t got = read(file, text, sizeof(text) - 1);
    PROMISE(file >= 0 && got > 0, "the file can be read");
    snprintf(expected, sizeof(expected), "cpu0 system_calls %lu\n", (unsigned long)calls);
    PROMISE(strncmp(text, expected, strlen(expected)) == 0, "it begins with %.40s", text);
    snprintf(expected, sizeof(expected), "cpu0 exception %u %lu " MACHINE_PAGE_FAULT_NAME "\n",
             MACHINE_PAGE_FAULT, (unsigned long)counters->exceptions[MACHINE_PAGE_FAULT]);
    PROMISE(strstr(text, expected), "page faults in: %s", text);
    PROMISE(!strstr(text, "interrupt "), "no interrupts in: %s", text);
    PROMISE(lseek(file, 0, SEEK_SET) == 0 && read(file, expected, 5) == 5 &&
                memcmp(expected, "cpu0 ", 5) == 0,
            "it can be read again");
    close(file);
    return promises_kept();
}
