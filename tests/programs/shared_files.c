/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shared_files.c: two ranks and the files that they share. Rank 0 writes, and rank 1 finds it; both append to
 * one file, take turns by locks, and make and remove names in one directory; then rank 0 ends, and rank 1
 * still reads what it left.
 */
#define _GNU_SOURCE
#include "promise.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LINES      300
#define TURNS      100
#define LEFT_BYTES (4 << 20)

static int rank;

static void pause_ms(void)
{
    nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
}

static int named(const char *name, int number)
{
    char path[64];

    snprintf(path, sizeof(path), "/tmp/%s.%d", name, number);
    return open(path, O_CREAT | O_RDWR, 0644);
}

/* Waits until both ranks have come here. */
static void meet(const char *name)
{
    char path[64];

    close(named(name, rank));
    snprintf(path, sizeof(path), "/tmp/%s.%d", name, !rank);
    while (access(path, F_OK))
        pause_ms();
}

static void growth(void)
{
    char text[32];
    int file;

    if (rank == 0) {
        file = open("/tmp/grown", O_CREAT | O_EXCL | O_RDWR, 0644);
        IS(write(file, "by rank 0", 9), 9);
        IS(ftruncate(file, 3 << 20), 0);
        close(file);
    }
    meet("grown");
    if (rank == 1) {
        file = open("/tmp/grown", O_RDWR);
        IS(read(file, text, 9), 9);
        PROMISE(memcmp(text, "by rank 0", 9) == 0, "%.9s", text);
        IS(lseek(file, 0, SEEK_END), 3 << 20);
        IS(write(file, "by rank 1", 9), 9);
        close(file);
    }
    meet("answered");
    file = open("/tmp/grown", O_RDONLY);
    IS(pread(file, text, 32, 3 << 20), 9);
    PROMISE(memcmp(text, "by rank 1", 9) == 0, "%.9s", text);
    close(file);
}

/* Appends lines: each must stay in one piece, and none be lost. */
static void appending(void)
{
    int file = open("/tmp/log", O_CREAT | O_WRONLY | O_APPEND, 0644), lines[2] = { 0 }, wrong = 0;
    char line[200];

    for (int i = 0; i < LINES; i++) {
        memset(line, 'a' + rank, sizeof(line));
        snprintf(line, sizeof(line), "%d %d ", rank, i);
        line[strlen(line)] = '.';
        line[sizeof(line) - 1] = '\n';
        IS(write(file, line, sizeof(line)), (ssize_t)sizeof(line));
    }
    close(file);
    meet("appended");
    file = open("/tmp/log", O_RDONLY);
    while (read(file, line, sizeof(line)) == (ssize_t)sizeof(line)) {
        int who, number;

        if (sscanf(line, "%d %d", &who, &number) != 2 || who < 0 || who > 1 || number != lines[who]++ ||
            line[100] != 'a' + who || line[199] != '\n')
            wrong++;
    }
    PROMISE(wrong == 0 && lines[0] == LINES && lines[1] == LINES, "%d wrong, %d and %d lines", wrong,
            lines[0], lines[1]);
    close(file);
}

/* Reads a counter and writes it a little later: only locks keep it right. */
static void turns(void)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    int file = open("/tmp/counter", O_CREAT | O_RDWR, 0644);
    uint32_t value = 0;

    for (int i = 0; i < TURNS; i++) {
        whole.l_type = F_WRLCK;
        IS(fcntl(file, i % 2 ? F_OFD_SETLKW : F_SETLKW, &whole), 0);
        value = 0;
        pread(file, &value, sizeof(value), 0);
        value++;
        if (i % 8 == 0)
            pause_ms();
        IS(pwrite(file, &value, sizeof(value), 0), (ssize_t)sizeof(value));
        whole.l_type = F_UNLCK;
        IS(fcntl(file, i % 2 ? F_OFD_SETLK : F_SETLK, &whole), 0);
    }
    meet("turned");
    IS(pread(file, &value, sizeof(value), 0), (ssize_t)sizeof(value));
    PROMISE(value == 2 * TURNS, "%u", value);
    close(file);
}

/* Makes, moves and removes names: each succeeds for exactly one of the two ranks. */
static void names(void)
{
    char path[64], other[64];
    int32_t done[3] = { 0 }, sums[3] = { 0 };

    for (int i = 0; i < LINES; i++) {
        snprintf(path, sizeof(path), "/tmp/made.%d", i);
        done[0] += mkdir(path, 0755) == 0;
    }
    meet("all-made");
    for (int i = 0; i < LINES; i++) {
        snprintf(path, sizeof(path), "/tmp/made.%d", i);
        snprintf(other, sizeof(other), "/tmp/moved.%d.%d", i, rank);
        done[1] += rename(path, other) == 0;
    }
    meet("all-moved");
    for (int i = 0; i < 2 * LINES; i++) {
        snprintf(path, sizeof(path), "/tmp/moved.%d.%d", i / 2, i % 2);
        done[2] += rmdir(path) == 0;
    }
    int mine = named("sums", rank);
    IS(write(mine, done, sizeof(done)), (ssize_t)sizeof(done));
    close(mine);
    meet("summed");
    mine = named("sums", !rank);
    IS(read(mine, sums, sizeof(sums)), (ssize_t)sizeof(sums));
    for (int i = 0; i < 3; i++)
        PROMISE(done[i] + sums[i] == LINES, "%d: %d and %d", i, done[i], sums[i]);
    close(mine);
}

static void end(void)
{
    static unsigned char bytes[LEFT_BYTES];
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    unsigned wrong = 0;
    int file = open("/tmp/left", O_CREAT | O_RDWR, 0644);

    if (rank == 0) {
        for (unsigned i = 0; i < LEFT_BYTES; i++)
            bytes[i] = (unsigned char)(i * 31 + i / 4096);
        IS(fcntl(file, F_SETLK, &whole), 0);
        IS(write(file, bytes, LEFT_BYTES), LEFT_BYTES);
        meet("locked");
        return; /* the lock ends with the rank */
    }
    meet("locked");
    IS(fcntl(file, F_SETLKW, &whole), 0);
    for (int i = 0; i < 50; i++)
        pause_ms();
    IS(pread(file, bytes, LEFT_BYTES, 0), LEFT_BYTES);
    for (unsigned i = 0; i < LEFT_BYTES; i++)
        wrong += bytes[i] != (unsigned char)(i * 31 + i / 4096);
    PROMISE(wrong == 0, "%u bytes differ", wrong);
    IS(ftruncate(file, 0), 0); /* gives the other's memory back */
    IS(ftruncate(file, LEFT_BYTES), 0);
    IS(unlink("/tmp/left"), 0);
    close(file);
}

int main(void)
{
    const char *number = getenv("TACET_RANK");

    rank = number ? atoi(number) : 0;
    growth();
    appending();
    turns();
    names();
    end();
    return promises_kept();
}
