/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serial.c MODE: a slow port, and those beside the one that uses it.
 *
 *   unmap        2 CPUs, a rank: while one thread writes 1 MiB in one call, the other unmaps pages, for which
 *                the first one's CPU must invalidate its TLB; prints on standard error how often that went,
 *                and the nanoseconds of one time, then and before
 *   beside       2 ranks: the first writes 1 MiB of lines in one call, the second meanwhile some lines
 *   kill         2 CPUs, a rank: a thread writes 64 MiB in one call; the other ends the process
 */
#define _GNU_SOURCE
#include <stdio.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define OUTPUT_BYTES (1UL << 20)
#define LINE_BYTES   64
#define LINES        32
#define ROUNDS       200

static _Atomic int state; /* 1: the write begins; 2: it has ended */
static size_t output_bytes = OUTPUT_BYTES;

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Numbered lines, each as long as the next. */
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
    fprintf(stderr, "control %u rounds of %lu ns, beside %u of %lu ns, %s, %s\n", control,
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

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "", *rank = getenv("TACET_RANK");
    char *text = text_of(OUTPUT_BYTES);

    if (!text)
        return 3;
    if (strcmp(mode, "unmap") == 0)
        return unmap_mode(text);
    if (strcmp(mode, "beside") == 0)
        return beside_mode(text, rank ? (unsigned)atoi(rank) : 0);
    if (strcmp(mode, "kill") == 0)
        return kill_mode();
    return 2;
}
