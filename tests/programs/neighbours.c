/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * neighbours.c: long work of one CPU in the kernel delays no other CPU. An operation is repeated and counted
 * on another CPU while nothing happens (the control), and during the long work. The argument chooses the
 * case:
 *
 *   open     2 ranks of 2 CPUs: opens, during another rank's mmaps and new files
 *   close    2 ranks of 2 CPUs: closes of unlinked files of another rank's memory, during its mmaps
 *   shrink   2 ranks of 2 CPUs: reads of a mapped file, during ftruncates that cut and zero it
 *   serve    2 CPUs: memory barriers, which every CPU of the process serves, during mmap, write, read, …
 *   unmap    2 CPUs: mmap and munmap of a page, during a large write
 *   gap      1 CPU: a write after the end of a file that was cut, from memory that ends in the middle
 *   paths    1 CPU: a rename between paths as long as they may be, through links as long, deep in the tree
 *   holes    1 CPU: munmap of every other page costs the same for each, however many there are; exact time
 */
#define _GNU_SOURCE
#include "clock.h"
#include "machine.h"
#include "promise.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE   MACHINE_PAGE
#define MIB    (1UL << 20)
#define ROUNDS 32
#define FILES  200
#define CLOSES 10   /* closes during one mmap */
#define DEPTH  2040 /* of directories: no path names deeper ones */

/* What ranks share. */
static struct shared {
    atomic_uint phase, counted, ready;
} * shared;
static unsigned rank;

static void await(const atomic_uint *word, unsigned least)
{
    while (atomic_load(word) < least)
        ;
}

static char *map(size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    PROMISE(memory != MAP_FAILED, "%zu: %s", bytes, strerror(errno));
    return memory;
}

static int file_make(const char *path, size_t bytes)
{
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

    PROMISE(file >= 0 && ftruncate(file, (off_t)bytes) == 0, "%s: %s", path, strerror(errno));
    return file;
}

/* ---- Rates ---- */

/* During one long call, an operation that waits for it counts two at most. An operation that only waits for
 * turns of the host's CPUs, of which two compute something else, has been seen to count eleven. */
#define CALL_LEAST 6

/* Returns how often the other CPU counts during `work`; without `work`, while this CPU idles. */
static unsigned count_beside(void (*work)(void), uint64_t *us)
{
    unsigned before = atomic_load(&shared->counted);
    uint64_t begun = now_ns();

    if (work)
        work();
    while (!work && now_ns() - begun < 100000000)
        ;
    *us = (now_ns() - begun) / 1000;
    return atomic_load(&shared->counted) - before;
}

/* Compares counts with and without the work. An operation that waits for the work, or for a long part of it,
 * counts only a few. One round of several must count more: if the host's CPUs are busy, an operation may take
 * as long as one of their turns. */
static void compare(const char *name, void (*work)(void), unsigned least)
{
    unsigned alone = 0, beside = 0;
    uint64_t alone_us = 0, beside_us = 0;

    for (unsigned round = 0; round < ROUNDS && beside < least; round++) {
        alone = count_beside(NULL, &alone_us);
        beside = count_beside(work, &beside_us);
    }
    printf("%s: %u in %lu us alone, %u in %lu us beside it\n", name, alone, alone_us, beside, beside_us);
    PROMISE(beside >= least, "%s: %u in %lu us", name, beside, beside_us);
}

/* Counts `operation` until the phase ends. */
static void *repeat(void *operation)
{
    atomic_fetch_add(&shared->ready, 1);
    while (atomic_load(&shared->phase) == 0) {
        ((void (*)(void))operation)();
        atomic_fetch_add(&shared->counted, 1);
    }
    return NULL;
}

/* ---- Works ---- */

#define BIG (400 * MIB)

static char *buffer;
static int file;

static void work_mmap(void)
{
    munmap(map(BIG), BIG);
}

static void work_write(void)
{
    PROMISE(pwrite(file, buffer, 100 * MIB, 0) == 100 * MIB, "%s", strerror(errno));
}

static void work_read(void)
{
    PROMISE(pread(file, buffer, 100 * MIB, 0) == 100 * MIB, "%s", strerror(errno));
}

static void work_shrink(void)
{
    IS(ftruncate(file, PAGE), 0);
    IS(ftruncate(file, 300 * MIB), 0);
}

static atomic_bool files_end;

static void *files_create(void *unused)
{
    char path[64];

    (void)unused;
    for (unsigned i = 0; !atomic_load(&files_end); i++) {
        snprintf(path, sizeof(path), "/tmp/neighbours.%u", i % 1000);
        close(open(path, O_RDWR | O_CREAT, 0600));
        if (i % 1000 > 500)
            unlink(path);
    }
    return NULL;
}

/* ---- Operations ---- */

static void operation_open(void)
{
    close(open("/dev/null", O_RDWR));
}

#define BARRIER          (1 << 3)
#define BARRIER_REGISTER (1 << 4)

static void operation_barrier(void)
{
    syscall(SYS_membarrier, BARRIER, 0, 0);
}

static void operation_unmap(void)
{
    munmap(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), PAGE);
}

static void operation_read(void)
{
    char byte;

    (void)!pread(file, &byte, 1, 0);
}

/* ---- Cases ---- */

static void ranks_begin(void)
{
    int descriptor = open("/dev/shm/neighbours", O_RDWR | O_CREAT, 0600);

    rank = (unsigned)atoi(getenv("TACET_RANK"));
    PROMISE(ftruncate(descriptor, PAGE) == 0, "%s", strerror(errno));
    shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
}

static void try_open(void)
{
    pthread_t thread;

    ranks_begin();
    if (rank == 1) {
        repeat((void *)operation_open);
        return;
    }
    await(&shared->ready, 1);
    pthread_create(&thread, NULL, files_create, NULL);
    compare("open beside mmap", work_mmap, 1000);
    atomic_store(&files_end, true);
    pthread_join(thread, NULL);
    atomic_store(&shared->phase, 1);
}

static void try_shrink(void)
{
    ranks_begin();
    if (rank == 1) {
        await(&shared->ready, 1);
        file = open("/tmp/shrinks", O_RDWR);
        PROMISE(file >= 0, "%s", strerror(errno));
        mmap(NULL, PAGE, PROT_READ, MAP_SHARED, file, 0);
        repeat((void *)operation_read);
        return;
    }
    file = file_make("/tmp/shrinks", 300 * MIB);
    atomic_fetch_add(&shared->ready, 1);
    await(&shared->ready, 2);
    compare("read beside ftruncate", work_shrink, 400);
    atomic_store(&shared->phase, 1);
}

/* Tries closes during an mmap. Rank 0 maps again and again, and counts each mmap's begin and end. Rank 1 sees
 * an mmap begin and closes some files 5 ms later, long before 400 MiB are zeroed. All are closed before the
 * mmap ends. If a close waits for the mmap, only few are, depending on the turns of the host's CPUs. */
static void try_close(void)
{
    static int files[FILES];
    unsigned in_time = 0;
    char path[64];

    ranks_begin();
    if (rank == 0) {
        for (unsigned i = 0; i < FILES; i++) {
            snprintf(path, sizeof(path), "/tmp/neighbours.%u", i);
            close(file_make(path, 5 * PAGE));
        }
        atomic_store(&shared->ready, 1);
        while (atomic_load(&shared->phase) == 0) {
            atomic_fetch_add(&shared->counted, 1);
            char *memory = map(BIG);
            atomic_fetch_add(&shared->counted, 1);
            munmap(memory, BIG);
        }
        return;
    }

    await(&shared->ready, 1);
    for (unsigned i = 0; i < FILES; i++) {
        snprintf(path, sizeof(path), "/tmp/neighbours.%u", i);
        files[i] = open(path, O_RDONLY);
        PROMISE(files[i] >= 0 && unlink(path) == 0, "%s: %s", path, strerror(errno));
    }
    for (unsigned i = 0, last_mmap = 0; i < FILES; i += CLOSES) {
        unsigned this_mmap;

        while ((this_mmap = atomic_load(&shared->counted)) % 2 == 0 || this_mmap == last_mmap)
            ;
        for (uint64_t begun = now_ns(); now_ns() - begun < 5000000;)
            ;
        for (unsigned k = 0; k < CLOSES; k++)
            close(files[i + k]);
        in_time += atomic_load(&shared->counted) == this_mmap;
        last_mmap = this_mmap;
    }
    atomic_store(&shared->phase, 1);
    printf("close beside mmap: %u of %u times %u before it ended\n", in_time, FILES / CLOSES, CLOSES);
    PROMISE(in_time >= FILES / CLOSES / 2, "%u of %u", in_time, FILES / CLOSES);
}

static void threads_begin(pthread_t *thread, void (*operation)(void))
{
    static struct shared here;

    shared = &here;
    buffer = map(100 * MIB);
    file = file_make("/tmp/large", 100 * MIB);
    pthread_create(thread, NULL, repeat, (void *)operation);
    await(&shared->ready, 1);
}

static void threads_end(pthread_t thread)
{
    atomic_store(&shared->phase, 1);
    pthread_join(thread, NULL);
}

static void try_serve(void)
{
    pthread_t thread;

    IS(syscall(SYS_membarrier, BARRIER_REGISTER, 0, 0), 0);
    threads_begin(&thread, operation_barrier);
    compare("barrier beside mmap", work_mmap, CALL_LEAST);
    compare("barrier beside write", work_write, CALL_LEAST);
    compare("barrier beside read", work_read, CALL_LEAST);
    compare("barrier beside ftruncate", work_shrink, CALL_LEAST);
    threads_end(thread);
}

static void try_unmap(void)
{
    pthread_t thread;

    threads_begin(&thread, operation_unmap);
    compare("munmap beside write", work_write, CALL_LEAST);
    compare("munmap beside read", work_read, CALL_LEAST);
    threads_end(thread);
}

/* Checks that the bytes between the end and the write are zero, and those that the write has not reached. A
 * kernel that checks itself counts how long the file is locked. */
static void try_gap(void)
{
    const size_t piece = 16 * PAGE, gap = piece - 1;
    char *memory = map(piece), read_back[PAGE];

    file = file_make("/tmp/gap", 0);
    buffer = map(4 * piece);
    memset(buffer, 'x', 4 * piece);
    memset(memory, 'y', piece);
    munmap(memory + piece / 2, piece / 2);
    IS(pwrite(file, buffer, 4 * piece, 0), (ssize_t)(4 * piece));
    PROMISE(mmap(NULL, 4 * piece, PROT_READ, MAP_SHARED, file, 0) != MAP_FAILED, "%s", strerror(errno));
    IS(ftruncate(file, 1), 0);
    IS(pwrite(file, memory, piece, (off_t)(1 + gap)), (ssize_t)(piece / 2));
    IS(lseek(file, 0, SEEK_END), (off_t)(1 + gap + piece / 2));
    IS(pread(file, read_back, PAGE, (off_t)gap), (ssize_t)PAGE);
    PROMISE(read_back[0] == 0 && read_back[1] == 'y', "%d %d", read_back[0], read_back[1]);
    IS(ftruncate(file, (off_t)(3 * piece)), 0);
    IS(pread(file, read_back, PAGE, (off_t)(1 + gap + piece / 2)), (ssize_t)PAGE);
    for (unsigned i = 0; i < PAGE; i++)
        if (read_back[i])
            PROMISE(false, "byte %u is %d", i, read_back[i]);
}

/* Returns "./././…", `bytes` long (an even number), and `end`. The caller frees it. */
static char *path_make(size_t bytes, const char *end)
{
    char *path = malloc(bytes + strlen(end) + 1);

    for (size_t i = 0; i < bytes; i += 2)
        memcpy(path + i, "./", 2);
    strcpy(path + bytes, end);
    return path;
}

/* Renames between long paths. A kernel that checks itself counts how long the tree is locked. */
static void try_paths(void)
{
    const size_t most = PATH_MAX - 16;
    char *target = path_make(most, "deep"), *from = path_make(most, "link/a"),
         *to = path_make(most, "link/b");

    for (unsigned depth = 0; depth < DEPTH; depth++) {
        IS(mkdir("deep", 0700), 0);
        IS(chdir("deep"), 0);
    }
    IS(mkdir("deep", 0700), 0);
    IS(symlink(target, "link"), 0);
    IS(mkdir(from, 0700), 0);
    for (unsigned i = 0; i < 16; i++) {
        IS(rename(from, to), 0);
        IS(rename(to, from), 0);
    }
    IS(access("deep/a", F_OK), 0);
    IS(access("deep/b", F_OK), -1);
    free(target);
    free(from);
    free(to);
}

/* Returns the ns to unmap every other one of `pages`, and then the rest in one piece. */
static uint64_t holes_ns(unsigned pages)
{
    char *memory = map(pages * PAGE);
    uint64_t begun = now_ns();

    for (unsigned i = 0; i < pages; i += 2)
        munmap(memory + i * PAGE, PAGE);
    munmap(memory, pages * PAGE);
    return now_ns() - begun;
}

static void try_holes(void)
{
    uint64_t few = holes_ns(2048), many = holes_ns(32768);

    printf("holes: 2048 in %lu us, 32768 in %lu us\n", few / 1000, many / 1000);
    PROMISE(many < 16 * 5 * few, "2048 in %lu us, 32768 in %lu us", few / 1000, many / 1000);
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*try)(void);
    } cases[] = { { "open", try_open },   { "close", try_close }, { "shrink", try_shrink },
                  { "serve", try_serve }, { "unmap", try_unmap }, { "holes", try_holes },
                  { "gap", try_gap },     { "paths", try_paths } };

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (count == 2 && strcmp(arguments[1], cases[i].name) == 0) {
            cases[i].try();
            return promises_kept();
        }
    return 2;
}
