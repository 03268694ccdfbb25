/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * events.c: pipes, event counters, and waiting for them, as on Linux, where this program holds as well. Of
 * one thread: nothing here may wait for ever.
 */
#define _GNU_SOURCE
#include "promise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ms(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static short polled(int file, short events)
{
    struct pollfd entry = { .fd = file, .events = events };

    return poll(&entry, 1, 0) < 0 ? -1 : entry.revents;
}

static void pipes(void)
{
    static char block[70000], back[70000];
    int ends[2], unread = -1;
    struct stat answer;

    for (unsigned i = 0; i < sizeof(block); i++)
        block[i] = (char)(i * 7 + i / 251);
    IS(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    IS(fcntl(ends[0], F_GETFD), FD_CLOEXEC);
    IS(fcntl(ends[0], F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_RDONLY | O_NONBLOCK);
    IS(fcntl(ends[1], F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_WRONLY | O_NONBLOCK);
    IS(fcntl(ends[0], F_GETPIPE_SZ), 65536);
    FAILS(read(ends[0], back, 1), EAGAIN);
    FAILS(read(ends[1], back, 1), EBADF);
    FAILS(write(ends[0], back, 1), EBADF);
    FAILS(lseek(ends[0], 0, SEEK_CUR), ESPIPE);
    FAILS(pread(ends[0], back, 1, 0), ESPIPE);
    FAILS(ftruncate(ends[1], 0), EINVAL);
    IS(fstat(ends[0], &answer), 0);
    PROMISE(S_ISFIFO(answer.st_mode), "mode %o", answer.st_mode);
    PROMISE(polled(ends[0], POLLIN) == 0 && polled(ends[1], POLLOUT) == POLLOUT, "empty");
    IS(write(ends[1], block, 5000), 5000);
    IS(ioctl(ends[0], FIONREAD, &unread), 0);
    PROMISE(unread == 5000 && polled(ends[0], POLLIN) == POLLIN, "%d", unread);
    IS(read(ends[0], back, 4000), 4000);
    IS(read(ends[0], back + 4000, 4000), 1000);
    PROMISE(memcmp(block, back, 5000) == 0, "bytes");
    IS(write(ends[1], block, sizeof(block)), 65536); /* once around the ring */
    PROMISE(polled(ends[1], POLLOUT) == 0, "full");
    FAILS(write(ends[1], block, 1), EAGAIN);
    IS(read(ends[0], back, 4096), 4096);
    IS(write(ends[1], block, 4096), 4096);
    IS(read(ends[0], back, 4096), 4096);
    /* above PIPE_BUF it may be part */
    FAILS(write(ends[1], block, 4097) == 4096 ? (errno = EAGAIN, -1) : 0, EAGAIN);
    IS(read(ends[0], back, 61440 - 4096), 61440 - 4096);
    FAILS(write(ends[1], (void *)8, 5), EFAULT);
    close(ends[1]);
    PROMISE(polled(ends[0], POLLIN) & POLLHUP, "hung up");
    IS(read(ends[0], back, sizeof(back)), 8192);
    IS(read(ends[0], back, 10), 0);
    close(ends[0]);

    signal(SIGPIPE, SIG_IGN);
    IS(pipe(ends), 0);
    int again = dup(ends[0]);
    close(ends[0]);
    IS(write(ends[1], "x", 1), 1); /* it is open still */
    close(again);
    FAILS(write(ends[1], "x", 1), EPIPE);
    PROMISE(polled(ends[1], POLLOUT) & POLLERR, "broken");
    close(ends[1]);
    for (int round = 0; round < 2000; round++) { /* no memory may get lost */
        if (pipe(ends) || write(ends[1], block, 100) != 100)
            PROMISE(0, "round %d: errno %d", round, errno);
        close(ends[round % 2]);
        close(ends[!(round % 2)]);
    }
    FAILS(syscall(SYS_pipe2, 8L, 0), EFAULT);
    FAILS(pipe2(ends, 1), EINVAL);
}

static void counters(void)
{
    uint64_t value = 0;
    int file = eventfd(5, EFD_NONBLOCK);

    IS(read(file, &value, 8), 8);
    PROMISE(value == 5 && polled(file, POLLIN | POLLOUT) == POLLOUT, "%lu", (unsigned long)value);
    FAILS(read(file, &value, 8), EAGAIN);
    FAILS(read(file, &value, 7), EINVAL);
    value = 3;
    IS(write(file, &value, 8), 8);
    IS(write(file, &value, 8), 8);
    IS(read(file, &value, 8), 8);
    PROMISE(value == 6, "%lu", (unsigned long)value);
    value = UINT64_MAX;
    FAILS(write(file, &value, 8), EINVAL);
    value = UINT64_MAX - 1;
    IS(write(file, &value, 8), 8);
    value = 1;
    FAILS(write(file, &value, 8), EAGAIN);
    PROMISE(polled(file, POLLIN | POLLOUT) == POLLIN, "full");
    close(file);
    file = eventfd(2, EFD_SEMAPHORE | EFD_NONBLOCK);
    IS(read(file, &value, 8), 8);
    PROMISE(value == 1, "%lu", (unsigned long)value);
    IS(read(file, &value, 8), 8);
    FAILS(read(file, &value, 8), EAGAIN);
    close(file);
    FAILS(eventfd(0, 0x100), EINVAL);
}

static void polling(void)
{
    int ends[2], event = eventfd(0, 0), null = open("/dev/null", O_RDWR);
    uint64_t one = 1;
    int64_t begun;
    fd_set in, out;

    IS(pipe(ends), 0);
    struct pollfd entries[3] = { { .fd = ends[0], .events = POLLIN },
                                 { .fd = 99, .events = POLLIN },
                                 { .fd = -1, .events = POLLIN } };
    IS(poll(entries, 3, 0), 1);
    PROMISE(entries[1].revents == POLLNVAL && entries[2].revents == 0, "%x", entries[1].revents);
    begun = now_ms();
    IS(poll(entries, 1, 30), 0);
    PROMISE(now_ms() - begun >= 30, "%ld ms", (long)(now_ms() - begun));
    FAILS(poll((void *)8, 1, 0), EFAULT);

    FD_ZERO(&in);
    FD_ZERO(&out);
    FD_SET(ends[0], &in);
    FD_SET(event, &in);
    FD_SET(ends[1], &out);
    IS(write(event, &one, 8), 8);
    IS(select(32, &in, &out, NULL, NULL), 2);
    PROMISE(!FD_ISSET(ends[0], &in) && FD_ISSET(event, &in) && FD_ISSET(ends[1], &out), "sets");
    FD_ZERO(&in);
    FD_SET(ends[0], &in);
    struct timeval short_time = { 0, 20000 };
    begun = now_ms();
    IS(select(32, &in, NULL, NULL, &short_time), 0);
    PROMISE(now_ms() - begun >= 20 && !FD_ISSET(ends[0], &in), "%ld ms", (long)(now_ms() - begun));
    struct timespec no_time = { 0, 0 };
    FD_SET(null, &in);
    IS(pselect(32, &in, NULL, NULL, &no_time, NULL), 1);
    FD_ZERO(&in);
    FD_SET(30, &in);
    FAILS(select(32, &in, NULL, NULL, &short_time), EBADF);
    FAILS(select(-1, &in, NULL, NULL, &short_time), EINVAL);
    close(ends[0]);
    close(ends[1]);
    close(event);
    close(null);
}

static struct epoll_event waited;

static int wait_for(int set)
{
    waited = (struct epoll_event){ 0 };
    return epoll_wait(set, &waited, 1, 0);
}

static void sets(void)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = 0x123456789abcdef0 };
    int ends[2], set = epoll_create1(EPOLL_CLOEXEC), counter = eventfd(0, EFD_NONBLOCK), file;
    uint64_t one = 1, value;
    char bytes[8];

    PROMISE(set >= 0, "errno %d", errno);
    IS(pipe2(ends, O_NONBLOCK), 0);
    IS(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event), 0);
    FAILS(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event), EEXIST);
    FAILS(epoll_ctl(set, EPOLL_CTL_MOD, ends[1], &event), ENOENT);
    FAILS(epoll_ctl(set, EPOLL_CTL_DEL, ends[1], &event), ENOENT);
    FAILS(epoll_ctl(set, EPOLL_CTL_ADD, set, &event), EINVAL);
    FAILS(epoll_ctl(set, EPOLL_CTL_ADD, 77, &event), EBADF);
    file = open("/tmp", O_RDONLY);
    FAILS(epoll_ctl(set, EPOLL_CTL_ADD, file, &event), EPERM);
    close(file);
    FAILS(epoll_wait(set, &waited, 0, 0), EINVAL);
    FAILS(epoll_wait(ends[0], &waited, 1, 0), EINVAL);
    IS(wait_for(set), 0);
    IS(write(ends[1], "ab", 2), 2);
    IS(wait_for(set), 1);
    PROMISE(waited.events == EPOLLIN && waited.data.u64 == 0x123456789abcdef0, "events %x", waited.events);
    IS(wait_for(set), 1); /* as long as it is so */
    PROMISE(polled(set, POLLIN) == POLLIN, "a set can be polled");

    event.events = EPOLLIN | EPOLLET;
    IS(epoll_ctl(set, EPOLL_CTL_MOD, ends[0], &event), 0);
    IS(wait_for(set), 1);
    IS(wait_for(set), 0); /* reported once */
    IS(write(ends[1], "c", 1), 1);
    IS(wait_for(set), 1); /* something new */
    IS(read(ends[0], bytes, 8), 3);
    IS(write(ends[1], "d", 1), 1);
    IS(wait_for(set), 1); /* was empty in between, unseen */
    IS(wait_for(set), 0);

    event.events = EPOLLIN | EPOLLONESHOT;
    IS(epoll_ctl(set, EPOLL_CTL_MOD, ends[0], &event), 0);
    IS(wait_for(set), 1);
    IS(write(ends[1], "e", 1), 1);
    IS(wait_for(set), 0);
    IS(epoll_ctl(set, EPOLL_CTL_MOD, ends[0], &event), 0);
    IS(wait_for(set), 1);
    IS(epoll_ctl(set, EPOLL_CTL_DEL, ends[0], NULL), 0);
    IS(wait_for(set), 0);

    event.events = EPOLLIN | EPOLLOUT | EPOLLET;
    event.data.fd = counter;
    IS(epoll_ctl(set, EPOLL_CTL_ADD, counter, &event), 0);
    IS(wait_for(set), 1);
    PROMISE(waited.events == EPOLLOUT && waited.data.fd == counter, "events %x", waited.events);
    IS(write(counter, &one, 8), 8);
    IS(wait_for(set), 1);
    PROMISE(waited.events == (EPOLLIN | EPOLLOUT), "events %x", waited.events);
    IS(read(counter, &value, 8), 8);
    close(counter); /* and with it its row */
    int64_t begun = now_ms();
    IS(epoll_wait(set, &waited, 1, 20), 0);
    PROMISE(now_ms() - begun >= 20, "%ld ms", (long)(now_ms() - begun));
    IS(eventfd(1, 0), counter); /* another file by that descriptor is none of the set's */
    IS(wait_for(set), 0);
    event.events = EPOLLIN;
    IS(epoll_ctl(set, EPOLL_CTL_ADD, counter, &event), 0);
    IS(wait_for(set), 1);
    IS(dup2(set, counter), counter); /* nor is the set itself */
    IS(wait_for(set), 0);
    IS(polled(set, POLLIN), 0);

    event.events = 0; /* an end is reported without being requested */
    IS(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event), 0);
    close(ends[1]);
    IS(wait_for(set), 1);
    PROMISE(waited.events & EPOLLHUP, "events %x", waited.events);
    close(ends[0]);
    close(counter);
    close(set);
}

/* Returns the duration of a poll, or `best` if that is less. */
static int64_t poll_ns(const struct pollfd *list, unsigned count, int64_t best)
{
    struct pollfd entries[200];
    struct timespec begun, ended;

    memcpy(entries, list, count * sizeof(*list));
    clock_gettime(CLOCK_MONOTONIC, &begun);
    IS(poll(entries, count, 0), 0);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    int64_t ns = (int64_t)(ended.tv_sec - begun.tv_sec) * 1000000000 + ended.tv_nsec - begun.tv_nsec;
    return ns < best ? ns : best;
}

/* Checks that a poll that lists a large set many times costs little more than with an empty set. */
static void set_listed_often(void)
{
    struct epoll_event event = { .events = EPOLLIN };
    int large = epoll_create1(0), empty = epoll_create1(0), files[200];
    struct pollfd larges[200], empties[200];

    for (unsigned i = 0; i < 200; i++) {
        larges[i] = (struct pollfd){ .fd = large, .events = POLLIN };
        empties[i] = (struct pollfd){ .fd = empty, .events = POLLIN };
        files[i] = eventfd(0, 0);
        IS(epoll_ctl(large, EPOLL_CTL_ADD, files[i], &event), 0);
    }
    /* By turns, for as long as the host may let the machine stand still in all of one or the other. */
    int64_t large_ns = INT64_MAX, empty_ns = INT64_MAX;
    for (unsigned i = 0; i < 2000 && (i < 20 || large_ns >= 8 * empty_ns); i++) {
        large_ns = poll_ns(larges, 200, large_ns);
        empty_ns = poll_ns(empties, 200, empty_ns);
    }
    PROMISE(large_ns < 8 * empty_ns, "%ld ns for 200 times 200 files, %ld for none", (long)large_ns,
            (long)empty_ns);
    uint64_t one = 1;
    IS(write(files[199], &one, 8), 8);
    IS(poll(larges, 200, -1), 200);
    for (unsigned i = 0; i < 200; i++)
        close(files[i]);
    close(large);
    close(empty);
}

static void descriptors(void)
{
    struct termios terminal;
    char path[64]; /* ranks share /tmp */
    int file, copy, unread = 0;

    snprintf(path, sizeof(path), "/tmp/events-%d", getpid());
    file = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);
    IS(write(file, "0123456789", 10), 10);
    copy = dup(file);
    IS(lseek(copy, 4, SEEK_SET), 4);
    IS(lseek(file, 0, SEEK_CUR), 4); /* one position */
    IS(ioctl(file, FIONREAD, &unread), 0);
    PROMISE(unread == 6, "%d", unread);
    FAILS(tcgetattr(file, &terminal), ENOTTY);
    PROMISE(!isatty(file), "a file");
    IS(fcntl(file, F_SETFL, O_APPEND), 0);
    PROMISE(fcntl(copy, F_GETFL) & O_APPEND, "flags are the file's");
    IS(fcntl(copy, F_SETFD, FD_CLOEXEC), 0);
    IS(fcntl(file, F_GETFD), 0); /* this flag is the descriptor's */
    IS(fcntl(file, F_DUPFD, 100), 100);
    IS(fcntl(file, F_DUPFD_CLOEXEC, 100), 101);
    IS(fcntl(101, F_GETFD), FD_CLOEXEC);
    IS(dup2(file, 103), 103);
    IS(dup2(103, 103), 103);
    FAILS(dup3(file, file, 0), EINVAL);
    IS(dup3(file, 103, O_CLOEXEC), 103);
    IS(fcntl(103, F_GETFD), FD_CLOEXEC);
    FAILS(dup2(99, 5), EBADF);
    FAILS(dup2(file, -1), EBADF);
    IS(syscall(SYS_close_range, 100, 101, 0), 0);
    FAILS(fcntl(100, F_GETFD), EBADF);
    IS(fcntl(103, F_GETFD), FD_CLOEXEC);
    IS(syscall(SYS_close_range, 100, ~0U, 0), 0);
    FAILS(fcntl(103, F_GETFD), EBADF);
    FAILS(syscall(SYS_close_range, 5, 4, 0), EINVAL);
    IS(close(copy), 0);
    FAILS(close(copy), EBADF);
    close(file);
    IS(unlink(path), 0);
}

int main(void)
{
    pipes();
    counters();
    polling();
    sets();
    set_listed_often();
    descriptors();
    return promises_kept();
}
