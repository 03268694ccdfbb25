/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * beats.c: what a program sees on a node that receives heartbeats. It prints "ready", and at the end
 * /proc/tacet/nettick, /proc/tacet/timers and /proc/interrupts. If it sleeps, it prints the least and the
 * most lateness of its waking, in ns (negative: early), and also /proc/interrupts before it begins.
 *
 *      beats wait LAST             computes until beat LAST or a later one has come
 *      beats rest LAST             the same, and until no CPU goes by beats; says "at 1" once all had one
 *      beats each COUNT            until every CPU has taken 1, 2, … COUNT beats; says "at 1", "at 2", …
 *      beats follow EVERY LAST NS  sleeps NS again and again until beat LAST; says "at N" for EVERY'th beats,
 *                                  and how often global time was read and had gone back
 *      beats sleep COUNT NS        sleeps as often for NS, after every CPU's first beat
 *      beats lose LAST NS          sleeps NS again and again, after every CPU's first beat, until beat LAST;
 *                                  says "at loss" when a CPU goes on without beats
 *      beats clocks COUNT S        says "waits", waits by the time of day for S seconds, says "woken"; then
 *                                  compares the clocks, by the vDSO and by system calls, for COUNT beats
 *      beats timers 0              says "waits", waits for timers that are read, says which were ready
 *      beats look LAST NS          computes for NS and looks at the network, by turns, until beat LAST
 *      beats talk ADDRESS PORT LAST EACH
 *                                  has words made upper-case by a server there until beat LAST has come, and
 *                                  every CPU has taken EACH, at least once
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static char text[16384];
static int64_t late_min_ns = INT64_MAX, late_max_ns = INT64_MIN;

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

static void file_print(const char *path)
{
    file_read(path);
    fputs(text, stdout);
}

static uint64_t sequence(void)
{
    static const char name[] = "\nsequence ";

    file_read("/proc/tacet/nettick");
    const char *line = strstr(text, name);
    return line ? strtoull(line + strlen(name), NULL, 10) : 0;
}

static void compute(void)
{
    for (volatile int i = 0; i < 100000; i++)
        ;
}

static void wait_for(uint64_t last)
{
    while (sequence() < last)
        compute();
}

/* Returns the least, or the greatest, of the CPUs' numbers after these words. */
static uint64_t of_cpus(const char *words, int greatest)
{
    uint64_t found = greatest ? 0 : UINT64_MAX;

    file_read("/proc/tacet/nettick");
    for (const char *at = text; (at = strstr(at, words)); at += strlen(words)) {
        const uint64_t number = strtoull(at + strlen(words), NULL, 10);

        found = greatest == (number > found) ? number : found;
    }
    return found;
}

/* Waits until every CPU has taken this number of beats. */
static void wait_for_all(uint64_t beats)
{
    while (of_cpus(" beats ", 0) < beats)
        compute();
}

static void each(uint64_t count)
{
    for (uint64_t i = 1; i <= count; i++) {
        wait_for_all(i);
        printf("at %llu\n", (unsigned long long)i);
    }
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void sleep_once(int64_t ns)
{
    const struct timespec time = { ns / 1000000000, ns % 1000000000 };
    const int64_t begin = now_ns();

    nanosleep(&time, NULL);
    const int64_t late = now_ns() - begin - ns;
    late_min_ns = late < late_min_ns ? late : late_min_ns;
    late_max_ns = late > late_max_ns ? late : late_max_ns;
}

static void look(uint64_t last, int64_t ns)
{
    const int datagrams = socket(AF_INET, SOCK_DGRAM, 0);
    char byte;

    while (sequence() < last) {
        const int64_t end = now_ns() + ns;

        while (now_ns() < end)
            ;
        recv(datagrams, &byte, 1, MSG_DONTWAIT);
    }
    close(datagrams);
}

static void lose(uint64_t last, int64_t ns)
{
    wait_for_all(1);
    file_print("/proc/interrupts");
    while (of_cpus(" fallbacks ", 1) == 0)
        sleep_once(ns);
    file_print("/proc/interrupts");
    puts("at loss");
    while (sequence() < last)
        sleep_once(ns);
}

static int64_t clock_ns(clockid_t clock, int by_call)
{
    struct timespec now = { 0, 0 };

    if (by_call)
        syscall(SYS_clock_gettime, clock, &now);
    else
        clock_gettime(clock, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void follow(uint64_t every, uint64_t last, int64_t ns)
{
    int64_t last_tai = INT64_MIN;
    unsigned long reads = 0, backwards = 0;

    file_print("/proc/interrupts");
    for (uint64_t next = every; next <= last; next += every) {
        for (uint64_t now; (now = sequence()) < next;) {
            sleep_once(ns);
            /* The first beat sets the clock, possibly back. */
            for (int i = 0; now > 0 && i < 20; i++, reads++) {
                const int64_t tai = clock_ns(CLOCK_TAI, i & 1);

                backwards += tai < last_tai;
                last_tai = tai;
            }
        }
        printf("at %llu\n", (unsigned long long)next);
    }
    printf("reads %lu\nbackwards %lu\n", reads, backwards);
}

static void clocks(uint64_t beats, time_t wait_s)
{
    struct timespec until;
    int64_t last_tai = 0, last_day = 0;
    unsigned long reads = 0, backwards = 0, outside = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += wait_s;
    puts("waits");
    if (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL))
        abort();
    printf("early_ns %lld\n",
           (long long)(until.tv_sec * 1000000000LL + until.tv_nsec - clock_ns(CLOCK_REALTIME, 0)));
    puts("woken");
    /* Many may have come at once, if the node stood still. */
    const uint64_t last = sequence() + beats;
    while (sequence() < last) {
        sleep_once(1000); /* looks at the network */
        for (int i = 0; i < 1000; i++, reads++) {
            const int64_t tai = clock_ns(CLOCK_TAI, i & 1), day = clock_ns(CLOCK_REALTIME, i & 2);

            backwards += tai < last_tai || day < last_day;
            last_tai = tai;
            last_day = day;
        }
    }
    for (int i = 0; i < 100; i++) {
        const int64_t before = clock_ns(CLOCK_TAI, i & 1);

        sequence(); /* reads the file */
        const int64_t global = strtoll(strstr(text, "global_ns ") + 10, NULL, 10);
        outside += global < before || global > clock_ns(CLOCK_TAI, i & 2);
    }
    const int64_t ahead = clock_ns(CLOCK_TAI, 0) - clock_ns(CLOCK_REALTIME, 0);
    printf("reads %lu\nbackwards %lu\noutside %lu\nahead_s %lld\n", reads, backwards, outside,
           (long long)((ahead + 500000000) / 1000000000));
}

/* Waits for timers that are read: by the time of day in half an hour, with and without an end at steps of the
 * clock; by the time since boot in a day. */
static void timers(void)
{
    struct pollfd polled[3];
    struct itimerspec when = { { 0, 0 }, { 0, 0 } };
    uint64_t count = 0;

    for (int i = 0; i < 3; i++) {
        const clockid_t clock = i < 2 ? CLOCK_REALTIME : CLOCK_MONOTONIC;

        polled[i] = (struct pollfd){ timerfd_create(clock, TFD_NONBLOCK), POLLIN, 0 };
        clock_gettime(clock, &when.it_value);
        when.it_value.tv_sec += i < 2 ? 1800 : 86400;
        if (timerfd_settime(polled[i].fd, TFD_TIMER_ABSTIME | (i ? 0 : TFD_TIMER_CANCEL_ON_SET), &when, NULL))
            abort();
    }
    puts("waits");
    poll(polled, 3, -1);
    for (int i = 0; i < 3; i++)
        printf("ready%d %d\nread%d %zd\n", i, polled[i].revents, i,
               read(polled[i].fd, &count, sizeof(count)));
    printf("times %llu\n", (unsigned long long)count);
    puts("woken");
}

static int talk(const char *address, const char *port)
{
    static const char words[] = "no beat is lost", wanted[] = "NO BEAT IS LOST";
    struct sockaddr_in peer = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };
    char answer[sizeof(words)];
    ssize_t got;
    size_t used = 0;
    int server = socket(AF_INET, SOCK_STREAM, 0);

    inet_aton(address, &peer.sin_addr);
    if (connect(server, (struct sockaddr *)&peer, sizeof(peer)) ||
        send(server, words, sizeof(words), 0) != sizeof(words) || shutdown(server, SHUT_WR))
        return -1;
    while ((got = recv(server, answer + used, sizeof(answer) - used, 0)) > 0)
        used += (size_t)got;
    close(server);
    return used == sizeof(answer) && memcmp(answer, wanted, sizeof(answer)) == 0 ? 0 : -1;
}

int main(int count, char **words)
{
    const char *what = count > 2 ? words[1] : "";

    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("ready");
    if (strcmp(what, "wait") == 0) {
        wait_for(strtoull(words[2], NULL, 10));
    } else if (strcmp(what, "each") == 0) {
        each(strtoull(words[2], NULL, 10));
    } else if (strcmp(what, "clocks") == 0 && count == 4) {
        clocks(strtoull(words[2], NULL, 10), atol(words[3]));
    } else if (strcmp(what, "timers") == 0) {
        timers();
    } else if (strcmp(what, "rest") == 0) {
        wait_for_all(1);
        puts("at 1");
        wait_for(strtoull(words[2], NULL, 10));
        while (strstr(text, "goes_by beats")) {
            compute();
            file_read("/proc/tacet/nettick");
        }
    } else if (strcmp(what, "follow") == 0 && count == 5) {
        follow(strtoull(words[2], NULL, 10), strtoull(words[3], NULL, 10), atoll(words[4]));
    } else if (strcmp(what, "sleep") == 0 && count == 4) {
        wait_for_all(1);
        file_print("/proc/interrupts");
        for (int i = 0; i < atoi(words[2]); i++)
            sleep_once(atoll(words[3]));
    } else if (strcmp(what, "lose") == 0 && count == 4) {
        lose(strtoull(words[2], NULL, 10), atoll(words[3]));
    } else if (strcmp(what, "look") == 0 && count == 4) {
        look(strtoull(words[2], NULL, 10), atoll(words[3]));
    } else if (strcmp(what, "talk") == 0 && count == 6) {
        do {
            if (talk(words[2], words[3])) {
                perror("talk");
                return 1;
            }
        } while (sequence() < strtoull(words[4], NULL, 10) ||
                 of_cpus(" beats ", 0) < strtoull(words[5], NULL, 10));
    } else {
        return 2;
    }
    if (late_min_ns <= late_max_ns)
        printf("late_min_ns %lld\nlate_max_ns %lld\n", (long long)late_min_ns, (long long)late_max_ns);
    file_print("/proc/tacet/nettick");
    file_print("/proc/tacet/timers");
    file_print("/proc/interrupts");
    return 0;
}
