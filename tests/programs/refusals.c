/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * refusals.c WAY: requests more memory than there is, again and again, and continues without it.
 *
 *   mmap, mremap, mprotect, brk    for 512 MiB, by that call
 *   full                           page by page, until there is none
 *   nowhere                        for what memory cannot help: addresses that no program has, the low 2 GiB
 *   reserve                        for address space that is not there, and later for memory
 *   probe                          for sizes up to the largest number, twice each
 */
#define _GNU_SOURCE
#include "machine.h"
#include "promise.h"

#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define MIB   (1UL << 20)
#define MUCH  (512 * MIB)
#define RIGHT (PROT_READ | PROT_WRITE)

static void *map(void *address, size_t bytes, int rights, int flags)
{
    return mmap(address, bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

/* Makes the bare call, as the C library would check the size. */
static void map_refused(uintptr_t address, size_t bytes, int rights, int flags)
{
    FAILS(syscall(SYS_mmap, address, bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0), ENOMEM);
}

static void by_brk(void)
{
    uintptr_t end = (uintptr_t)syscall(SYS_brk, 0);

    IS((uintptr_t)syscall(SYS_brk, end + MUCH), end);
}

static void full(void)
{
    while (map(NULL, 4096, RIGHT, 0) != MAP_FAILED)
        ;
    PROMISE(errno == ENOMEM, "errno %d", errno);
}

static void probe(void)
{
    for (unsigned log = 30; log < 64; log++)
        map_refused(0, 1UL << log, RIGHT, 0);
    map_refused(0, ~0UL << 12, RIGHT, 0);
    map_refused(0, ~0UL, RIGHT, 0);
}

int main(int count, char **arguments)
{
    const char *way = count > 1 ? arguments[1] : "";

    for (int again = 0; again < 2; again++) {
        if (strcmp(way, "mmap") == 0)
            map_refused(0, MUCH, RIGHT, 0);
        else if (strcmp(way, "mremap") == 0)
            PROMISE(mremap(map(NULL, MIB, RIGHT, 0), MIB, MUCH, MREMAP_MAYMOVE) == MAP_FAILED, "moved");
        else if (strcmp(way, "mprotect") == 0)
            FAILS(mprotect(map(NULL, MUCH, PROT_NONE, 0), MUCH, RIGHT), ENOMEM);
        else if (strcmp(way, "brk") == 0)
            by_brk();
        else if (strcmp(way, "full") == 0)
            full();
        else if (strcmp(way, "nowhere") == 0) {
            map_refused(1UL << 52, 4096, RIGHT, MAP_FIXED);
#ifdef MAP_32BIT
            map_refused(0, 4096, RIGHT, MAP_32BIT);
#endif
            FAILS(mprotect((void *)(1UL << 40), 4096, RIGHT), ENOMEM);
        } else if (strcmp(way, "reserve") == 0) {
            map_refused(0, MACHINE_USER_LIMIT + MACHINE_PAGE - (8UL << 40), PROT_NONE, 0);
            map_refused(0, MUCH, RIGHT, 0);
        } else
            probe();
    }
    return promises_kept();
}
