/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * supply.c: all memory that a program has used comes back; the first argument chooses.
 *
 *   arenas      glibc's: 128 MiB of address space for each thread, of which rights grow page by page
 *   stacks      8 MiB with a guard, as many as there is memory for; a thousand without rights
 *   fragments   random sizes taken and given back for long, some of them cut, moved and protected
 *   bomb        mappings until there is no memory, in ever smaller ones
 *   touch       no page fault while a program touches all that it has
 */
#define _GNU_SOURCE
#include "clock.h"
#include "machine.h"
#include "promise.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <tacet.h>
#include <unistd.h>

#define PAGE        MACHINE_PAGE
#define ARENA       (128UL << 20)
#define COUNT       1000
#define STACK_BYTES (8UL << 20)

static void *map(size_t bytes, int rights)
{
    return mmap(NULL, bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static uint64_t state = 88172645463325252;

static uint64_t random_number(uint64_t below)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (state >> 11) % below;
}

static char *places[COUNT];

static void arenas(void)
{
    const size_t first = (128 << 10) + PAGE, step = 64 << 10, grown = 12;
    uint64_t before = free_memory();
    unsigned wrong = 0;

    for (unsigned i = 0; i < COUNT; i++)
        wrong += (places[i] = map(ARENA, PROT_NONE)) == MAP_FAILED;
    PROMISE(wrong == 0, "%u arenas are not there", wrong);
    PROMISE(before - free_memory() <= 2 * PAGE, "address space costs %lu", before - free_memory());
    for (unsigned i = 0; i < COUNT; i += COUNT / 50) {
        wrong += mprotect(places[i], first, PROT_READ | PROT_WRITE) != 0;
        memset(places[i], (int)(i & 127) + 1, first);
        for (size_t at = first; at < first + grown * step; at += step) {
            wrong += mprotect(places[i] + at, step, PROT_READ | PROT_WRITE) != 0 || places[i][at] != 0 ||
                     places[i][at + step - 1] != 0;
            memset(places[i] + at, (int)(i & 127) + 1, step);
        }
    }
    PROMISE(wrong == 0, "%u steps of growth failed", wrong);

    uint64_t used = before - free_memory(), requested = 50 * (first + grown * step);
    PROMISE(used >= requested && used <= requested + 50 * 2 * PAGE + 4 * PAGE, "%lu of memory for %lu", used,
            requested);
    for (unsigned i = 0; i < COUNT; i += COUNT / 50)
        for (size_t at = 0; at < first + grown * step; at += PAGE)
            wrong += places[i][at] != (char)((i & 127) + 1);
    PROMISE(wrong == 0, "%u pages have changed", wrong);

    /* An arena shrinks when it is mapped again without rights. */
    for (unsigned i = 0; i < COUNT; i += COUNT / 50)
        wrong += mmap(places[i] + first, grown * step, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                      0) == MAP_FAILED;
    used = before - free_memory();
    PROMISE(wrong == 0 && used <= 50 * (first + 2 * PAGE) + 4 * PAGE,
            "%lu are in use after the arenas shrank", used);
    for (unsigned i = 0; i < COUNT; i++)
        munmap(places[i], ARENA);
    PROMISE(free_memory() == before, "%ld bytes are missing", (long)(before - free_memory()));
}

static void stacks(void)
{
    const size_t small = (64 << 10) + PAGE;
    uint64_t before = free_memory();
    unsigned made = 0, wrong = 0;

    for (unsigned i = 0; i < COUNT; i++)
        wrong += (places[i] = map(STACK_BYTES, PROT_NONE)) == MAP_FAILED;
    PROMISE(wrong == 0 && before - free_memory() <= 2 * PAGE, "%u failed, %lu bytes missing", wrong,
            before - free_memory());
    while (made < COUNT && mprotect(places[made] + PAGE, STACK_BYTES - PAGE, PROT_READ | PROT_WRITE) == 0) {
        memset(places[made] + PAGE, 1, STACK_BYTES - PAGE);
        made++;
    }
    PROMISE(made == COUNT || errno == ENOMEM, "errno %d", errno);
    PROMISE(made >= (before - (10UL << 20)) / STACK_BYTES, "%u stacks in %lu MiB", made, before >> 20);
    PROMISE(made == COUNT || free_memory() < STACK_BYTES + (64UL << 10), "%lu bytes are left over",
            free_memory());
    for (unsigned i = 0; i < COUNT; i++)
        munmap(places[i], STACK_BYTES);
    PROMISE(free_memory() == before, "%ld bytes are missing", (long)(before - free_memory()));

    /* A thousand small ones, each with its guard. */
    for (unsigned i = 0; i < COUNT; i++) {
        places[i] = map(small, PROT_READ | PROT_WRITE);
        wrong += places[i] == MAP_FAILED || mprotect(places[i], PAGE, PROT_NONE) != 0;
        places[i][PAGE] = 1;
    }
    PROMISE(wrong == 0, "%u stacks are not there", wrong);
    for (unsigned i = COUNT; i-- > 0;)
        munmap(places[i], small);
    PROMISE(free_memory() == before, "%ld bytes are missing", (long)(before - free_memory()));
}

static size_t sizes[COUNT];

static size_t size_random(void)
{
    switch (random_number(8)) {
    case 0:
        return (1 + random_number(3)) << 21;
    case 1:
        return PAGE * (1 + random_number(700));
    default:
        return PAGE * (1 + random_number(40));
    }
}

static void fragments(void)
{
    const unsigned live = 120;
    uint64_t before = free_memory();
    unsigned refused = 0, dirty = 0;

    for (unsigned step = 0; step < 30000; step++) {
        unsigned i = (unsigned)random_number(live);

        if (places[i] && random_number(4) == 0) { /* a hole, other rights, a move */
            mprotect(places[i] + sizes[i] / PAGE / 2 * PAGE, PAGE, random_number(2) ? PROT_READ : PROT_NONE);
        } else if (places[i] && random_number(4) == 0) {
            size_t size = size_random();
            char *moved = mremap(places[i], PAGE, PAGE, 0) == MAP_FAILED
                              ? MAP_FAILED
                              : mremap(places[i], sizes[i], size, MREMAP_MAYMOVE);

            if (moved != MAP_FAILED)
                places[i] = moved, sizes[i] = size;
        } else if (places[i]) {
            munmap(places[i], sizes[i]);
            places[i] = NULL;
        } else {
            sizes[i] = size_random();
            places[i] = map(sizes[i], PROT_READ | PROT_WRITE);
            if (places[i] == MAP_FAILED) {
                places[i] = NULL;
                refused += errno == ENOMEM;
                continue;
            }
            for (size_t at = 0; at < sizes[i]; at += PAGE)
                dirty += places[i][at + (at >> 9 & 4088)] != 0, places[i][at + (at >> 9 & 4088)] = 1;
        }
    }
    for (unsigned i = 0; i < live; i++)
        if (places[i])
            munmap(places[i], sizes[i]);
    PROMISE(dirty == 0, "%u pages were not zero", dirty);
    PROMISE(free_memory() == before, "%ld bytes are missing after %u refusals",
            (long)(before - free_memory()), refused);

    /* Nor is it in pieces: most of it can be mapped at once. */
    char *most = map(before / 10 * 9 & -PAGE, PROT_READ | PROT_WRITE);
    PROMISE(most != MAP_FAILED, "nine tenths of %lu", before);
    munmap(most, before / 10 * 9 & -PAGE);
    PROMISE(free_memory() == before, "all back");
}

/* Links what it gets by a word at its beginning, so that it needs no memory of its own. */
struct piece {
    struct piece *next;
    size_t bytes;
};

static void bomb(void)
{
    char *own = malloc(100000);
    uint64_t before = free_memory();
    struct piece *pieces = NULL;
    unsigned count = 0;

    memset(own, 42, 100000);
    for (size_t bytes = 16UL << 20; bytes >= PAGE; bytes /= 4) {
        struct piece *piece;

        while ((piece = map(bytes, PROT_READ | PROT_WRITE)) != MAP_FAILED) {
            *piece = (struct piece){ pieces, bytes };
            pieces = piece;
            count++;
        }
        PROMISE(errno == ENOMEM, "errno %d at %zu bytes", errno, bytes);
    }
    PROMISE(count > 3 && free_memory() < 8 * PAGE, "%u pieces, %lu bytes are left", count, free_memory());
    PROMISE(map(PAGE, PROT_READ) == MAP_FAILED && errno == ENOMEM, "no more");
    while (pieces) {
        struct piece next = *pieces;

        PROMISE(munmap(pieces, next.bytes) == 0, "munmap, errno %d", errno);
        pieces = next.next;
    }
    for (unsigned i = 0; i < 100000; i++)
        if (own[i] != 42)
            PROMISE(own[i] == 42, "byte %u", i);
    PROMISE(free_memory() == before, "%ld bytes are missing", (long)(before - free_memory()));
    free(own);
}

static char bss[3UL << 20];

static unsigned __attribute__((noinline)) stack_touch(void)
{
    volatile char room[7UL << 20];
    unsigned sum = 0;

    for (size_t at = 0; at < sizeof(room); at += PAGE)
        room[at] = 1, sum += (unsigned)room[at];
    return sum;
}

static void touch(void)
{
    const volatile struct tacet_counters *counters = tacet_counters(0);
    uint64_t before = counters->exceptions[MACHINE_PAGE_FAULT];
    unsigned sum = 0;

    for (size_t at = 0; at < sizeof(bss); at += PAGE)
        sum += (unsigned)((volatile char *)bss)[at]++;
    sum += stack_touch();
    char *heap = malloc(10UL << 20), *small = malloc(100), *own = map(20UL << 20, PROT_READ | PROT_WRITE);
    memset(heap, 1, 10UL << 20);
    memset(small, 1, 100);
    memset(own, 1, 20UL << 20);
    own = mremap(own, 20UL << 20, 25UL << 20, MREMAP_MAYMOVE);
    memset(own, 2, 25UL << 20);
    mprotect(own, 10UL << 20, PROT_READ);
    sum += (unsigned)own[5UL << 20];
    mprotect(own, 10UL << 20, PROT_READ | PROT_WRITE);
    memset(own, 3, 25UL << 20);
    PROMISE(sum > (7UL << 20) / PAGE, "touched");
    PROMISE(counters->exceptions[MACHINE_PAGE_FAULT] == before && before == 0, "%lu page faults, %lu before",
            counters->exceptions[MACHINE_PAGE_FAULT] - before, before);
    munmap(own, 25UL << 20);
    free(heap);
    free(small);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = { { "arenas", arenas },
                  { "stacks", stacks },
                  { "fragments", fragments },
                  { "bomb", bomb },
                  { "touch", touch } };

    for (unsigned i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
        if (strcmp(argv[1], cases[i].name) == 0)
            cases[i].run();
    return promises_kept();
}
