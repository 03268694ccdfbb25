/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * messages.c WAY: does what the kernel tells the program's user about, on standard error.
 *
 *   fork         calls system twice and fork once, and continues
 *   memory       requests more memory than there is, a hundred times, and continues
 *   starve       the same for ever; like a library that waits for memory
 *   within-line  makes an unsupported call after half a line of its own
 *   together     writes lines of its own while another thread makes unsupported calls
 *   unread       fills standard error, which is not read, and makes unsupported calls. These two say
 *                on standard output how many, and how many messages the node has dropped
 *   closed       closes standard error, opens all descriptors that it can, and touches address 8
 *   null         touches address 8
 *   abort        calls abort
 */
#include "promise.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CALL_FIRST  468 /* numbers without a call */
#define CALL_LAST   511
#define DROPPED     "messages_dropped "
#define DESCRIPTORS 1024
#define OWN_LINES   1000
#define OWN_LINE    "a line of the program\n"
#define QUIET       20 /* rounds without room, after which it is full */

static void unsupported_calls(void)
{
    for (int call = CALL_FIRST; call <= CALL_LAST; call++)
        FAILS(syscall(call), ENOSYS);
}

static void forks(void)
{
    IS(system("true") != 0, 1);
    IS(system("true") != 0, 1);
    FAILS(fork(), ENOMEM);
}

static void starve_once(void)
{
    IS(mmap(NULL, 1UL << 40, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED, 1);
    IS(sbrk(1L << 38) == (void *)-1, 1);
}

static atomic_bool calls_are_made;

static void *calls(void *unused)
{
    const struct timespec pause = { 0, 1000000 };

    for (int call = CALL_FIRST; call <= CALL_LAST; call++) {
        FAILS(syscall(call), ENOSYS);
        nanosleep(&pause, NULL);
    }
    atomic_store(&calls_are_made, true);
    return unused;
}

/* Returns the number after `name` in the node's counts of its network. */
static unsigned long network_count(const char *name)
{
    char text[4096] = "";
    int file = open("/proc/tacet/network", O_RDONLY);
    const char *at;

    if (file >= 0 && read(file, text, sizeof(text) - 1) > 0 && (at = strstr(text, name)))
        return strtoul(at + strlen(name), NULL, 10);
    return 0;
}

static void dropped_print(unsigned long before)
{
    printf("%d calls, %lu dropped\n", CALL_LAST - CALL_FIRST + 1, network_count(DROPPED) - before);
    fflush(stdout);
}

/* Writes many lines at a time, so that messages come while the kernel copies. */
static void together(void)
{
    static char lines[OWN_LINES * (sizeof(OWN_LINE) - 1)];
    const unsigned long before = network_count(DROPPED);
    pthread_t thread;

    for (size_t at = 0; at < sizeof(lines); at += sizeof(OWN_LINE) - 1)
        memcpy(lines + at, OWN_LINE, sizeof(OWN_LINE) - 1);
    IS(pthread_create(&thread, NULL, calls, NULL), 0);
    while (!atomic_load(&calls_are_made))
        IS(write(2, lines, sizeof(lines)), (ssize_t)sizeof(lines));
    IS(pthread_join(thread, NULL), 0);
    dropped_print(before);
}

static void unread(void)
{
    static char line[1024];
    const struct timespec round = { 0, 50000000 };
    const unsigned long before = network_count(DROPPED);

    memset(line, 'x', sizeof(line));
    line[sizeof(line) - 1] = '\n';
    IS(fcntl(2, F_SETFL, O_NONBLOCK), 0);
    for (int quiet = 0; quiet < QUIET; quiet++) {
        while (write(2, line, sizeof(line)) > 0)
            quiet = 0;
        nanosleep(&round, NULL);
    }
    unsupported_calls();
    dropped_print(before);
}

__attribute__((noinline)) static void null_touch(void)
{
    static volatile char *volatile nothing = (volatile char *)8;

    *nothing = 1;
}

static void closed(void)
{
    int count = 2;

    close(2);
    while (open("/dev/null", O_RDWR) >= 0)
        count++;
    IS(count, DESCRIPTORS);
    null_touch();
}

int main(int argument_count, char **arguments)
{
    const char *way = argument_count > 1 ? arguments[1] : "";

    if (strcmp(way, "fork") == 0)
        forks();
    else if (strcmp(way, "memory") == 0)
        for (int i = 0; i < 100; i++)
            starve_once();
    else if (strcmp(way, "starve") == 0)
        for (;;)
            starve_once();
    else if (strcmp(way, "within-line") == 0) {
        IS(write(2, "half", 4), 4);
        FAILS(syscall(CALL_FIRST), ENOSYS);
        IS(write(2, "whole\n", 6), 6);
    } else if (strcmp(way, "together") == 0)
        together();
    else if (strcmp(way, "unread") == 0)
        unread();
    else if (strcmp(way, "closed") == 0)
        closed();
    else if (strcmp(way, "null") == 0)
        null_touch();
    else if (strcmp(way, "abort") == 0)
        abort();
    else
        PROMISE(0, "no such way: %s", way);
    return promises_kept();
}
