/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ppc64_machine.c MODE: shows what a program sees of the firmware's data. For Linux on POWER, compiled with
 * Debian's cross compiler.
 *
 *   copy      standard input to standard output; on standard error how many bytes that were
 *   write N   N KiB of a pattern to standard output
 *   time      the wall clock in seconds, and what it has gained on the boot clock 20 ms later, in ms
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
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

/* Both clocks, the wall's read between two readings of the other. */
struct both {
    double before, wall, after;
};

static struct both clocks_read(void)
{
    struct both both;

    both.before = seconds(CLOCK_MONOTONIC);
    both.wall = seconds(CLOCK_REALTIME);
    both.after = seconds(CLOCK_MONOTONIC);
    return both;
}

/* Prints the time of day, and whether the clock of the wall went as the other one, as far as can be seen. */
static int wall_clock(void)
{
    const double resolution = 1e-6; /* of a double that holds the seconds since 1970 */
    const struct timespec pause = { 0, 20000000 };
    const struct both first = clocks_read();

    nanosleep(&pause, NULL);
    const struct both second = clocks_read();
    const double passed = second.wall - first.wall;
    const bool is_even = passed > second.before - first.after - resolution &&
                         passed < second.after - first.before + resolution;
    printf("%.0f %s\n", first.wall, is_even ? "even" : "uneven");
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
