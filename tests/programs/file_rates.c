/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file_rates.c: measures the speed of files in a folder, in wall time, to compare systems:
 *
 *   file_rates FOLDER MIB FILES [SERVER OPTIONS]
 *
 * Writes a file of MIB mebibytes by calls of 64 KiB, reads it, creates, looks at and removes FILES empty
 * ones. With SERVER it mounts FOLDER first, as Linux's own 9p does with these OPTIONS. Prints rates as lines
 * "key value": KiB and operations per second. Ends with 1 if a call fails, or if the data read is not the
 * data written: each page begins with its number.
 */
#define _GNU_SOURCE
#include "clock.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CALL_BYTES  65536
#define STAMP_BYTES 4096
#define CALLS_MIB   (1048576 / CALL_BYTES)
#define NS_PER_S    1000000000ULL

static uint8_t block[CALL_BYTES];

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void rate_print(const char *name, uint64_t count, uint64_t begun_ns)
{
    uint64_t passed_ns = now_ns() - begun_ns;

    printf("%s %llu\n", name, (unsigned long long)(count * NS_PER_S / (passed_ns ? passed_ns : 1)));
}

static uint64_t *stamp(unsigned i)
{
    return (uint64_t *)(block + (size_t)i * STAMP_BYTES);
}

static void file_write(unsigned calls)
{
    uint64_t begun_ns = now_ns();
    int file = open("data", O_CREAT | O_EXCL | O_WRONLY, 0600);

    if (file < 0)
        fail("create data");
    for (unsigned call = 0; call < calls; call++) {
        for (unsigned i = 0; i < CALL_BYTES / STAMP_BYTES; i++)
            *stamp(i) = (uint64_t)call * (CALL_BYTES / STAMP_BYTES) + i;
        if (write(file, block, CALL_BYTES) != CALL_BYTES)
            fail("write");
    }
    if (close(file) != 0)
        fail("close");
    rate_print("write_kib_s", (uint64_t)calls * (CALL_BYTES / 1024), begun_ns);
}

static void file_read(unsigned calls)
{
    uint64_t begun_ns = now_ns();
    int file = open("data", O_RDONLY);

    if (file < 0)
        fail("open data");
    for (unsigned call = 0; call < calls; call++) {
        memset(block, 0, 8);
        if (read(file, block, CALL_BYTES) != CALL_BYTES)
            fail("read");
        for (unsigned i = 0; i < CALL_BYTES / STAMP_BYTES; i++)
            if (*stamp(i) != (uint64_t)call * (CALL_BYTES / STAMP_BYTES) + i) {
                fprintf(stderr, "page %u of call %u is another one\n", i, call);
                exit(1);
            }
    }
    if (read(file, block, 1) != 0)
        fail("the end");
    close(file);
    rate_print("read_kib_s", (uint64_t)calls * (CALL_BYTES / 1024), begun_ns);
}

static bool file_create(const char *name)
{
    int file = open(name, O_CREAT | O_EXCL | O_WRONLY, 0600);

    return file >= 0 && close(file) == 0;
}

static bool file_stat(const char *name)
{
    struct stat status;

    return stat(name, &status) == 0 && status.st_size == 0;
}

static bool file_unlink(const char *name)
{
    return unlink(name) == 0;
}

static void each_file(const char *rate, bool (*operation)(const char *name), unsigned files)
{
    uint64_t begun_ns = now_ns();

    for (unsigned i = 0; i < files; i++) {
        char name[16];

        snprintf(name, sizeof name, "%u", i);
        if (!operation(name))
            fail(rate);
    }
    rate_print(rate, files, begun_ns);
}

int main(int argc, char **argv)
{
    unsigned mib, files;

    if (argc != 4 && argc != 6) {
        fprintf(stderr, "usage: file_rates FOLDER MIB FILES [SERVER OPTIONS]\n");
        return 2;
    }
    mib = (unsigned)strtoul(argv[2], NULL, 0);
    files = (unsigned)strtoul(argv[3], NULL, 0);
    if (argc == 6) {
        mkdir(argv[1], 0755); /* it may be there */
        if (mount(argv[4], argv[1], "9p", 0, argv[5]) != 0)
            fail("mount");
    }
    if (chdir(argv[1]) != 0)
        fail(argv[1]);
    file_write(mib * CALLS_MIB);
    file_read(mib * CALLS_MIB);
    if (unlink("data") != 0)
        fail("unlink data");
    each_file("create_s", file_create, files);
    each_file("stat_s", file_stat, files);
    each_file("unlink_s", file_unlink, files);
    return 0;
}
