/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * beats.c: a node that hears heartbeats, seen by a program.
 *
 *      beats wait SEQUENCE         says "ready", computes until that beat or a later one has come, prints
 *                                  /proc/tacet/nettick
 *      beats sleep COUNT NS        says "ready", sleeps as often for as long; prints how late it woke, in ns,
 *                                  at least and at most (negative: early), then /proc/tacet/nettick and so on
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char text[16384];

static void file_read(const char *path)
{
    size_t used = 0;
    ssize_t got;
    int file = open(path, O_RDONLY);

    while ((got = read(file, text + used, sizeof(text) - 1 - used)) > 0)
        used += (size_t)got;
    text[used] = 0;
    close(file);
}

static uint64_t value_of(const char *name)
{
    const char *line = strstr(text, name);

    return line ? strtoull(line + strlen(name), NULL, 10) : 0;
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void wait_for(uint64_t sequence)
{
    do {
        for (volatile int i = 0; i < 100000; i++)
            ;
        file_read("/proc/tacet/nettick");
    } while (value_of("\nsequence ") < sequence);
}

static void sleep_often(int count, int64_t ns)
{
    const struct timespec time = { ns / 1000000000, ns % 1000000000 };
    int64_t least = INT64_MAX, most = INT64_MIN;

    while (count-- > 0) {
        int64_t begin = now_ns();

        nanosleep(&time, NULL);
        int64_t late = now_ns() - begin - ns;
        least = late < least ? late : least;
        most = late > most ? late : most;
    }
    printf("late_min_ns %lld\nlate_max_ns %lld\n", (long long)least, (long long)most);
}

int main(int count, char **words)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("ready");
    if (count == 3 && strcmp(words[1], "wait") == 0) {
        wait_for(strtoull(words[2], NULL, 10));
    } else if (count == 4 && strcmp(words[1], "sleep") == 0) {
        sleep_often(atoi(words[2]), atoll(words[3]));
    } else {
        return 2;
    }
    file_read("/proc/tacet/nettick");
    fputs(text, stdout);
    file_read("/proc/tacet/timers");
    fputs(text, stdout);
    file_read("/proc/interrupts");
    fputs(text, stdout);
    return 0;
}
