/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * descriptors.c: as many open files as a rank may have; the last costs not more than the first. With an
 * argument: too little memory for all of them, which is not the limit's errno.
 */
#define _GNU_SOURCE
#include "promise.h"

#include "clock.h"
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define LIMIT 65536
#define FEW   1000
#define PIECE (64 << 10)

static void limit_raise(void)
{
    struct rlimit limit;

    IS(getrlimit(RLIMIT_NOFILE, &limit), 0);
    PROMISE(limit.rlim_cur == 1024 && limit.rlim_max == LIMIT, "%lu, hard %lu", (unsigned long)limit.rlim_cur,
            (unsigned long)limit.rlim_max);
    limit.rlim_cur = limit.rlim_max;
    IS(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* Opens files up to this number; returns how long that took. */
static uint64_t open_up_to(int number)
{
    const uint64_t before_ns = now_ns();
    int last = 0;

    while (last >= 0 && last < number - 1)
        last = eventfd(0, EFD_NONBLOCK);
    IS(last, number - 1);
    return now_ns() - before_ns;
}

static void all_of_them(void)
{
    uint64_t first_ns = open_up_to(3 + FEW), last_ns;
    struct pollfd last = { LIMIT - 1, POLLOUT, 0 };

    open_up_to(LIMIT - FEW);
    last_ns = open_up_to(LIMIT);
    PROMISE(last_ns < 2 * first_ns, "%lu ns for the first, %lu ns for the last", (unsigned long)first_ns,
            (unsigned long)last_ns);
    FAILS(eventfd(0, 0), EMFILE);
    FAILS(open("/tmp/never", O_CREAT | O_RDWR, 0600), EMFILE);
    FAILS(access("/tmp/never", F_OK), ENOENT);
    IS(poll(&last, 1, 0), 1);
    IS(close(FEW), 0);
    IS(eventfd(0, 0), FEW);
    IS((int)syscall(SYS_close_range, 3, ~0U, 0), 0);
    IS(eventfd(0, 0), 3);
    IS(dup2(3, LIMIT - 1), LIMIT - 1);
    FAILS(dup2(3, LIMIT), EBADF);
}

/* Takes all memory but pieces; then opens files until there is none for more. */
static void without_memory(void)
{
    char *first = NULL;
    int count = 0;

    for (size_t bytes = 64 << 20; bytes >= PIECE; bytes /= 2)
        for (char *at; (at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) !=
                       MAP_FAILED;)
            first = at;
    while (eventfd(0, 0) >= 0)
        count++;
    PROMISE(errno == ENOMEM && count < LIMIT - 10, "%d files, errno %d", count, errno);
    FAILS(open("/dev/null", O_RDWR), ENOMEM);
    IS(munmap(first, PIECE), 0);
    PROMISE(eventfd(0, 0) >= 0, "with memory again: errno %d", errno);
}

int main(int count, char **words)
{
    (void)words;
    limit_raise();
    if (count > 1)
        without_memory();
    else
        all_of_them();
    return promises_kept();
}
