/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spaces.c: the address space at its edges; the first argument chooses.
 *
 *   bounds         every memory call with addresses and lengths at every bound of what a program may have
 *   calls          flags and answers of the calls that memory.c does not try
 *   unmap-stack, unmap-text, protect-text   the program takes away what it stands on, and ends by a fault;
 *                  with ranks, only rank 0 does, and the others go on
 */
#define _GNU_SOURCE
#include "clock.h"
#include "machine.h"
#include "promise.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE  MACHINE_PAGE
#define LIMIT MACHINE_USER_LIMIT

static long raw(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
    long result = syscall(number, a, b, c, d, e, 0L);

    return result == -1 ? -errno : result;
}

/* ---- bounds ---- */

static int one_of(long result, long a, long b, long c)
{
    return result == a || result == b || result == c;
}

/* Tries calls on a range that is not wholly in the program's addresses, unless its length is zero. */
static void bounds_try(uint64_t address, uint64_t bytes)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    int aligned = address % PAGE == 0;
    long none = bytes == 0 && aligned ? 0 : -EINVAL; /* the answer for nothing */
    unsigned char byte[1];
    long got;

#define ANSWERS(call, a, b, c) \
    PROMISE((got = (call), one_of(got, a, b, c)), "%#lx, %#lx bytes: %ld", address, bytes, got)
    ANSWERS(raw(SYS_munmap, address, bytes, 0, 0, 0), -EINVAL, -EINVAL, -EINVAL);
    ANSWERS(raw(SYS_mmap, address, bytes, PROT_READ, flags, -1UL), -EINVAL, -ENOMEM, -ENOMEM);
    ANSWERS(raw(SYS_mmap, address, bytes, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1UL), -EINVAL, -ENOMEM,
            -ENOMEM);
    ANSWERS(raw(SYS_mprotect, address, bytes, PROT_READ, 0, 0), none, -ENOMEM, aligned ? -ENOMEM : -EINVAL);
    ANSWERS(raw(SYS_madvise, address, bytes, MADV_DONTNEED, 0, 0), none, -ENOMEM,
            aligned ? -ENOMEM : -EINVAL);
    ANSWERS(raw(SYS_madvise, address, bytes, MADV_REMOVE, 0, 0), none, -ENOMEM, aligned ? -ENOMEM : -EINVAL);
    ANSWERS(raw(SYS_madvise, address, bytes, MADV_WILLNEED, 0, 0), none, -ENOMEM,
            aligned ? -ENOMEM : -EINVAL);
    /* Rounded up to pages, a length near 2^64 is nothing. */
    ANSWERS(raw(SYS_msync, address, bytes, MS_SYNC, 0, 0), none, bytes > -PAGE ? 0 : -ENOMEM,
            aligned ? -ENOMEM : -EINVAL);
    ANSWERS(raw(SYS_mincore, address, bytes, (uint64_t)byte, 0, 0), none, -ENOMEM,
            aligned ? -ENOMEM : -EINVAL);
    ANSWERS(raw(SYS_mlock, address, bytes, 0, 0, 0), bytes || !aligned ? -EINVAL : 0, -ENOMEM, -ENOMEM);
    ANSWERS(raw(SYS_munlock, address, bytes, 0, 0, 0), bytes || !aligned ? -EINVAL : 0, -ENOMEM, -ENOMEM);
    ANSWERS(raw(SYS_mremap, address, bytes, 2 * PAGE, MREMAP_MAYMOVE, 0), -EINVAL, -EFAULT, -EFAULT);
    ANSWERS(raw(SYS_mremap, address, PAGE, bytes, MREMAP_MAYMOVE, 0), -EINVAL, -EFAULT, -EFAULT);
#undef ANSWERS
}

static void bounds(void)
{
    static const uint64_t addresses[] = {
        0, 1, PAGE - 1, LIMIT - 1, LIMIT, LIMIT + 1, LIMIT + PAGE, ADDRESS_HOLE, KERNEL_ADDRESSES, -PAGE, -1UL
    };
    static const uint64_t lengths[] = { 0,         1,         PAGE - 1,     PAGE,  PAGE + 1,
                                        1UL << 21, 1UL << 30, LIMIT - PAGE, LIMIT, LIMIT + PAGE,
                                        1UL << 63, -PAGE,     -PAGE + 1,    -1UL };
    const unsigned address_count = sizeof(addresses) / sizeof(addresses[0]),
                   length_count = sizeof(lengths) / sizeof(lengths[0]);
    uint64_t before = free_memory();
    char *heap = sbrk(0);

    for (unsigned a = 0; a < address_count; a++) {
        for (unsigned l = 0; l < length_count; l++)
            bounds_try(addresses[a], lengths[l]);
        bounds_try(addresses[a], -addresses[a]); /* to the end of addresses exactly, and around it */
        bounds_try(addresses[a], -addresses[a] + PAGE);
        PROMISE(raw(SYS_brk, addresses[a], 0, 0, 0, 0) == (long)heap, "the heap's end at %#lx", addresses[a]);
    }

    /* What begins inside and ends outside. */
    for (uint64_t end = LIMIT; end <= LIMIT + (2UL << 20); end += 1UL << 20) {
        uint64_t start = LIMIT - 2 * PAGE;

        PROMISE(raw(SYS_munmap, start, end - start + PAGE, 0, 0, 0) == -EINVAL, "munmap up to %#lx",
                end + PAGE);
        PROMISE(raw(SYS_mmap, start, end - start + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                    -1UL) == -ENOMEM,
                "mmap");
        PROMISE(raw(SYS_mprotect, start, end - start + PAGE, PROT_NONE, 0, 0) == -ENOMEM, "mprotect");
    }

    /* A target of mremap at the bounds leaves the source as it was. */
    char *source = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    source[7] = 7;
    for (unsigned a = 0; a < address_count; a++)
        PROMISE(raw(SYS_mremap, (uint64_t)source, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, addresses[a]) ==
                        -EINVAL &&
                    source[7] == 7,
                "to %#lx", addresses[a]);
    munmap(source, PAGE);

    /* The last page that there is, and hints that cannot be taken. */
    char *last = mmap((void *)(LIMIT - PAGE), PAGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    PROMISE(last == (char *)(LIMIT - PAGE) && (last[PAGE - 1] = 1), "the last page");
    munmap(last, PAGE);
    for (unsigned a = 0; a < address_count; a++) {
        char *hinted =
            mmap((void *)addresses[a], PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        PROMISE(hinted != MAP_FAILED && (uint64_t)hinted >= PAGE && (uint64_t)hinted < LIMIT &&
                    hinted[0] == 0,
                "hint %#lx: %p", addresses[a], (void *)hinted);
        munmap(hinted, PAGE);
    }
    PROMISE(free_memory() == before, "%ld bytes are missing", (long)(before - free_memory()));
}

/* ---- calls ---- */

static void *map(size_t bytes, int rights, int flags)
{
    return mmap(NULL, bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

static void flags_of_mmap(void)
{
    static const int harmless[] = { MAP_POPULATE, MAP_LOCKED,    MAP_NORESERVE,
                                    MAP_STACK,    MAP_GROWSDOWN, MAP_NONBLOCK };

    for (unsigned i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++) {
        char *at = map(3 * PAGE, PROT_READ | PROT_WRITE, harmless[i]);
        PROMISE(at != MAP_FAILED && at[3 * PAGE - 1] == 0 && munmap(at, 3 * PAGE) == 0, "flag %#x",
                harmless[i]);
    }
    char *huge = map(PAGE, PROT_READ | PROT_WRITE, MAP_HUGETLB | 21 << 26);
    PROMISE(huge != MAP_FAILED && (uint64_t)huge % (2UL << 20) == 0 && huge[(2UL << 20) - 1] == 0,
            "a whole large page");
    PROMISE(munmap(huge, 2UL << 20) == 0, "gone");
    PROMISE(map(PAGE, PROT_READ, MAP_HUGETLB | 16 << 26) == MAP_FAILED && errno == EINVAL, "64 KiB pages");
    PROMISE(raw(SYS_mmap, 0, PAGE, PROT_READ, MAP_SHARED_VALIDATE | 0x80000 /* MAP_SYNC */, STDIN_FILENO) ==
                -EOPNOTSUPP,
            "MAP_SYNC");
    PROMISE(raw(SYS_mmap, 0, PAGE, PROT_READ, MAP_ANONYMOUS, -1UL) == -EINVAL, "no type");
    char *shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    PROMISE(shared != MAP_FAILED && (shared[5] = 5) && munmap(shared, PAGE) == 0, "shared with nobody");
    PROMISE(raw(SYS_mprotect, (uint64_t)&shared & -PAGE, PAGE, PROT_READ | PROT_WRITE | PROT_GROWSDOWN, 0,
                0) == -EINVAL,
            "the stack does not grow");

    int program = open("/proc/self/exe", O_RDONLY);
    char *text = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, program, 0);
    PROMISE(text != MAP_FAILED && memcmp(text, "\177ELF", 4) == 0, "a file that nobody can write, shared");
    PROMISE(mprotect(text, PAGE, PROT_READ | PROT_WRITE) == -1 && errno == EACCES, "stays so");
    PROMISE(mmap(NULL, PAGE, PROT_WRITE, MAP_SHARED, program, 0) == MAP_FAILED && errno == EACCES,
            "from the beginning");
    munmap(text, 2 * PAGE);
    text = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE, program, 0);
    PROMISE(text != MAP_FAILED && mprotect(text, PAGE, PROT_READ | PROT_WRITE) == 0 && (text[0] = 'x'),
            "a private copy can be written");
    munmap(text, 2 * PAGE);
    close(program);
}

static void moves(void)
{
    char *from = map(4 * PAGE, PROT_READ | PROT_WRITE, 0), *to = map(8 * PAGE, PROT_READ | PROT_WRITE, 0);

    memset(from, 3, 4 * PAGE);
    memset(to, 4, 8 * PAGE);
    PROMISE(raw(SYS_mremap, (uint64_t)from, PAGE, PAGE, MREMAP_FIXED, (uint64_t)to) == -EINVAL,
            "FIXED without MAYMOVE");
    PROMISE(raw(SYS_mremap, (uint64_t)from, PAGE, PAGE, MREMAP_MAYMOVE | 4 /* DONTUNMAP */, 0) == -EINVAL,
            "DONTUNMAP");
    PROMISE(raw(SYS_mremap, (uint64_t)from, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
                (uint64_t)from + PAGE) == -EINVAL,
            "onto itself");
    PROMISE(mremap(from, 4 * PAGE, 6 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to + PAGE) == to + PAGE,
            "to a place");
    PROMISE(to[PAGE - 1] == 4 && to[PAGE] == 3 && to[5 * PAGE - 1] == 3 && to[5 * PAGE] == 0 &&
                to[7 * PAGE - 1] == 0 && to[7 * PAGE] == 4,
            "contents");
    PROMISE(raw(SYS_msync, (uint64_t)from, PAGE, MS_SYNC, 0, 0) == -ENOMEM, "nothing remains");
    munmap(to, 8 * PAGE);
}

static void questions(void)
{
    char *at = map(4 * PAGE, PROT_READ | PROT_WRITE, 0), *none = map(600 * PAGE, PROT_NONE, 0);
    unsigned char resident[600];

    PROMISE(raw(SYS_mincore, (uint64_t)at, 3 * PAGE + 1, (uint64_t)resident, 0, 0) == 0 && resident[0] == 1 &&
                resident[3] == 1,
            "all there");
    PROMISE(raw(SYS_mincore, (uint64_t)none, 600 * PAGE, (uint64_t)resident, 0, 0) == 0 && resident[0] == 0 &&
                resident[599] == 0,
            "nothing there");
    PROMISE(raw(SYS_mincore, (uint64_t)at, PAGE, 8, 0, 0) == -EFAULT, "an answer to nowhere");
    PROMISE(raw(SYS_msync, (uint64_t)at, PAGE, MS_SYNC | MS_ASYNC, 0, 0) == -EINVAL, "both");
    PROMISE(raw(SYS_msync, (uint64_t)at, 4 * PAGE, MS_ASYNC, 0, 0) == 0, "mapped");
    munmap(at + 3 * PAGE, PAGE);
    PROMISE(raw(SYS_mlock, (uint64_t)at + 5, 2 * PAGE, 0, 0, 0) == 0, "any alignment");
    PROMISE(raw(SYS_mlock, (uint64_t)at + 5, 3 * PAGE, 0, 0, 0) == -ENOMEM, "a hole");
    PROMISE(raw(SYS_munlock, (uint64_t)at, 4 * PAGE, 0, 0, 0) == -ENOMEM, "a hole");
    PROMISE(raw(SYS_mlock2, (uint64_t)at, PAGE, 1, 0, 0) == 0 &&
                raw(SYS_mlock2, (uint64_t)at, PAGE, 2, 0, 0) == -EINVAL,
            "MLOCK_ONFAULT");
    PROMISE(raw(SYS_mlockall, MCL_CURRENT | MCL_FUTURE, 0, 0, 0, 0) == 0 &&
                raw(SYS_mlockall, 0, 0, 0, 0, 0) == -EINVAL,
            "mlockall");
    PROMISE(raw(SYS_madvise, (uint64_t)at, PAGE, MADV_REMOVE, 0, 0) == -EINVAL,
            "there is no file to make a hole in");
    at[9] = 9;
    PROMISE(raw(SYS_madvise, (uint64_t)at, PAGE, MADV_FREE, 0, 0) == 0 && (at[9] == 9 || at[9] == 0), "free");
    munmap(at, 3 * PAGE);
    munmap(none, 600 * PAGE);
    PROMISE(raw(SYS_membarrier, 0, 0, 0, 0, 0) == (8 | 16), "what there is");
    PROMISE(raw(SYS_membarrier, 8, 0, 0, 0, 0) == -EPERM && raw(SYS_membarrier, 16, 0, 0, 0, 0) == 0 &&
                raw(SYS_membarrier, 8, 0, 0, 0, 0) == 0,
            "registered first");
    PROMISE(raw(SYS_membarrier, 8, 1, 0, 0, 0) == -EINVAL &&
                raw(SYS_membarrier, 1 << 20, 0, 0, 0, 0) == -EINVAL,
            "unknown");
}

/* ---- what one stands on ---- */

static void take_away(const char *what)
{
    const char *rank = getenv("TACET_RANK");
    struct timespec while_others_fall = { 0, 50000000 };
    uint64_t here = strcmp(what, "unmap-stack") ? (uint64_t)take_away : (uint64_t)&rank;
    uint64_t page = here & -PAGE;

    if (rank && strcmp(rank, "0") != 0) {
        nanosleep(&while_others_fall, NULL);
        char *at = map(5 << 20, PROT_READ | PROT_WRITE, 0);
        PROMISE(at != MAP_FAILED && (at[5 << 19] = 1) && munmap(at, 5 << 20) == 0, "others go on");
        exit(promises_kept());
    }
    if (strcmp(what, "protect-text") == 0)
        raw(SYS_mprotect, page, 2 * PAGE, PROT_NONE, 0, 0);
    else
        raw(SYS_munmap, strcmp(what, "unmap-stack") ? page : page - 4 * PAGE,
            strcmp(what, "unmap-stack") ? 2 * PAGE : 5 * PAGE, 0, 0, 0);
    _exit(3); /* it was not taken */
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (strcmp(what, "bounds") == 0) {
        bounds();
    } else if (strcmp(what, "calls") == 0) {
        uint64_t before;

        flags_of_mmap(); /* the first time, for what the library keeps */
        before = free_memory();
        flags_of_mmap();
        moves();
        questions();
        PROMISE(free_memory() == before, "%ld bytes are missing", (long)(before - free_memory()));
    } else {
        take_away(what);
    }
    return promises_kept();
}
