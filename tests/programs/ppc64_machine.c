/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ppc64_machine.c MODE: for Linux on POWER, by Debian's cross compiler: what a program sees of what the
 * firmware says.
 *
 *   copy      standard input to standard output; on standard error how many bytes that were
 *   write N   N KiB of a pattern to standard output
 *   time      the wall clock in seconds, and what it has gained on the boot clock 20 ms later, in ms
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int copy(void)
{
    char bytes[4096];
    ssize_t got;
    size_t total = 0;

    while ((got = read(0, bytes, sizeof(bytes))) > 0) {
        for (ssize_t done = 0, part; done < got; done += part)
            if ((part = write(1, bytes + done, (size_t)(got - done))) <= 0)
                return 2;
        total += (size_t)got;
    }
    fprintf(stderr, "%zu bytes\n", total);
    return got < 0;
}

static int pattern(unsigned long kib)
{
    static unsigned char bytes[1024];
    unsigned long at = 0;

    while (kib--) {
        for (size_t i = 0; i < sizeof(bytes); i++, at++)
            bytes[i] = (unsigned char)(at ^ at >> 8 ^ at >> 16);
        if (write(1, bytes, sizeof(bytes)) != sizeof(bytes))
            return 1;
    }
    return 0;
}

static double seconds(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int wall_clock(void)
{
    const double wall = seconds(CLOCK_REALTIME), since_boot = seconds(CLOCK_MONOTONIC);
    const struct timespec pause = { 0, 20000000 };

    nanosleep(&pause, NULL);
    const double gained = (seconds(CLOCK_REALTIME) - wall) - (seconds(CLOCK_MONOTONIC) - since_boot);
    printf("%.0f %.0f\n", wall, gained * 1e3);
    return 0;
}

int main(int count, char **words)
{
    const char *mode = count > 1 ? words[1] : "";

    if (strcmp(mode, "copy") == 0)
        return copy();
    if (strcmp(mode, "write") == 0 && count > 2)
        return pattern(strtoul(words[2], NULL, 10));
    if (strcmp(mode, "time") == 0)
        return wall_clock();
    return 9;
}
