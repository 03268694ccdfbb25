/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nodes.c: a rank on a machine with the NUMA nodes 0 and 1: its memory is where getcpu says, if it has one of
 * several slices; one rank alone has memory of both. Raw system calls: there is no libnuma.
 */
#define _GNU_SOURCE
#include "machine.h"
#include "promise.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { DEFAULT, PREFERRED, BIND, INTERLEAVE };
enum { STRICT = 1, MOVE = 2, ALLOWED = 4 };

static const unsigned long both = 3;

/* Returns how many of the pages are on a node, by move_pages. */
static unsigned pages_on(char *memory, unsigned count, int node)
{
    void *pages[64];
    int statuses[64];
    unsigned found = 0;

    for (unsigned i = 0; i < count; i++)
        pages[i] = memory + i * (size_t)MACHINE_PAGE;
    IS(syscall(SYS_move_pages, 0, (long)count, pages, NULL, statuses, 0), 0);
    for (unsigned i = 0; i < count; i++)
        found += statuses[i] == node;
    return found;
}

/* Checks a rank whose memory is on `node` alone. */
static void memory_is_near(char *memory, unsigned count, int node)
{
    const unsigned long near = 1UL << node, far = both ^ near;
    void *page = memory;
    int wanted = !node, status = -1;
    unsigned long mask = 0;

    IS(syscall(SYS_get_mempolicy, NULL, &mask, 65L, NULL, (long)ALLOWED), 0);
    PROMISE(mask == near, "allowed %lx", mask);
    PROMISE(pages_on(memory, count, node) == count, "%u pages", pages_on(memory, count, node));
    IS(syscall(SYS_set_mempolicy, BIND, &near, 65L), 0);
    IS(syscall(SYS_set_mempolicy, BIND, &both, 65L), 0);
    FAILS(syscall(SYS_set_mempolicy, BIND, &far, 65L), EINVAL);
    FAILS(syscall(SYS_set_mempolicy, PREFERRED, &far, 65L), EINVAL);
    IS(syscall(SYS_mbind, memory, (long)MACHINE_PAGE, BIND, &near, 65L, (long)(STRICT | MOVE)), 0);
    FAILS(syscall(SYS_mbind, memory, (long)MACHINE_PAGE, BIND, &far, 65L, 0L), EINVAL);
    FAILS(syscall(SYS_move_pages, 0, 1L, &page, &wanted, &status, (long)MOVE), EACCES);
    FAILS(syscall(SYS_migrate_pages, 0, 65L, &near, &far), EINVAL);
}

/* Checks a rank that has memory of both nodes. */
static void memory_is_everywhere(char *memory, unsigned count)
{
    const unsigned on[2] = { pages_on(memory, count, 0), pages_on(memory, count, 1) };
    const int node = on[1] == count;
    const unsigned long here = 1UL << node, there = both ^ here;
    void *page = memory;
    int wanted = !node, status = -1;

    PROMISE(on[0] + on[1] == count, "%u and %u pages", on[0], on[1]);
    FAILS(syscall(SYS_set_mempolicy, BIND, &here, 65L), EINVAL);
    IS(syscall(SYS_set_mempolicy, BIND, &both, 65L), 0);
    IS(syscall(SYS_set_mempolicy, INTERLEAVE, &both, 65L), 0);
    IS(syscall(SYS_set_mempolicy, PREFERRED, &there, 65L), 0);
    if (on[node] < count)
        return; /* these pages lie across the bound */
    IS(syscall(SYS_mbind, memory, (long)MACHINE_PAGE, BIND, &here, 65L, (long)STRICT), 0);
    FAILS(syscall(SYS_mbind, memory, (long)MACHINE_PAGE, BIND, &there, 65L, 0L), EIO);
    IS(syscall(SYS_mbind, memory, (long)MACHINE_PAGE, PREFERRED, &there, 65L, 0L), 0);
    FAILS(syscall(SYS_mbind, memory, (long)MACHINE_PAGE, PREFERRED, &there, 65L, (long)STRICT), EIO);
    PROMISE(syscall(SYS_move_pages, 0, 1L, &page, &wanted, &status, (long)MOVE) == 1 && status == -ENOMEM,
            "status %d", status);
    PROMISE(syscall(SYS_migrate_pages, 0, 65L, &here, &there) >= (long)count, "pages that stay");
}

int main(void)
{
    /* In large pages: small mappings are taken first from what is left where slices are cut. */
    const unsigned count = 16;
    char *memory = mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned cpu, node;
    const char *size = getenv("TACET_SIZE");

    IS(syscall(SYS_getcpu, &cpu, &node, NULL), 0);
    if (size && atoi(size) > 1)
        memory_is_near(memory, count, (int)node);
    else
        memory_is_everywhere(memory, count);
    return promises_kept();
}
