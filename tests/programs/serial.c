/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serial.c MODE: a slow port, and threads and ranks next to the one that uses it.
 *
 *   unmap        2 CPUs, a rank: while one thread writes 1 MiB in one call, the other unmaps pages, for which
 *                the first thread's CPU must invalidate its TLB; prints on standard error how often it did,
 *                and the ns for one page, during the write and before
 *   meanwhile    2 ranks: the first writes 1 MiB of lines in one call, the second meanwhile some lines
 *   parts        any ranks: each writes lines by writev, the end of a line in another part than its beginning
 *   kill         2 CPUs, a rank: a thread writes 64 MiB in one call; the other ends the process
 *   take N [TTY] reads N bytes from standard input, or from a terminal that is raw; how long that took
 *   apart N      2 ranks: the first reads N bytes and then computes, while more arrive; the second computes;
 *                which of them were interrupted: at most once a read
 *   readers      3 CPUs, a rank: three threads read to the end
 *   polls        waits for each read by poll or epoll_wait, to the end
 */
#define _GNU_SOURCE
#include "clock.h"

#include <stdio.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <tacet.h>
#include <time.h>
#include <unistd.h>

#define OUTPUT_BYTES (1UL << 20)
#define LINE_BYTES   64
#define LINES        32
#define ROUNDS       20

static _Atomic int state; /* 1: the write begins; 2: it has ended */
static size_t output_bytes = OUTPUT_BYTES;

/* Returns numbered lines of equal length. */
static char *text_of(size_t bytes)
{
    char *text = malloc(bytes + 1);

    for (size_t at = 0; text && at < bytes; at += LINE_BYTES)
        snprintf(text + at, LINE_BYTES + 1, "%-*zu\n", LINE_BYTES - 1, at / LINE_BYTES);
    return text;
}

static void *writer(void *text)
{
    state = 1;
    ssize_t put = write(1, text, output_bytes);
    state = 2;
    return (void *)(uintptr_t)(put == (ssize_t)output_bytes);
}

/* Maps, touches and unmaps a page until `enough` rounds are over, or the write is. */
static unsigned rounds(unsigned enough, int until, uint64_t *ns)
{
    uint64_t begin = now_ns();
    unsigned round = 0;

    for (; round < enough && state != until; round++) {
        char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        *(volatile char *)page = 1;
        munmap(page, 4096);
    }
    *ns = (now_ns() - begin) / (round ? round : 1);
    return round;
}

static void *spinner(void *unused)
{
    (void)unused;
    state = 3;
    while (state == 3)
        ;
    return NULL;
}

static int unmap_mode(char *text)
{
    uint64_t control_ns, ns;
    pthread_t thread;
    void *whole;

    if (pthread_create(&thread, NULL, spinner, NULL))
        return 1;
    while (state != 3)
        ;
    unsigned control = rounds(ROUNDS, 2, &control_ns);
    state = 0;
    pthread_join(thread, NULL);
    if (pthread_create(&thread, NULL, writer, text))
        return 1;
    while (state == 0)
        ;
    unsigned beside = rounds(ROUNDS, 2, &ns);
    bool during = state == 1;
    pthread_join(thread, &whole);
    fprintf(stderr, "control %u rounds of %lu ns, meanwhile %u of %lu ns, %s, %s\n", control,
            (unsigned long)control_ns, beside, (unsigned long)ns, during ? "before the end" : "until the end",
            whole ? "whole" : "partial");
    return 0;
}

static int beside_mode(const char *text, unsigned rank)
{
    int file = open("/dev/shm/serial", O_RDWR | O_CREAT, 0600);

    if (ftruncate(file, 4096))
        return 1;
    _Atomic int *begun = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

    if (rank == 0) {
        *begun = 1;
        return write(1, text, OUTPUT_BYTES) != (ssize_t)OUTPUT_BYTES;
    }
    while (!*begun)
        ;
    for (int line = 0; line < LINES; line++) {
        char mine[16];
        int bytes = snprintf(mine, sizeof(mine), "mine %d\n", line);

        if (write(1, mine, (size_t)bytes) != bytes)
            return 1;
    }
    return 0;
}

static int kill_mode(void)
{
    pthread_t thread;

    output_bytes = 64 * OUTPUT_BYTES;
    char *text = text_of(output_bytes);
    if (!text || pthread_create(&thread, NULL, writer, text))
        return 1;
    while (state == 0)
        ;
    usleep(10000);
    _exit(7);
}

/* Returns the byte of the input at `place`. */
static unsigned char pattern(uint64_t place)
{
    return (unsigned char)(place ^ place >> 8 ^ place >> 16);
}

/* Reads until there are `bytes`, or the input ends; counts reads and wrong bytes. */
static uint64_t take(int from, uint64_t bytes, uint64_t *reads, uint64_t *wrong)
{
    static unsigned char chunk[1 << 16];
    uint64_t taken = 0;

    while (taken < bytes) {
        uint64_t left = bytes - taken;
        ssize_t got = read(from, chunk, left < sizeof(chunk) ? left : sizeof(chunk));

        if (got <= 0)
            break;
        for (ssize_t i = 0; i < got; i++)
            *wrong += chunk[i] != pattern(taken + (uint64_t)i);
        taken += (uint64_t)got;
        ++*reads;
    }
    return taken;
}

static int take_mode(uint64_t bytes, const char *terminal)
{
    int from = terminal ? open(terminal, O_RDONLY) : 0;
    uint64_t reads = 0, wrong = 0;

    take(from, 1, &reads, &wrong);
    uint64_t begin_ns = now_ns(), further_wrong = 0;
    uint64_t taken = take(from, bytes - 1, &reads, &further_wrong);
    fprintf(stderr, "%lu bytes in %lu reads and %lu ns\n", (unsigned long)taken, (unsigned long)reads,
            (unsigned long)(now_ns() - begin_ns));
    return 0;
}

static uint64_t interrupts(unsigned cpu)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < TACET_INTERRUPTS; i++)
        sum += tacet_counters(cpu)->interrupts[i];
    return sum;
}

static void compute(uint64_t ns)
{
    for (uint64_t end_ns = now_ns() + ns; now_ns() < end_ns;)
        ;
}

static int apart_mode(uint64_t bytes, unsigned rank)
{
    int file = open("/dev/shm/serial", O_RDWR | O_CREAT, 0600);
    uint64_t reads = 0, wrong = 0;

    if (ftruncate(file, 4096))
        return 1;
    _Atomic int *phase = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

    if (rank == 1) {
        while (*phase == 0)
            ;
        uint64_t before = interrupts(1);
        while (*phase == 1)
            ;
        fprintf(stderr, "second: %lu interrupts\n", (unsigned long)(interrupts(1) - before));
        return 0;
    }
    uint64_t before = interrupts(0);
    *phase = 1;
    uint64_t taken = take(0, bytes, &reads, &wrong), during = interrupts(0) - before;
    compute(2000000); /* one more interrupt may have been on its way */
    before = interrupts(0);
    compute(50000000);
    uint64_t after = interrupts(0) - before;
    *phase = 2;
    /* One write, which the other rank's line does not come into. */
    char many[64] = "few interrupts";
    if (during == 0 || during > reads + 2)
        snprintf(many, sizeof(many), "%lu interrupts for %lu reads", (unsigned long)during,
                 (unsigned long)reads);
    fprintf(stderr, "%lu bytes, %lu wrong, %s, then %lu\n", (unsigned long)taken, (unsigned long)wrong, many,
            (unsigned long)after);
    return 0;
}

static void *reader(void *sum)
{
    unsigned char chunk[100];
    ssize_t got;

    while ((got = read(0, chunk, sizeof(chunk))) > 0)
        atomic_fetch_add((_Atomic uint64_t *)sum, (uint64_t)got);
    return (void *)(intptr_t)got;
}

static int readers_mode(void)
{
    _Atomic uint64_t sum = 0;
    pthread_t threads[2];
    void *results[3];

    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, reader, &sum))
            return 1;
    results[2] = reader(&sum);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], &results[i]);
    fprintf(stderr, "%lu bytes, ends %s\n", (unsigned long)sum,
            !results[0] && !results[1] && !results[2] ? "seen by all" : "missed");
    return 0;
}

/* Waits by poll and by epoll_wait, in turns, with and without a time limit. */
static int polls_mode(void)
{
    struct epoll_event event = { .events = EPOLLIN };
    int set = epoll_create1(0);
    uint64_t taken = 0, wrong = 0, empty = 0;

    if (fcntl(0, F_SETFL, O_NONBLOCK) || epoll_ctl(set, EPOLL_CTL_ADD, 0, &event))
        return 1;
    for (unsigned turn = 0;; turn++) {
        struct pollfd stdin_poll = { .fd = 0, .events = POLLIN };
        int limit_ms = turn % 3 ? -1 : 10000;
        int ready = turn % 2 ? poll(&stdin_poll, 1, limit_ms) : epoll_wait(set, &event, 1, limit_ms);
        unsigned char chunk[64];
        ssize_t got = read(0, chunk, sizeof(chunk));

        empty += ready != 1 || got < 0;
        if (got == 0)
            break;
        for (ssize_t i = 0; i < got; i++)
            wrong += chunk[i] != pattern(taken + (uint64_t)i);
        taken += got > 0 ? (uint64_t)got : 0;
    }
    fprintf(stderr, "%lu bytes, %lu wrong, %lu empty\n", (unsigned long)taken, (unsigned long)wrong,
            (unsigned long)empty);
    return 0;
}

static int parts_mode(const char *rank)
{
    struct iovec parts[] = { { (void *)(uintptr_t) "line of ", 8 },
                             { (void *)(uintptr_t)rank, 1 },
                             { (void *)(uintptr_t) "\n", 1 } };

    for (unsigned i = 0; i < 1500; i++)
        if (writev(1, parts, 3) != 10)
            return 1;
    return 0;
}

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "", *rank = getenv("TACET_RANK");
    char *text = text_of(OUTPUT_BYTES);

    if (!text)
        return 3;
    if (strcmp(mode, "unmap") == 0)
        return unmap_mode(text);
    if (strcmp(mode, "meanwhile") == 0)
        return beside_mode(text, rank ? (unsigned)atoi(rank) : 0);
    if (strcmp(mode, "take") == 0 && count > 2)
        return take_mode(strtoul(arguments[2], NULL, 10), arguments[3]);
    if (strcmp(mode, "apart") == 0 && count > 2)
        return apart_mode(strtoul(arguments[2], NULL, 10), rank ? (unsigned)atoi(rank) : 0);
    if (strcmp(mode, "readers") == 0)
        return readers_mode();
    if (strcmp(mode, "polls") == 0)
        return polls_mode();
    if (strcmp(mode, "parts") == 0 && rank)
        return parts_mode(rank);
    if (strcmp(mode, "kill") == 0)
        return kill_mode();
    return 2;
}
