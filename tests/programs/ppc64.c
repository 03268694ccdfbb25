/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ppc64.c: what a node of POWER can do, as one program: `ppc64 WHAT`. Ordinary C for Linux; the tests compile
 * it with Debian's cross compiler and its static glibc (tests/qemu/test_ppc64.py).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static int words(int count, char **arguments)
{
    struct utsname name;

    uname(&name);
    printf("%s %s, page %ld\n", name.sysname, name.machine, sysconf(_SC_PAGESIZE));
    for (int i = 2; i < count; i++)
        printf("argument %s\n", arguments[i]);
    printf("root of two %.15f, platform %s\n", sqrt(2.0 * count / count),
           (const char *)getauxval(AT_PLATFORM));
    return 7;
}

/* Checks files, whose flags and structures are this architecture's. */
static int files(void)
{
    struct stat status;
    char text[8] = "";
    int file = open("/tmp/file", O_RDWR | O_CREAT | O_EXCL, 0640);

    if (file < 0 || write(file, "content", 7) != 7 || fstat(file, &status) || status.st_size != 7 ||
        (status.st_mode & 0777) != 0640 || pread(file, text, 7, 0) != 7 || strcmp(text, "content") != 0)
        return 1;
    if (open("/tmp/file", O_RDONLY | O_DIRECTORY) >= 0 || errno != ENOTDIR)
        return 2;
    if (symlink("/tmp/file", "/tmp/link") || open("/tmp/link", O_RDONLY | O_NOFOLLOW) >= 0 || errno != ELOOP)
        return 3;
    struct winsize window;
    if (ioctl(0, TIOCGWINSZ, &window) == 0 ? window.ws_row == 0 : errno != ENOTTY)
        return 4;
    puts("files are as they should be");
    return 0;
}

/* Checks memory: pages of all sizes, rights, holes. */
static int memory(void)
{
    const size_t bytes = 64 << 20;
    char *all = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (all == MAP_FAILED)
        return 1;
    for (size_t at = 0; at < bytes; at += 4096)
        all[at] = (char)(at >> 12);
    if (mprotect(all + (5 << 20), 1 << 16, PROT_READ) || munmap(all + (3 << 20), 3 << 16))
        return 2;
    for (size_t at = 0; at < bytes; at += 4096)
        if (!(at >= (3 << 20) && at < (3 << 20) + (3 << 16)) && all[at] != (char)(at >> 12))
            return 3;
    /* A system call that writes where the program may not: one of those that the vDSO does not answer. */
    if (uname((struct utsname *)(all + (5 << 20))) == 0 || errno != EFAULT)
        return 4;
    if (uname((struct utsname *)(all + (3 << 20))) == 0 || errno != EFAULT)
        return 5;
    puts("memory is as it should be");
    fflush(stdout);
    all[5 << 20] = 1; /* ends the program */
    return 6;
}

/* Checks that sleeps never end early. */
static int sleeps(void)
{
    struct timespec before, after, pause = { 0, 20000000 };

    for (int i = 0; i < 5; i++) {
        clock_gettime(CLOCK_MONOTONIC, &before);
        if (clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL))
            return 1;
        clock_gettime(CLOCK_MONOTONIC, &after);
        if ((after.tv_sec - before.tv_sec) * 1000000000L + after.tv_nsec - before.tv_nsec < pause.tv_nsec)
            return 2;
    }
    puts("slept five times");
    return 0;
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "";

    if (strcmp(what, "words") == 0)
        return words(count, arguments);
    if (strcmp(what, "files") == 0)
        return files();
    if (strcmp(what, "memory") == 0)
        return memory();
    if (strcmp(what, "sleeps") == 0)
        return sleeps();
    fprintf(stderr, "ppc64 words|files|memory|sleeps\n");
    return 2;
}
