/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * conform.h: what the conformance tests share. A test is one file, about one system call or one family:
 * CONFORM(name) { … }. It makes calls with sys(), which is the bare instruction, so that no C library
 * stands between the test and the kernel, and prints what came of them, one line a check:
 *
 *     NAME: what was tried: what came out
 *
 * The same ELF file runs on Linux and on Tacet and must print the same. So a value that may rightly differ
 * (an address, a process's number, a time) is never printed: holds() prints whether it is as it must be. What
 * was tried is named once in a test. Linux's behaviour is what its manual pages say and what Debian's kernel
 * does; where the two disagree the kernel wins.
 *
 * Each test begins with no descriptor but 0 (/dev/null), 1 and 2, in the root directory, all signals at their
 * default and none blocked.
 */
#ifndef CONFORM_H
#define CONFORM_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct conform_test {
    const char *name;
    void (*run)(void);
};

#define CONFORM(test)                                                                     \
    static void conform_run_##test(void);                                                 \
    static const struct conform_test conform_test_##test = { #test, conform_run_##test }; \
    static const struct conform_test *const conform_entry_##test                          \
        __attribute__((used, section("conform_tests"))) = &conform_test_##test;           \
    static void conform_run_##test(void)

/* One system call; what the kernel answers, errors as negative errno values. Up to six arguments, pointers or
 * numbers; the rest is zero. */
long sys_bare(long number, long a, long b, long c, long d, long e, long f);
#define sys(...) SYS_WITH(__VA_ARGS__, 0, 0, 0, 0, 0, 0, )
#define SYS_WITH(number, a, b, c, d, e, f, ...) \
    sys_bare(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* One line each: a call's result (a number, or the errno's name), whether something holds, a text. */
void result(const char *what, long value);
void holds(const char *what, bool it);
void text(const char *what, const char *value);

/* Addresses that no call may use: nobody's, and the kernel's. */
#define NOWHERE     ((void *)8)
#define KERNEL_SIDE ((void *)0xffff800000000000)

/* Bytes of a page: 4 KiB on x86_64, 64 KiB on POWER. */
#define PAGE getauxval(AT_PAGESZ)

/* Memory of which the first byte after `bytes` (at most a page) cannot be touched; memory that cannot be
 * written. */
char *edge(size_t bytes);
char *read_only(void);

/* An empty folder of the test's own in /tmp becomes the current directory; false, with a line of its own, if
 * there is none. */
bool in_tmp(void);

/* A file with a text in it, opened for reading and writing; a descriptor or a negative errno. */
int file_made(const char *name, const char *content);

/* The monotonic clock, ns; and time that passes. */
uint64_t now_ns(void);
void rest_ms(unsigned ms);

/* The read-only files that the runner gives: 19 bytes in three lines, a folder, links
 * (test_conformance.py). */
#define DATA       "/data"
#define TEXT       "/data/text"
#define TEXT_BYTES 19

/* Linux's own sizes and structures where a C library's differ. */
#define SIGSET_BYTES 8

/* futex(2); musl has no header for them. */
enum {
    FUTEX_WAIT = 0,
    FUTEX_WAKE = 1,
    FUTEX_REQUEUE = 3,
    FUTEX_CMP_REQUEUE = 4,
    FUTEX_WAKE_OP = 5,
    FUTEX_WAIT_BITSET = 9,
    FUTEX_WAKE_BITSET = 10,
    FUTEX_PRIVATE_FLAG = 128,
    FUTEX_CLOCK_REALTIME = 256,
};
#define FUTEX_ADD_AND_WAKE_IF_ZERO(added) (1 << 28 | (added) << 12) /* FUTEX_OP_ADD, FUTEX_OP_CMP_EQ, 0 */

#endif
