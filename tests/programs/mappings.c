/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mappings.c SEED STEPS: random mmap, munmap, mprotect, mremap and madvise in a window of address space,
 * compared with a model, which knows whether each page is mapped, its rights and its contents. A system call
 * shows whether a page can be read or written (EFAULT or not), so that a difference is reported and does not
 * kill the program.
 *
 * Each mapped page holds its own random word at a random place; new memory must be zero, moved memory must
 * have moved. At the end all is given back, and the node must have as much free memory as before.
 */
#define _GNU_SOURCE
#include "machine.h"
#include "promise.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define PAGE   MACHINE_PAGE
#define PAGES  ((16UL << 20) / PAGE) /* the window: eight large pages of 2 MiB */
#define LARGE  ((2UL << 20) / PAGE)  /* a large page */
#define WINDOW ((char *)0x200000000000)

static struct {
    uint8_t mapped, rights;
    uint16_t place; /* of the word in the page */
    uint64_t word;  /* 0: the page is all zero */
} model[PAGES];

static uint64_t state;

static uint64_t random_number(uint64_t below)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (state >> 11) % below;
}

static uint64_t *word_of(size_t page)
{
    return (uint64_t *)(WINDOW + page * PAGE + model[page].place * 8);
}

static int kernel_can_write(char *at)
{
    char before;

    if (!(access(at, F_OK) == -1 && errno == EFAULT))
        before = *at;
    else
        return 0;
    if (getrandom(at, 1, 0) != 1)
        return 0;
    *at = before;
    return 1;
}

static int page_wrong(size_t page)
{
    char *at = WINDOW + page * PAGE;
    int readable = !(access(at, F_OK) == -1 && errno == EFAULT);

    if (!model[page].mapped || !model[page].rights)
        return readable ? 1 : 0;
    if (!readable)
        return 2;
    if (*word_of(page) != model[page].word)
        return 3;
    return kernel_can_write(at + 8 * model[page].place) != !!(model[page].rights & PROT_WRITE) ? 4 : 0;
}

/* Checks that every page of a newly mapped range is zero everywhere, and writes its word to it. */
static unsigned pages_fill(size_t first, size_t count)
{
    unsigned dirty = 0;

    for (size_t page = first; page < first + count; page++) {
        if (!(model[page].rights & PROT_WRITE))
            continue;
        const uint64_t *words = (const uint64_t *)(WINDOW + page * PAGE);
        for (size_t w = 0; w < PAGE / 8; w += 1 + (page & 7))
            dirty += words[w] != 0 && words[w] != model[page].word;
        *word_of(page) = 0;
        model[page].place = (uint16_t)random_number(PAGE / 8);
        model[page].word = random_number(1ULL << 52) + 1;
        *word_of(page) = model[page].word;
    }
    return dirty;
}

static int all_mapped(size_t first, size_t count)
{
    for (size_t page = first; page < first + count; page++)
        if (!model[page].mapped)
            return 0;
    return 1;
}

static void range_choose(size_t *first, size_t *count)
{
    /* Ends at large pages are as likely as any other: there the kernel's cutting and joining happens. */
    *first = random_number(2) ? random_number(PAGES) : random_number(PAGES / LARGE) * LARGE;
    *count = random_number(3) == 0 ? LARGE * (1 + random_number(3))
                                   : 1 + random_number(random_number(4) ? 16 : 1200);
    if (*count > PAGES - *first)
        *count = PAGES - *first;
}

static int rights_choose(void)
{
    static const int choices[] = { PROT_NONE,
                                   PROT_READ,
                                   PROT_READ | PROT_WRITE,
                                   PROT_READ | PROT_WRITE,
                                   PROT_READ | PROT_WRITE,
                                   PROT_READ | PROT_EXEC };

    return choices[random_number(sizeof(choices) / sizeof(choices[0]))];
}

static void step_map(size_t first, size_t count)
{
    int rights = rights_choose();
    void *got =
        mmap(WINDOW + first * PAGE, count * PAGE, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

    PROMISE(got == WINDOW + first * PAGE, "mmap of %zu pages at %zu, errno %d", count, first, errno);
    for (size_t page = first; page < first + count; page++) {
        model[page].mapped = 1;
        model[page].rights = (uint8_t)rights;
        model[page].word = 0;
    }
    PROMISE(pages_fill(first, count) == 0, "fresh pages are zero");
}

static void step_unmap(size_t first, size_t count)
{
    PROMISE(munmap(WINDOW + first * PAGE, count * PAGE) == 0, "munmap of %zu pages at %zu, errno %d", count,
            first, errno);
    for (size_t page = first; page < first + count; page++)
        model[page].mapped = 0;
}

static void step_protect(size_t first, size_t count)
{
    int rights = rights_choose(), there = all_mapped(first, count);
    int result = mprotect(WINDOW + first * PAGE, count * PAGE, rights);

    PROMISE(there ? result == 0 : result == -1 && errno == ENOMEM,
            "mprotect of %zu pages at %zu: %d, errno %d", count, first, result, errno);
    if (result)
        return;
    for (size_t page = first; page < first + count; page++)
        model[page].rights = (uint8_t)rights;
}

static void step_clear(size_t first, size_t count)
{
    int there = all_mapped(first, count);
    int result = madvise(WINDOW + first * PAGE, count * PAGE, MADV_DONTNEED);

    PROMISE(there ? result == 0 : result == -1 && errno == ENOMEM,
            "madvise of %zu pages at %zu: %d, errno %d", count, first, result, errno);
    if (result)
        return;
    for (size_t page = first; page < first + count; page++)
        model[page].word = 0;
}

/* Moves a mapping out of the window by growing it, and back: its contents must move, too. */
static void step_remap(void)
{
    size_t pages = 1 + random_number(700), more = pages + 1 + random_number(1200);
    uint64_t *old = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *wall = mmap((char *)old + pages * PAGE, PAGE, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    unsigned wrong = 0;

    PROMISE(old != MAP_FAILED, "mmap of %zu pages, errno %d", pages, errno);
    for (size_t page = 0; page < pages; page++)
        old[page * 512 + page % 512] = page + 1;
    uint64_t *moved = mremap(old, pages * PAGE, more * PAGE, MREMAP_MAYMOVE);
    PROMISE(moved != MAP_FAILED, "mremap from %zu to %zu pages, errno %d", pages, more, errno);
    if (moved == MAP_FAILED)
        return;
    for (size_t page = 0; page < more; page++)
        wrong += moved[page * 512 + page % 512] != (page < pages ? page + 1 : 0);
    PROMISE(wrong == 0, "%u of %zu pages moved wrongly", wrong, pages);
    PROMISE(munmap(moved, more * PAGE) == 0, "munmap, errno %d", errno);
    if (wall != MAP_FAILED)
        PROMISE(munmap(wall, PAGE) == 0, "munmap of the wall, errno %d", errno);
    if (moved != old)
        PROMISE(access((char *)old, F_OK) == -1 && errno == EFAULT, "the old place is empty");
}

static uint64_t free_bytes(void)
{
    struct sysinfo info;

    return sysinfo(&info) ? 0 : (uint64_t)info.freeram * info.mem_unit;
}

int main(int count_of_arguments, char **arguments)
{
    uint64_t seed = count_of_arguments > 1 ? strtoull(arguments[1], NULL, 0) : 1;
    unsigned steps = count_of_arguments > 2 ? (unsigned)atoi(arguments[2]) : 1000;

    state = seed * 0x9e3779b97f4a7c15 + 1;
    step_map(0, PAGES);
    step_unmap(0, PAGES);
    uint64_t free_before = free_bytes();

    for (unsigned step = 0; step < steps && promises_broken == 0; step++) {
        size_t first, count;

        range_choose(&first, &count);
        switch (random_number(6)) {
        case 0:
        case 1:
            step_map(first, count);
            break;
        case 2:
            step_unmap(first, count);
            break;
        case 3:
            step_protect(first, count);
            break;
        case 4:
            step_clear(first, count);
            break;
        default:
            step_remap();
            break;
        }
        /* The range's surroundings in every step, all of the window now and then. */
        size_t from = first > 3 ? first - 3 : 0, to = first + count + 3 < PAGES ? first + count + 3 : PAGES;
        if (step % 64 == 63)
            from = 0, to = PAGES;
        size_t stride = to - from > 64 && step % 64 != 63 ? 7 : 1;
        for (size_t page = from; page < to; page += stride) {
            int wrong = page_wrong(page);

            PROMISE(wrong == 0, "seed %lu step %u: page %zu is wrong in way %d, mapped %d, rights %d",
                    (unsigned long)seed, step, page, wrong, model[page].mapped, model[page].rights);
            if (wrong)
                break;
        }
    }
    step_unmap(0, PAGES);
    uint64_t free_after = free_bytes();
    /* Page tables of the window may stay. */
    PROMISE(free_after + 64 * PAGE >= free_before, "%lu bytes were free, %lu are", (unsigned long)free_before,
            (unsigned long)free_after);
    return promises_kept();
}
