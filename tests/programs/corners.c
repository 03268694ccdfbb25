/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * corners.c: corners of the interface, each with what Linux answers there; the first argument chooses.
 *
 *   descriptors   no table of segment descriptors lies where a program can write (needs a CPU without UMIP)
 *   files         opening, sought devices, vectors of lengths, polls, all as on Linux
 *   advice        memory is forgotten only where it can come back as zeroes
 *   waits         a futex's time is waited for; an absolute time on a boundary is served by that boundary
 *   device        the last clock event device stays in use
 *   open-line     leaves its last line open
 *   broken-pipe   writes to a pipe without a reader
 */
#define _GNU_SOURCE
#include "machine.h"
#include "promise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { FUTEX_WAIT = 0 }; /* of Linux's headers, which musl does not bring */

static long raw(long number, long a, long b, long c, long d)
{
    long result = syscall(number, a, b, c, d, 0L, 0L);

    return result < 0 ? -errno : result;
}

static int64_t now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void descriptors(void)
{
#if defined(__x86_64__)
    uint16_t selector = 0xffff;

    __asm__ volatile("sldt %0" : "=m"(selector));
    PROMISE(selector == 0, "the local descriptor table is %#x", selector);
    /* If the table were as after reset, this selector would name a descriptor at a low address. */
    __asm__ volatile("lar %1, %%eax\n\tsetz %b0" : "=q"(selector) : "r"(0x0c) : "eax", "cc");
    PROMISE((selector & 0xff) == 0, "a descriptor of the local table can be read");
#endif
}

static void files(void)
{
    char byte = 'x', more[8];
    struct iovec bad[2] = { { &byte, 1 }, { &byte, SIZE_MAX } };
    struct pollfd nothing = { .fd = -1 }, out = { .fd = 1, .events = POLLOUT | POLLWRNORM };

    PROMISE(raw(SYS_openat, AT_FDCWD, (long)"/dev/null", O_CREAT | O_EXCL, 0) == -EEXIST, "it exists");
    PROMISE(raw(SYS_openat, AT_FDCWD, (long)"/dev", O_CREAT, 0) == -EISDIR, "a directory");
    int null = open("/dev/null", O_RDWR), zero = open("/dev/zero", O_RDWR);
    PROMISE(lseek(null, 5, SEEK_SET) >= 0, "errno %d", errno);
    PROMISE(pread(zero, more, sizeof(more), 3) == sizeof(more) && more[7] == 0, "errno %d", errno);
    PROMISE(raw(SYS_writev, null, (long)bad, 2, 0) == -EINVAL, "nothing is written of a senseless vector");
    PROMISE(raw(SYS_read, null | 1L << 32, (long)more, 0, 0) == 0, "the upper half of an int says nothing");
    PROMISE(poll(&nothing, 1, 5) == 0 && poll(&out, 1, 0) == 1 && out.revents == (POLLOUT | POLLWRNORM),
            "revents %#x", out.revents);
    PROMISE(fcntl(0, F_SETFL, O_NONBLOCK) == 0 && read(0, more, 1) <= 0, "a read that must not wait");
}

static void advice(void)
{
    static char text[] = "of the program's file";
    char *anonymous = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long page = (long)text & ~4095L;

    anonymous[5000] = 1;
    PROMISE(madvise(anonymous, 8192, MADV_DONTNEED) == 0 && anonymous[5000] == 0, "zero again");
    PROMISE(raw(SYS_madvise, page, 4096, MADV_DONTNEED, 0) == -EINVAL && text[0] == 'o',
            "data of the file stays");
    PROMISE(raw(SYS_madvise, (long)anonymous, 4096, 5, 0) == -EINVAL, "no such advice");
    PROMISE(raw(SYS_madvise, 0x10000000000, 4096, MADV_WILLNEED, 0) == -ENOMEM, "nothing is there");
    PROMISE(raw(SYS_mprotect, (long)anonymous, -1L, PROT_READ, 0) == -ENOMEM, "longer than memory");
}

static void waits(void)
{
    const int64_t bound = 1 << 26;
    struct timespec span = { 0, 20000000 };
    struct rusage usage;
    uint32_t word = 7;
    int64_t start = now_ns();

    getrusage(RUSAGE_SELF, &usage);
    PROMISE(usage.ru_utime.tv_sec == 0 && usage.ru_utime.tv_usec < 100000, "loading is nobody's time");
    PROMISE(raw(SYS_futex, (long)&word, FUTEX_WAIT, 7, (long)&span) == -ETIMEDOUT &&
                now_ns() - start >= 20000000,
            "too short");
    PROMISE(raw(SYS_futex, (long)&word, FUTEX_WAIT, 8, (long)&span) == -EAGAIN, "another value");

    prctl(PR_SET_TIMERSLACK, (unsigned long)bound);
    int64_t deadline = (now_ns() / bound + 2) * bound;
    struct timespec at = { deadline / 1000000000, deadline % 1000000000 };
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
    PROMISE(now_ns() >= deadline && now_ns() - deadline < bound / 2, "late by %ld ns",
            (long)(now_ns() - deadline));
}

static void device(void)
{
    int file = open("/proc/tacet/clockevents", O_WRONLY);
    struct timespec span = { 0, 1000000 };
    const char order[] = MACHINE_TIMER " 0\n";

    PROMISE(write(file, order, sizeof(order) - 1) == -1 && errno == EBUSY, "errno %d", errno);
    PROMISE(nanosleep(&span, NULL) == 0, "errno %d", errno);
}

int main(int count, char **arguments)
{
    int ends[2];
    const char *what = count > 1 ? arguments[1] : "";

    if (strcmp(what, "descriptors") == 0)
        descriptors();
    else if (strcmp(what, "files") == 0)
        files();
    else if (strcmp(what, "advice") == 0)
        advice();
    else if (strcmp(what, "waits") == 0)
        waits();
    else if (strcmp(what, "device") == 0)
        device();
    else if (strcmp(what, "open-line") == 0)
        return write(1, "no new line", 11) != 11;
    else if (strcmp(what, "broken-pipe") == 0)
        return pipe(ends) || close(ends[0]) || write(ends[1], "x", 1) != 1;
    else
        return 2;
    return promises_kept();
}
