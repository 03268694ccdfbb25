/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ppc64_entry.c: how a program of POWER enters the kernel: `ppc64_entry WHAT`. Ordinary C for Linux; the
 * tests compile it with Debian's cross compiler and its static glibc (tests/qemu/test_ppc64_entry.py).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <tacet.h>

#define CALLS 1000

static inline uint64_t ticks(void)
{
    return __builtin_ppc_get_timebase();
}

/* Returns the fewest ticks of several runs of a loop, with or without a call in it. */
static uint64_t loop(int with)
{
    uint64_t best = UINT64_MAX;

    for (int run = 0; run < 5; run++) {
        const uint64_t before = ticks();
        register long number __asm__("r0"), result __asm__("r3");

        for (int i = 0; i < CALLS; i++) {
            number = SYS_getpid;
            if (with == 0)
                __asm__ volatile("nop" : "+r"(number), "=r"(result) : : "memory", "cr0");
            else if (with == 1)
                __asm__ volatile("sc"
                                 : "+r"(number), "=r"(result)
                                 :
                                 : "memory", "cr0", "ctr", "xer", "r4", "r5", "r6", "r7", "r8", "r9", "r10",
                                   "r11", "r12");
            else
                __asm__ volatile(".machine push; .machine power9; scv 0; .machine pop"
                                 : "+r"(number), "=r"(result)
                                 :
                                 : "memory", "cr0", "cr1", "cr5", "cr6", "cr7", "ctr", "xer", "lr", "r4",
                                   "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12");
        }
        const uint64_t took = ticks() - before;
        best = took < best ? took : best;
    }
    return best;
}

/* Instructions of a call: a tick of 512 MHz is 1000/512 of them where each takes 1 ns. */
static int cost(int with)
{
    const uint64_t more = loop(with) - loop(0);

    printf("instructions %lu\n", (more * 1000 / 512 + CALLS / 2) / CALLS + 1);
    return 0;
}

/* Maps single pages, each with its own tables; all of the memory must come back. */
static int tables(void)
{
    enum { PAGES = 1500 };
    const size_t page = 65536, most = 180 << 20;
    char *const base = (char *)0x200000000000;

    for (int run = 0; run < 3; run++) {
        for (uintptr_t i = 0; i < PAGES; i++) {
            char *at = mmap(base + (i << 30), page, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
            if (at == MAP_FAILED)
                return printf("only %lu pages in run %d\n", (unsigned long)i, run), 1;
            at[i] = (char)i;
        }
        for (uintptr_t i = 0; i < PAGES; i += 3)
            if (munmap(base + (i << 30), page))
                return 2;
        for (uintptr_t i = 0; i < PAGES; i++)
            if (i % 3 && (base[(i << 30) + i] != (char)i || munmap(base + (i << 30), page)))
                return 3;
        char *all = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (all == MAP_FAILED)
            return printf("memory is lost in run %d\n", run), 4;
        if (mprotect(all + page, page, PROT_READ) || mprotect(all + (9 << 20), page, PROT_NONE))
            return 5;
        all[0] = all[2 * page] = all[most - 1] = 1;
        munmap(all, most);
    }
    puts("tables are small, and come back");
    return 0;
}

/* ---- Calls ---- */

/* Makes a call by sc or scv 0. Returns r3, negated if sc reports an error; *kernel gets the number of
 * volatile registers that hold an address of the kernel. */
static long bare(bool vectored, long number, long first, long second, int *kernel)
{
    register long r0 __asm__("r0") = number, r3 __asm__("r3") = first, r4 __asm__("r4") = second;
    uint64_t lost[9], condition;

    if (vectored)
        __asm__ volatile(".machine push; .machine power9; scv 0; .machine pop\n\tcrclr 3"
                         : "+r"(r0), "+r"(r3), "+r"(r4)
                         :
                         : "memory", "cr0", "cr1", "cr5", "cr6", "cr7", "ctr", "xer", "lr", "r5", "r6", "r7",
                           "r8", "r9", "r10", "r11", "r12");
    else
        __asm__ volatile("sc"
                         : "+r"(r0), "+r"(r3), "+r"(r4)
                         :
                         : "memory", "cr0", "ctr", "xer", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12");
    __asm__ volatile("std 4, 0(%1); std 5, 8(%1); std 6, 16(%1); std 7, 24(%1); std 8, 32(%1)\n\t"
                     "std 9, 40(%1); std 10, 48(%1); std 11, 56(%1); std 0, 64(%1); mfcr %0"
                     : "=&r"(condition)
                     : "b"(lost)
                     : "memory");
    for (unsigned i = 0; i < 9; i++)
        *kernel += lost[i] >> 60 == 0xc;
    return condition & 0x10000000 ? -r3 : r3;
}

/* Checks what a call must not change, its results, calls that do not exist, and counters. */
static int calls(void)
{
    const volatile struct tacet_counters *counters = tacet_counters(0);
    int kernel = 0;

    if (!counters)
        return 1;
    for (int vectored = 0; vectored < 2; vectored++) {
        const uint64_t before = counters->system_calls, all = tacet_kernel_entries(0);
        const uint64_t faults = counters->exceptions[3];

        for (int i = 0; i < 12345; i++)
            if (bare(vectored, SYS_getpid, 0, 0, &kernel) != 1)
                return 2;
        if (counters->system_calls - before != 12345 || tacet_kernel_entries(0) - all != 12345)
            return 3;
        if (bare(vectored, 511, 0, 0, &kernel) != -ENOSYS ||
            bare(vectored, 100000, 0, 0, &kernel) != -ENOSYS || bare(vectored, -1, 0, 0, &kernel) != -ENOSYS)
            return 4;
        if (bare(vectored, SYS_access, 0x123456789000, 0, &kernel) != -EFAULT ||
            bare(vectored, SYS_access, (long)0xc000000000400000, 0, &kernel) != -EFAULT)
            return 5;
        if (counters->exceptions[3] - faults != 1 || counters->system_calls - before != 12345 + 5)
            return 6;
    }
    if (kernel)
        return 7;
    puts("calls are as they should be");
    return 0;
}

struct event {
    uint64_t ticks;
    uint32_t kind, cpu;
    uint64_t words[2];
};

/* Switches the flight log's class of system calls on and off: each call gives an event before and after. */
static int logged(void)
{
    static union {
        char bytes[1 << 20];
        struct {
            char magic[8];
            uint32_t version, cpu_count, kinds, event_bytes;
        };
    } log;
    const int file = open("/proc/tacet/klog", O_RDWR);
    size_t bytes = 0, began = 0, ended = 0;
    int kernel = 0;

    if (file < 0 || write(file, "+syscall", 8) != 8)
        return 1;
    for (int i = 0; i < 10; i++)
        if (bare(i & 1, SYS_getpid, 77, 0, &kernel) != 1 || bare(i & 1, 100000, 77, 0, &kernel) != -ENOSYS)
            return 2;
    if (write(file, "-syscall", 8) != 8)
        return 3;
    bare(false, SYS_getpid, 77, 0, &kernel);
    close(file);
    const int again = open("/proc/tacet/klog", O_RDONLY);
    for (ssize_t got = 1; got > 0; bytes += (size_t)got)
        if ((got = read(again, log.bytes + bytes, sizeof(log.bytes) - bytes)) < 0)
            return 4;
    const char *kinds = log.bytes + 56, *at = kinds + 80 * log.kinds;
    for (const struct event *event = (const void *)(at + 16); (const char *)(event + 1) <= log.bytes + bytes;
         event++) {
        const char *kind = event->kind < log.kinds ? kinds + 80 * event->kind : "";

        began += strcmp(kind, "system_call") == 0 && event->words[1] == 77;
        ended += strcmp(kind, "system_call_end") == 0 &&
                 ((event->words[0] == SYS_getpid && event->words[1] == 1) ||
                  (event->words[0] == 100000 && event->words[1] == (uint64_t)-ENOSYS));
    }
    printf("events %zu %zu\n", began, ended);
    return began != 20 || ended != 20;
}

/* Checks the registers that a call must keep, over calls that end fast, slowly, and after a sleep. */
static int registers(void)
{
    const struct timespec moment = { 0, 1000000 };
    const long numbers[] = { SYS_getpid, SYS_sched_yield, SYS_nanosleep };

    for (unsigned i = 0; i < 3; i++) {
        uint64_t wrong = 0;

        __asm__ volatile(
            "mr 0, %1; mr 3, %2; li 4, 0; mtlr 0\n\t"
            "li 14, 1014; li 15, 1015; li 16, 1016; li 17, 1017; li 18, 1018; li 19, 1019\n\t"
            "li 20, 1020; li 21, 1021; li 22, 1022; li 23, 1023; li 24, 1024; li 25, 1025\n\t"
            "lis 9, 0x1234; ori 9, 9, 0x5678; mtcr 9; mr 26, 1; mr 27, 2; mr 28, 13; mr 29, 0\n\t"
            "sc\n\t"
            "lis 11, 0x1234; ori 11, 11, 0x5678; mfcr 10; xor 10, 10, 11; rlwinm 10, 10, 0, 4, 31\n\t"
            "xor 9, 1, 26; or 10, 10, 9; xor 9, 2, 27; or 10, 10, 9; xor 9, 13, 28; or 10, 10, 9\n\t"
            "mflr 9; xor 9, 9, 29; or 10, 10, 9\n\t"
            "xori 9, 14, 1014; or 10, 10, 9; xori 9, 15, 1015; or 10, 10, 9\n\t"
            "xori 9, 16, 1016; or 10, 10, 9; xori 9, 17, 1017; or 10, 10, 9\n\t"
            "xori 9, 18, 1018; or 10, 10, 9; xori 9, 19, 1019; or 10, 10, 9\n\t"
            "xori 9, 20, 1020; or 10, 10, 9; xori 9, 21, 1021; or 10, 10, 9\n\t"
            "xori 9, 22, 1022; or 10, 10, 9; xori 9, 23, 1023; or 10, 10, 9\n\t"
            "xori 9, 24, 1024; or 10, 10, 9; xori 9, 25, 1025; or %0, 10, 9"
            : "=r"(wrong)
            : "r"(numbers[i]), "r"(&moment)
            : "memory", "cr0", "cr1", "cr2", "cr3", "cr4", "cr5", "cr6", "cr7", "ctr", "xer", "lr", "r0",
              "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "r14", "r15", "r16", "r17",
              "r18", "r19", "r20", "r21", "r22", "r23", "r24", "r25", "r26", "r27", "r28", "r29");
        if (wrong)
            return printf("after call %ld: %lx\n", numbers[i], (unsigned long)wrong), 1;
    }
    puts("registers are as they should be");
    return 0;
}

/* ---- Interrupts between scv and the kernel's first instructions ---- */

static volatile unsigned alarms;

static void alarm_comes(int signal)
{
    (void)signal;
    alarms++;
}

static int interrupted(void)
{
    const struct sigaction action = { .sa_handler = alarm_comes, .sa_flags = SA_RESTART };
    const struct itimerval often = { { 0, 31 }, { 0, 31 } };
    uint64_t entered = 0;
    int kernel = 0;

    if (sigaction(SIGALRM, &action, NULL) || prctl(PR_SET_TIMERSLACK, 1) ||
        setitimer(ITIMER_REAL, &often, NULL))
        return 1;
    for (; alarms < 4000; entered++)
        if (bare(true, SYS_getpid, 0, 0, &kernel) != 1)
            return 2;
    if (entered < 4000 || kernel)
        return 3;
    puts("interrupted calls are as they should be");
    return 0;
}

/* ---- The decrementer, priorities ---- */

enum { INTERRUPT_TIMER = 0xf1, INTERRUPT_RANGE = 0xf5 };

static unsigned priority(void)
{
    uint64_t value;

    __asm__ volatile("mfspr %0, 896" : "=r"(value));
    return value >> 50 & 7;
}

/* Computes for `seconds` with a low hardware priority, which must stay; prints how often the decrementer has
 * interrupted it. */
static int computes(unsigned seconds)
{
    const volatile struct tacet_counters *counters = tacet_counters(0);
    const struct timespec moment = { 0, 1000000 };

    puts("computes"), fflush(stdout);
    if (!counters || priority() != 4)
        return 1;
    __asm__ volatile("or 1, 1, 1");
    const uint64_t end = ticks() + seconds * 512000000ULL, timer = counters->interrupts[INTERRUPT_TIMER];
    while (ticks() < end)
        ;
    printf("timer %lu range %lu\n", (unsigned long)(counters->interrupts[INTERRUPT_TIMER] - timer),
           (unsigned long)counters->interrupts[INTERRUPT_RANGE]);
    getppid();
    if (priority() != 2)
        return 2;
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    nanosleep(&moment, NULL);
    clock_gettime(CLOCK_MONOTONIC, &after);
    if (priority() != 2)
        return 3;
    if ((after.tv_sec - before.tv_sec) * 1000000000L + after.tv_nsec - before.tv_nsec < moment.tv_nsec)
        return 4;
    return 0;
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "";

    if (strcmp(what, "cost") == 0)
        return cost(1);
    if (strcmp(what, "cost-scv") == 0)
        return cost(2);
    if (strcmp(what, "calls") == 0)
        return calls();
    if (strcmp(what, "logged") == 0)
        return logged();
    if (strcmp(what, "registers") == 0)
        return registers();
    if (strcmp(what, "computes") == 0 && count > 2)
        return computes((unsigned)atoi(arguments[2]));
    if (strcmp(what, "tables") == 0)
        return tables();
    if (strcmp(what, "interrupted") == 0)
        return interrupted();
    fprintf(stderr, "ppc64_entry: what?\n");
    return 2;
}
