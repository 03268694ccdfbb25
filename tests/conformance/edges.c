/* SPDX-License-Identifier: BSD-2-Clause */
/* edges.c: sizes, offsets, counts and times near the ends of their types. */
#include "conform.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

static const struct timespec at_once;

static void offsets(void)
{
    int file = file_made("f", "0123");
    struct iovec parts[2] = { { "a", 1 }, { "b", 1 } }, long_part = { "a", SSIZE_MAX };
    struct flock lock = { F_WRLCK, SEEK_SET, INT64_MAX, 1, 0 };
    char byte;

    result("pread of the last byte", sys(SYS_pread64, file, &byte, 1, INT64_MAX));
    result("pread of the one before", sys(SYS_pread64, file, &byte, 1, INT64_MAX - 1));
    result("pread of nothing there", sys(SYS_pread64, file, &byte, 0, INT64_MAX));
    result("pwrite at the last byte", sys(SYS_pwrite64, file, "x", 1, INT64_MAX));
    result("pwrite across it", sys(SYS_pwrite64, file, "xyz", 3, INT64_MAX - 1));
    result("pwrite of nothing there", sys(SYS_pwrite64, file, "x", 0, INT64_MAX));
    result("pwritev across it", sys(SYS_pwritev, file, parts, 2, INT64_MAX - 1, 0));
    result("preadv before the first", sys(SYS_preadv, file, parts, 1, -1L, -1L));
    result("writev of a part too long", sys(SYS_writev, file, &long_part, 1));
    result("writev of 1,025 parts", sys(SYS_writev, file, parts, 1025));
    result("writev of -1 parts", sys(SYS_writev, file, parts, -1));
    result("lseek to the last", sys(SYS_lseek, file, INT64_MAX, SEEK_SET) == INT64_MAX);
    result("read there", sys(SYS_read, file, &byte, 1));
    result("write there", sys(SYS_write, file, "x", 1));
    result("lseek beyond", sys(SYS_lseek, file, 1, SEEK_CUR));
    result("lseek far before", sys(SYS_lseek, file, INT64_MIN, SEEK_CUR));
    result("lseek to the end and beyond", sys(SYS_lseek, file, INT64_MAX, SEEK_END));
    result("SEEK_DATA there", sys(SYS_lseek, file, INT64_MAX, SEEK_DATA));
    result("SEEK_HOLE before", sys(SYS_lseek, file, -1L, SEEK_HOLE));
    result("ftruncate to -1", sys(SYS_ftruncate, file, -1L));
    result("truncate to -1", sys(SYS_truncate, "f", -1L));
    result("fallocate of nothing", sys(SYS_fallocate, file, 0, 0, 0));
    result("fallocate beyond", sys(SYS_fallocate, file, 0, INT64_MAX, 1));
    result("fallocate far beyond", sys(SYS_fallocate, file, 0, INT64_MAX, INT64_MAX));
    result("fallocate from before", sys(SYS_fallocate, file, 0, -1L, 2));
    result("readahead from before", sys(SYS_readahead, file, -1L, 1));
    result("fadvise of less than nothing", sys(SYS_fadvise64, file, 0, -1L, 0));
    result("a lock of the last byte", sys(SYS_fcntl, file, F_SETLK, &lock));
    lock.l_len = 2;
    result("across it", sys(SYS_fcntl, file, F_SETLK, &lock));
    lock = (struct flock){ F_WRLCK, SEEK_SET, 10, -20, 0 };
    result("from before the first", sys(SYS_fcntl, file, F_SETLK, &lock));
    lock = (struct flock){ F_WRLCK, SEEK_END, INT64_MAX, INT64_MAX, 0 };
    result("far beyond the end", sys(SYS_fcntl, file, F_SETLK, &lock));
    sys(SYS_close, file);
}

static void ranges(void)
{
    char *page = sys(SYS_mmap, NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) > 0
                     ? mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                     : NULL;

    result("mmap of all", sys(SYS_mmap, NULL, SIZE_MAX, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    result("munmap of all", sys(SYS_munmap, page, SIZE_MAX));
    result("munmap across the end", sys(SYS_munmap, (void *)-PAGE, 2 * PAGE));
    result("mprotect of all", sys(SYS_mprotect, page, SIZE_MAX, PROT_READ));
    result("mprotect of nearly all", sys(SYS_mprotect, page, SIZE_MAX - 2 * PAGE, PROT_READ));
    result("madvise of all", sys(SYS_madvise, page, SIZE_MAX, MADV_DONTNEED));
    result("madvise of nearly all", sys(SYS_madvise, page, SIZE_MAX - 2 * PAGE, MADV_DONTNEED));
    result("harmless advice on all", sys(SYS_madvise, page, SIZE_MAX, MADV_WILLNEED));
    result("msync of all", sys(SYS_msync, page, SIZE_MAX, MS_SYNC));
    result("msync of nearly all", sys(SYS_msync, page, SIZE_MAX - 2 * PAGE, MS_SYNC));
    result("mincore of all", sys(SYS_mincore, page, SIZE_MAX, page));
    result("mlock of nearly all", sys(SYS_mlock, page, SIZE_MAX - 2 * PAGE));
    result("mremap of all", sys(SYS_mremap, page, SIZE_MAX, PAGE, 0));
    result("mremap of what is not mapped", sys(SYS_mremap, NULL, SIZE_MAX, PAGE, 0));
    result("mremap to all", sys(SYS_mremap, page, PAGE, SIZE_MAX, MREMAP_MAYMOVE));
    result("mremap to nearly all", sys(SYS_mremap, page, PAGE, SIZE_MAX - 2 * PAGE, MREMAP_MAYMOVE));
    result("getrandom of all", sys(SYS_getrandom, KERNEL_SIDE, SIZE_MAX, 0));
    result("read of all", sys(SYS_read, 0, page, SIZE_MAX));
    result("write of half", sys(SYS_write, 0, page, SSIZE_MAX));
}

static void counts(void)
{
    struct epoll_event event;
    struct pollfd none = { .fd = -1 };
    int set = (int)sys(SYS_epoll_create1, 0);
    uint64_t mask[16] = { 0 };

    result("epoll_wait for too many", sys(SYS_epoll_pwait, set, &event, INT_MAX, 0, NULL, SIGSET_BYTES));
    result("for -1", sys(SYS_epoll_pwait, set, &event, -1, 0, NULL, SIGSET_BYTES));
    result("for none", sys(SYS_epoll_pwait, set, &event, 0, 0, NULL, SIGSET_BYTES));
    result("poll of too many", sys(SYS_ppoll, &none, UINT_MAX, &at_once, NULL, SIGSET_BYTES));
    result("select of -1", sys(SYS_pselect6, -1, NULL, NULL, NULL, &at_once, NULL));
    result("select of INT_MAX", sys(SYS_pselect6, INT_MAX, NULL, NULL, NULL, &at_once, NULL));
    result("dup2 to INT_MAX", sys(SYS_dup3, 0, INT_MAX, 0));
    result("F_DUPFD from INT_MAX", sys(SYS_fcntl, 0, F_DUPFD, INT_MAX));
    result("F_DUPFD from -1", sys(SYS_fcntl, 0, F_DUPFD, -1L));
    result("close of -1", sys(SYS_close, -1));
    result("close_range of all numbers", sys(SYS_close_range, UINT_MAX, UINT_MAX, 0));
    result("getgroups of -1", sys(SYS_getgroups, -1, mask));
    result("affinity of a large mask", sys(SYS_sched_setaffinity, 0, INT_MAX, NOWHERE));
    result("SOCK_STREAM of protocol 256", sys(SYS_socket, AF_INET, SOCK_STREAM, 256));
    result("of protocol 263", sys(SYS_socket, AF_INET, SOCK_STREAM, 263));
    result("of protocol -1", sys(SYS_socket, AF_INET, SOCK_STREAM, -1));
    result("a socket of type 15", sys(SYS_socket, AF_INET, 15, 0));
    result("of type 15 between processes", sys(SYS_socket, AF_UNIX, 15, 0));
    result("of an unknown family", sys(SYS_socket, -1, SOCK_STREAM, 0));
}

static void times(void)
{
    const struct timespec before = { -1, 0 }, odd = { 0, 1000000000 }, odder = { 0, -1 };
    const struct timespec odd_times[2] = { odd, odd };
    const struct timeval bad = { 0, 1000000 }, late = { INT64_MAX, 999999 };
    struct itimerval timer = { { 0, 0 }, { 0, 1000000 } };
    struct sigaction action = { .sa_handler = SIG_IGN };

    sigaction(SIGALRM, &action, NULL);
    result("a sleep of -1 s", sys(SYS_nanosleep, &before, NULL));
    result("of 10^9 ns", sys(SYS_nanosleep, &odd, NULL));
    result("of -1 ns", sys(SYS_nanosleep, &odder, NULL));
    result("until before all time", sys(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &before, NULL));
    result("poll until the last time", sys(SYS_ppoll, NULL, 0, &odd, NULL, SIGSET_BYTES));
    result("utimensat at 10^9 ns", sys(SYS_utimensat, AT_FDCWD, "f", odd_times, 0));
    result("a timer of 10^6 us", sys(SYS_setitimer, ITIMER_REAL, &timer, NULL));
    timer.it_value = (struct timeval){ -1, 0 };
    result("a timer of -1 s", sys(SYS_setitimer, ITIMER_REAL, &timer, NULL));
    timer.it_value = late;
    result("a timer at the last time", sys(SYS_setitimer, ITIMER_REAL, &timer, NULL));
    sys(SYS_getitimer, ITIMER_REAL, &timer);
    holds("is far", timer.it_value.tv_sec > 1000000000);
    timer.it_value = (struct timeval){ 0, 0 };
    sys(SYS_setitimer, ITIMER_REAL, &timer, NULL);
#ifdef SYS_select
    result("select for 10^6 us", sys(SYS_select, 0, NULL, NULL, NULL, &bad));
#endif
}

CONFORM(edges)
{
    if (!in_tmp())
        return;
    offsets();
    ranges();
    counts();
    times();
}
