/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counters.c: the node's counters count every entry once, by its cause, and looking at them is none.
 */
#include "promise.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <tacet.h>
#include <unistd.h>

static long bare(long number, long a, long b)
{
    long result;

    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b) : "rcx", "r11", "memory");
    return result;
}

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
        bare(SYS_getpid, 0, 0);
    PROMISE(counters->system_calls - calls == 12345, "12345 calls count %lu",
            (unsigned long)(counters->system_calls - calls));
    PROMISE(tacet_kernel_entries(0) - all == 12345, "and nothing else does");

    /* Calls that are not there, whatever their number, count too. */
    calls = counters->system_calls;
    PROMISE(bare(400, 0, 0) == -ENOSYS && bare(100000, 0, 0) == -ENOSYS && bare(-1, 0, 0) == -ENOSYS,
            "not there");
    PROMISE(counters->system_calls - calls == 3, "three calls count %lu",
            (unsigned long)(counters->system_calls - calls));

    /* A fault of the kernel's own copy from the program's memory is a page fault, once. */
    uint64_t faults = counters->exceptions[14];
    all = tacet_kernel_entries(0);
    PROMISE(bare(SYS_access, 0x123456789000, 0) == -EFAULT, "a path that is nowhere");
    PROMISE(counters->exceptions[14] - faults == 1, "one page fault, counted %lu",
            (unsigned long)(counters->exceptions[14] - faults));
    PROMISE(tacet_kernel_entries(0) - all == 2, "with its call, two entries: %lu",
            (unsigned long)(tacet_kernel_entries(0) - all));

    /* The kernel's addresses are refused by their value: no fault at all. */
    faults = counters->exceptions[14];
    PROMISE(bare(SYS_access, (long)0xffffffff80100000, 0) == -EFAULT, "a path in the kernel");
    PROMISE(counters->exceptions[14] == faults, "no fault");

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
    snprintf(expected, sizeof(expected), "cpu0 exception 14 %lu page fault\n",
             (unsigned long)counters->exceptions[14]);
    PROMISE(strstr(text, expected), "page faults in: %s", text);
    PROMISE(!strstr(text, "interrupt "), "no interrupts in: %s", text);
    PROMISE(lseek(file, 0, SEEK_SET) == 0 && read(file, expected, 5) == 5 &&
                memcmp(expected, "cpu0 ", 5) == 0,
            "it can be read again");
    close(file);
    return promises_kept();
}
