/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event_files.c PART: descriptors of events, as far as they need a node: "ranks" (two of them: what one does,
 * the other sees), "silent" (a timer that no thread waits for costs nothing), "many" (watches, sets, and
 * removed trees).
 */
#define _GNU_SOURCE
#include "clock.h"
#include "promise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <tacet.h>
#include <unistd.h>

#define SECOND_PID 2

static char buffer[65536] __attribute__((aligned(8)));

static int pidfd_open_(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Opens the second rank, which may not have begun yet. */
static int second_open(void)
{
    int file;

    while ((file = pidfd_open_(SECOND_PID)) < 0 && errno == ESRCH)
        usleep(1000);
    return file;
}

/* Reads what there is; returns the events of a name, or of all, in one mask. */
static uint32_t events_of(int queue, const char *name)
{
    uint32_t mask = 0;

    for (ssize_t bytes; (bytes = read(queue, buffer, sizeof(buffer))) > 0;)
        for (char *at = buffer; at < buffer + bytes;) {
            const struct inotify_event *event = (void *)at;

            at += sizeof(*event) + event->len;
            if (!name || (event->len && strcmp(event->name, name) == 0))
                mask |= event->mask;
        }
    return mask;
}

/* ---- Two ranks ---- */

static int second(void)
{
    while (access("/tmp/begin", F_OK) != 0)
        usleep(1000);
    int file = open("/tmp/end", O_CREAT | O_WRONLY, 0600);
    IS(write(file, "x", 1), 1);
    IS(close(file), 0);
    IS(kill(1, SIGUSR1), 0);
    while (access("/tmp/seen", F_OK) != 0)
        usleep(1000);
    return promises_kept();
}

static int ranks(void)
{
    if (getpid() == SECOND_PID)
        return second();

    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    const int files[] = { inotify_init1(IN_NONBLOCK), signalfd(-1, &set, SFD_NONBLOCK), second_open() };
    int outer = epoll_create1(0), inner = epoll_create1(0);
    struct epoll_event event = { .events = EPOLLIN, .data.fd = inner };

    IS(epoll_ctl(outer, EPOLL_CTL_ADD, inner, &event), 0);
    for (int i = 0; i < 3; i++) {
        event = (struct epoll_event){ .events = EPOLLIN, .data.fd = files[i] };
        IS(epoll_ctl(i == 1 ? inner : outer, EPOLL_CTL_ADD, files[i], &event), 0);
    }
    PROMISE(inotify_add_watch(files[0], "/tmp", IN_CREATE | IN_CLOSE_WRITE | IN_MODIFY) > 0, "watch");
    IS(syscall(SYS_pidfd_send_signal, files[2], 0, NULL, 0), 0);
    close(open("/tmp/begin", O_CREAT | O_WRONLY, 0600));
    uint32_t seen = 0;
    bool signalled = false, ended = false;
    while (!ended && epoll_wait(outer, &event, 1, -1) == 1) {
        struct signalfd_siginfo info;

        if (event.data.fd == files[0])
            seen |= events_of(files[0], "end");
        else if (event.data.fd == inner && read(files[1], &info, sizeof(info)) == sizeof(info))
            signalled = info.ssi_signo == SIGUSR1 && info.ssi_pid == SECOND_PID;
        ended = event.data.fd == files[2];
        if (signalled && (seen & IN_CLOSE_WRITE) && access("/tmp/seen", F_OK) != 0)
            close(open("/tmp/seen", O_CREAT | O_WRONLY, 0600));
    }
    PROMISE(seen == (IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE), "%#x", seen);
    PROMISE(signalled && ended, "%d %d", signalled, ended);
    FAILS(syscall(SYS_pidfd_send_signal, files[2], 0, NULL, 0), ESRCH);
    FAILS(pidfd_open_(SECOND_PID), ESRCH);
    struct pollfd polled = { files[2], POLLIN, 0 };
    IS(poll(&polled, 1, 0), 1);
    return promises_kept();
}

/* ---- No thread waits ---- */

static uint64_t interrupts(void)
{
    const volatile struct tacet_counters *counters = tacet_counters(0);
    uint64_t sum = 0;

    for (unsigned i = 0; i < sizeof(counters->interrupts) / sizeof(counters->interrupts[0]); i++)
        sum += counters->interrupts[i];
    return sum;
}

static int silent(void)
{
    const struct itimerspec often = { { 0, 1 }, { 0, 1 } }, soon = { { 0, 0 }, { 0, 2000000 } };
    int timer = timerfd_create(CLOCK_MONOTONIC, 0), other = timerfd_create(CLOCK_REALTIME, 0);
    struct pollfd polled = { other, POLLIN, 0 };
    uint64_t count = 0, before = interrupts();

    IS(timerfd_settime(timer, 0, &often, NULL), 0);
    for (uint64_t begin = now_ns(); now_ns() - begin < 5000000;)
        ;
    PROMISE(interrupts() == before, "%lu interrupts", (unsigned long)(interrupts() - before));
    IS(read(timer, &count, 8), 8);
    PROMISE(count >= 4900000, "%lu", (unsigned long)count);
    IS(timerfd_settime(other, 0, &soon, NULL), 0);
    IS(poll(&polled, 1, -1), 1);
    PROMISE(interrupts() <= before + 2, "%lu interrupts", (unsigned long)(interrupts() - before));
    for (int i = 0; i < 100; i++)
        IS(read(timer, &count, 8), 8); /* each has expired again: no wait at all, or a short one */
    return promises_kept();
}

/* ---- Many ---- */

static void watches_of_many_folders(void)
{
    int queue = inotify_init1(IN_NONBLOCK), last = 0;
    char name[64];

    IS(mkdir("/tmp/many", 0755), 0);
    for (int i = 0; i < 8193; i++) {
        snprintf(name, sizeof(name), "/tmp/many/%d", i);
        IS(mkdir(name, 0755), 0);
        int number = inotify_add_watch(queue, name, IN_DELETE_SELF);
        PROMISE(i < 8192 ? number == i + 1 : number == -1 && errno == ENOSPC, "%d: %d", i, number);
        last = number > 0 ? number : last;
    }
    for (int i = last; i > last - 4000; i--)
        IS(inotify_rm_watch(queue, i), 0);
    PROMISE(events_of(queue, NULL) == (IN_IGNORED), "the events");
    for (int i = 0; i < 8193; i++) {
        snprintf(name, sizeof(name), "/tmp/many/%d", i);
        IS(rmdir(name), 0);
    }
    IS(rmdir("/tmp/many"), 0);
    PROMISE(events_of(queue, NULL) == (IN_DELETE_SELF | IN_IGNORED | IN_Q_OVERFLOW), "of a removed tree");
    FAILS(inotify_rm_watch(queue, 1), EINVAL);
    PROMISE(inotify_add_watch(queue, "/tmp", IN_CREATE) == last + 1, "room again");
    close(queue);
}

/* Has several queues watch one folder, until there are too many. */
static void watchers_of_one_file(void)
{
    int queues[200], count = 0;

    while (count < 200 && (queues[count] = inotify_init1(IN_NONBLOCK)) >= 0 &&
           inotify_add_watch(queues[count], "/tmp", IN_ALL_EVENTS) > 0)
        count++;
    PROMISE(count == 192 && errno == ENOSPC, "%d watches", count);
    IS(mkdir("/tmp/a folder with a rather long name, so that each of them has something to copy", 0755), 0);
    for (int i = 0; i < count; i++) {
        PROMISE(events_of(queues[i], NULL) == (IN_CREATE | IN_ISDIR), "%d", i);
        close(queues[i]);
    }
    close(queues[count]);
}

/* Sets that contain each other in as many ways as they can: a scan reads each of them once. */
static void sets_of_sets(void)
{
    enum { LEVELS = 5, WIDTH = 12 };
    int sets[LEVELS][WIDTH], event = eventfd(0, EFD_NONBLOCK);
    struct epoll_event any = { .events = EPOLLIN };

    for (int level = 0; level < LEVELS; level++)
        for (int i = 0; i < WIDTH; i++) {
            sets[level][i] = epoll_create1(0);
            for (int j = 0; level && j < WIDTH; j++)
                IS(epoll_ctl(sets[level][i], EPOLL_CTL_ADD, sets[level - 1][j], &any), 0);
        }
    FAILS(epoll_ctl(sets[0][0], EPOLL_CTL_ADD, sets[LEVELS - 1][0], &any), ELOOP);
    IS(epoll_ctl(sets[0][WIDTH - 1], EPOLL_CTL_ADD, event, &any), 0);
    IS(epoll_wait(sets[LEVELS - 1][0], &any, 1, 0), 0);
    IS(write(event, &(uint64_t){ 1 }, 8), 8);
    IS(epoll_wait(sets[LEVELS - 1][0], &any, 1, -1), 1);
    int above = epoll_create1(0);
    FAILS(epoll_ctl(above, EPOLL_CTL_ADD, sets[LEVELS - 1][0], &any), ELOOP);
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";

    if (strcmp(part, "ranks") == 0)
        return ranks();
    if (strcmp(part, "silent") == 0)
        return silent();
    watches_of_many_folders();
    watchers_of_one_file();
    sets_of_sets();
    return promises_kept();
}
