/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * growing.c: every rank maps a file far beyond its end. The first one makes it grow, the others read what is
 * new through their mappings, without a call and without a page fault; then it cuts the file.
 *
 *     growing         all ranks
 *     growing full    rank 1 has mapped first and has no memory for page tables: SIGBUS, with a reason
 */
#define _GNU_SOURCE
#include "libc/include/tacet.h"
#include "machine.h"
#include "promise.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE     MACHINE_PAGE
#define FAR      (64UL << 30)
#define PAGES    600U
#define CUT_TO   3U
#define CUT_PAGE 500UL
/* Tables that are smaller than a page share one, which has room when no page is left. */
#define HAS_SMALL_TABLES (PAGE > 4096)

static struct shared {
    atomic_uint mapped, pages, seen, is_cut, has_tried, is_full;
} * shared;
static unsigned rank, size = 1;
static sigjmp_buf back;

static void wait_for(atomic_uint *word, unsigned value)
{
    while (atomic_load(word) < value)
        machine_relax();
}

static uint64_t page_faults(void)
{
    return tacet_counters(machine_cpu())->exceptions[MACHINE_PAGE_FAULT];
}

static void jump_back(int signal)
{
    siglongjmp(back, signal);
}

static int touch(const volatile char *at)
{
    int signal = sigsetjmp(back, 1);

    if (signal == 0)
        (void)*at;
    return signal;
}

static void write_pages(int file)
{
    static char bytes[PAGE];

    wait_for(&shared->mapped, size);
    for (unsigned i = 0; i < PAGES; i++) {
        memset(bytes, 'a' + (int)(i % 26), PAGE);
        IS(pwrite(file, bytes, PAGE, (off_t)(i * PAGE)), (ssize_t)PAGE);
        atomic_store(&shared->pages, i + 1);
    }
}

static void read_pages(const volatile char *map)
{
    uint64_t before = page_faults();

    for (unsigned i = 0; i < PAGES; i++) {
        wait_for(&shared->pages, i + 1);
        PROMISE(map[i * PAGE] == (char)('a' + i % 26), "page %u: %d", i, map[i * PAGE]);
    }
    PROMISE(page_faults() == before, "%lu page faults", (unsigned long)(page_faults() - before));
}

static void all_ranks(int file)
{
    const char *map = mmap(NULL, FAR, rank % 2 ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

    PROMISE(map != MAP_FAILED, "errno %d", errno);
    atomic_fetch_add(&shared->mapped, 1);
    if (rank == 0)
        write_pages(file);
    read_pages(map);
    atomic_fetch_add(&shared->seen, 1);
    if (rank == 0) {
        wait_for(&shared->seen, size);
        IS(ftruncate(file, (off_t)(CUT_TO * PAGE)), 0);
        atomic_store(&shared->is_cut, 1);
    }
    wait_for(&shared->is_cut, 1);
    IS(touch(map + CUT_PAGE * PAGE), SIGBUS);
    IS(touch(map + CUT_TO * PAGE), SIGBUS);
    IS(touch(map + (CUT_TO - 1) * PAGE), 0);
    atomic_fetch_add(&shared->has_tried, 1);
    wait_for(&shared->has_tried, size);
    if (rank == 0) {
        IS(ftruncate(file, (off_t)(PAGES * PAGE)), 0);
        atomic_store(&shared->is_cut, 2);
    }
    wait_for(&shared->is_cut, 2);
    PROMISE(map[CUT_PAGE * PAGE] == 0, "%d", map[CUT_PAGE * PAGE]);
}

/* Takes all memory of the rank, in pieces. */
static void fill(void)
{
    for (size_t bytes = 256UL << 20; bytes >= PAGE; bytes /= 2)
        while (mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
            continue;
}

static void full(int file)
{
    const char *map;

    if (rank == 0) {
        wait_for(&shared->is_full, 1);
        map = mmap(NULL, FAR, PROT_READ, MAP_SHARED, file, 0);
        write_pages(file);
        PROMISE(map[0] == 'a', "%d", map[0]); /* by tables of its own */
        atomic_store(&shared->is_cut, 1);
        return;
    }
    map = mmap(NULL, FAR, PROT_READ, MAP_SHARED, file, 0);
    atomic_fetch_add(&shared->mapped, 2);
    fill();
    atomic_store(&shared->is_full, 1);
    wait_for(&shared->is_cut, 1);
    IS(touch(map), HAS_SMALL_TABLES ? 0 : SIGBUS);
    IS(touch(map + PAGES * PAGE), SIGBUS); /* above the end */
}

int main(int count, char **arguments)
{
    const char *text = getenv("TACET_RANK");
    int words, file;

    (void)arguments;
    rank = text ? (unsigned)atoi(text) : 0;
    text = getenv("TACET_SIZE");
    size = text ? (unsigned)atoi(text) : 1;
    signal(SIGBUS, jump_back);
    words = open("/dev/shm/growing.words", O_RDWR | O_CREAT, 0600);
    file = open("/dev/shm/growing", O_RDWR | O_CREAT, 0600);
    IS(ftruncate(words, (off_t)PAGE), 0);
    shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, words, 0);
    if (count > 1)
        full(file);
    else
        all_ranks(file);
    return promises_kept();
}
