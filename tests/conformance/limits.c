/* SPDX-License-Identifier: BSD-2-Clause */
/* limits.c: soft limits that a program lowers, what holds from then on, and that they can be raised again. */
#include "conform.h"

static const struct timespec at_once;

static volatile int too_large;

static void on_too_large(int signal)
{
    too_large += signal == SIGXFSZ;
}

static long lower(int resource, uint64_t soft)
{
    struct rlimit limit;

    sys(SYS_prlimit64, 0, resource, NULL, &limit);
    limit.rlim_cur = soft;
    return sys(SYS_prlimit64, 0, resource, &limit, NULL);
}

static long raise_again(int resource)
{
    struct rlimit limit;

    sys(SYS_prlimit64, 0, resource, NULL, &limit);
    limit.rlim_cur = resource == RLIMIT_NOFILE ? 1024 : limit.rlim_max;
    return sys(SYS_prlimit64, 0, resource, &limit, NULL);
}

static void descriptors(void)
{
    struct pollfd none[9] = { { .fd = -1 } };
    struct rlimit limit;
    int ends[2] = { -1, -1 };

    for (int i = 1; i < 9; i++)
        none[i].fd = -1;
    sys(SYS_dup2, 0, 12);
    result("RLIMIT_NOFILE to 8", lower(RLIMIT_NOFILE, 8));
    sys(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);
    result("which is read again", (long)limit.rlim_cur);
    result("one above stays open", sys(SYS_fcntl, 12, F_GETFD));
    result("dup2 to the last", sys(SYS_dup2, 0, 7));
    result("dup2 beyond", sys(SYS_dup2, 0, 8));
    result("dup2 of one above to itself", sys(SYS_dup2, 12, 12));
    result("F_DUPFD from the last", sys(SYS_fcntl, 0, F_DUPFD, 7));
    result("F_DUPFD beyond", sys(SYS_fcntl, 0, F_DUPFD, 8));
    result("poll of as many", sys(SYS_ppoll, none, 8, &at_once, NULL));
    result("poll of more", sys(SYS_ppoll, none, 9, &at_once, NULL));
    for (int d = 3; d < 6; d++)
        sys(SYS_dup, 0);
    result("a pipe with one number left", sys(SYS_pipe2, ends, 0));
    result("the number is free", sys(SYS_dup, 0));
    result("dup without one", sys(SYS_dup, 0));
    result("a new file without one", sys(SYS_openat, AT_FDCWD, "never", O_CREAT | O_RDWR, 0600));
    result("is not made", sys(SYS_faccessat, AT_FDCWD, "never", F_OK));
    result("a socket without one", sys(SYS_socket, 1, 1, 0));
    sys(SYS_close, 4);
    result("the one that is closed", sys(SYS_openat, AT_FDCWD, "made", O_CREAT | O_RDWR, 0600));
    sys(SYS_close, 4);
}

#define LARGEST (1 << 20) /* more than this test prints */

static void file_bytes(void)
{
    struct sigaction action = { .sa_handler = on_too_large };
    char bytes[8] = "0123456";
    int file = file_made("f", "01234");

    sigaction(SIGXFSZ, &action, NULL);
    result("RLIMIT_FSIZE to a mebibyte", lower(RLIMIT_FSIZE, LARGEST));
    result("a write up to it", sys(SYS_pwrite64, file, bytes, 3, LARGEST - 3));
    result("a write across it", sys(SYS_pwrite64, file, bytes, 8, LARGEST - 2));
    result("no signal", too_large);
    result("a write beyond", sys(SYS_pwrite64, file, bytes, 1, LARGEST));
    result("SIGXFSZ", too_large);
    result("nothing, beyond", sys(SYS_pwrite64, file, bytes, 0, LARGEST + 1));
    result("to it", sys(SYS_ftruncate, file, LARGEST));
    result("above it", sys(SYS_ftruncate, file, LARGEST + 1));
    result("by its name", sys(SYS_truncate, "f", 2 * LARGEST));
    result("SIGXFSZ each time", too_large);
    result("allocated above it", sys(SYS_fallocate, file, 0, LARGEST - 4, 5));
    result("at the end", sys(SYS_lseek, file, 0, SEEK_END));
    result("a write there", sys(SYS_write, file, bytes, 1));
    sys(SYS_fcntl, file, F_SETFL, O_APPEND);
    sys(SYS_ftruncate, file, LARGEST - 2);
    result("appended", sys(SYS_write, file, bytes, 8));
    result("appended beyond", sys(SYS_write, file, bytes, 8));
    result("in all", sys(SYS_lseek, file, 0, SEEK_END));
    result("and signals", too_large);
    result("/dev/null has no limit", sys(SYS_write, 0, bytes, 8));
    sys(SYS_ftruncate, file, 0);
}

CONFORM(limits)
{
    const struct rlimit zero = { 0, 0 }, one = { 1, 1 }, reversed = { 2, 1 };

    if (!in_tmp())
        return;
    descriptors();
    result("RLIMIT_NOFILE again", raise_again(RLIMIT_NOFILE));
    file_bytes();
    result("RLIMIT_FSIZE again", raise_again(RLIMIT_FSIZE));
    result("RLIMIT_CORE to 0", sys(SYS_prlimit64, 0, RLIMIT_CORE, &zero, NULL));
    result("RLIMIT_CPU to an hour", lower(RLIMIT_CPU, 3600));
    result("RLIMIT_CPU again", raise_again(RLIMIT_CPU));
    result("RLIMIT_AS to 64 MiB", lower(RLIMIT_AS, 64 << 20));
    result("more than that",
           sys(SYS_mmap, NULL, 100 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    holds("less than that",
          sys(SYS_mmap, NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) > 0);
    result("RLIMIT_AS again", raise_again(RLIMIT_AS));
    result("soft above hard", sys(SYS_prlimit64, 0, RLIMIT_CORE, &reversed, NULL));
    result("no such limit", sys(SYS_prlimit64, 0, 16, &one, NULL));
}
