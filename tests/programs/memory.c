/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.c: every page of the program image has exactly the rights of its segment; calls on the address space
 * return the same as on Linux.
 *
 * A system call shows whether a page can be read or written: the kernel copies with the program's rights and
 * returns EFAULT instead of a fault.
 */
#define _GNU_SOURCE
#include "machine.h"
#include "promise.h"

#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE MACHINE_PAGE

static const char constant[] = "constant";
static int data = 1;
static char bss[2 * PAGE];

static int can_write(volatile char *at)
{
    char before = *at;

    if (getrandom((void *)at, 1, 0) != 1)
        return 0;
    *at = before;
    return 1;
}

static int can_read(const void *at)
{
    return !(access(at, F_OK) == -1 && errno == EFAULT);
}

static void image_rights(void)
{
    const Elf64_Phdr *headers = (const Elf64_Phdr *)getauxval(AT_PHDR);
    unsigned long number = getauxval(AT_PHNUM), base = 0, relro = 0, relro_end = 0;
    unsigned pages = 0, wrong = 0, relro_pages = 0;

    for (unsigned long i = 0; i < number; i++)
        if (headers[i].p_type == PT_LOAD && headers[i].p_offset == 0)
            base = (unsigned long)headers -
                   ((const Elf64_Ehdr *)((unsigned long)headers - sizeof(Elf64_Ehdr)))->e_phoff -
                   headers[i].p_vaddr;
            /* glibc takes the right away itself, when it has relocated; musl does so in dynamic programs
             * only. */
#ifdef __GLIBC__
    for (unsigned long i = 0; i < number; i++) {
        if (headers[i].p_type != PT_GNU_RELRO)
            continue;
        relro = base + headers[i].p_vaddr;
        relro_end = (relro + headers[i].p_memsz) & ~(PAGE - 1);
        relro &= ~(PAGE - 1);
    }
#endif
    for (unsigned long i = 0; i < number; i++) {
        if (headers[i].p_type != PT_LOAD)
            continue;
        unsigned long start = (base + headers[i].p_vaddr) & ~(PAGE - 1),
                      end = base + headers[i].p_vaddr + headers[i].p_memsz;

        PROMISE(!((headers[i].p_flags & PF_W) && (headers[i].p_flags & PF_X)), "segment %lu", i);
        for (unsigned long page = start; page < end; page += PAGE, pages++) {
            int in_relro = page >= relro && page < relro_end;
            int expected = (headers[i].p_flags & PF_W) && !in_relro;
            int got = can_write((volatile char *)page);

            relro_pages += in_relro && (headers[i].p_flags & PF_W);
            if (got != expected && wrong++ < 5)
                fprintf(stderr, "page %#lx of segment %lu: writable %d\n", page, i, got);
        }
    }
    PROMISE(pages >= (PAGE == 4096 ? 6 : 4) && wrong == 0, "%u of %u pages have wrong rights", wrong, pages);
    PROMISE(!relro || relro_pages > 0, "RELRO is seen");
    PROMISE(can_write((volatile char *)&data) && can_write(bss) && can_write(bss + PAGE), "data and bss");
    PROMISE(can_read(constant) && !can_write((volatile char *)constant), "constants");
}

static void *map(void *where, size_t bytes, int rights, int flags)
{
    return mmap(where, bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

#define REFUSES(call, error) PROMISE((errno = 0, (long)(call)) == -1 && errno == (error), "errno %d", errno)

static void rights_calls(void)
{
    char *at = map(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, 0);

    PROMISE(at != MAP_FAILED, "eight pages");
    memset(at, 7, 8 * PAGE);
    REFUSES(map(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, 0), EACCES);
    REFUSES(mprotect(at, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC), EACCES);
    REFUSES(syscall(SYS_mprotect, at + 1, PAGE, PROT_READ), EINVAL); /* musl's mprotect would round */
    PROMISE(mprotect(at + PAGE, PAGE, PROT_READ) == 0, "read only");
    PROMISE(!can_write(at + PAGE) && can_write(at) && can_write(at + 2 * PAGE), "that page and no other");
    PROMISE(mprotect(at + 2 * PAGE, PAGE, PROT_NONE) == 0 && !can_read(at + 2 * PAGE), "out of reach");
    PROMISE(mprotect(at + 2 * PAGE, PAGE, PROT_READ) == 0 && at[2 * PAGE] == 7, "contents stay");
    PROMISE(munmap(at + 3 * PAGE, PAGE) == 0 && !can_read(at + 3 * PAGE) && at[4 * PAGE] == 7, "a hole");
    REFUSES(mprotect(at, 8 * PAGE, PROT_READ), ENOMEM);
    PROMISE(mprotect(at, 0, PROT_READ) == 0, "nothing");
    REFUSES(munmap(at + 1, PAGE), EINVAL);
    REFUSES(munmap(at, 0), EINVAL);
    PROMISE(munmap(at, 8 * PAGE) == 0 && !can_read(at) && !can_read(at + 7 * PAGE),
            "all gone, the hole does not matter");

    /* Rights move inside of a large page, and the rest of it stays as it was. */
    char *large = map(NULL, 4UL << 20, PROT_READ | PROT_WRITE, 0);
    PROMISE(large != MAP_FAILED && mprotect(large + (1 << 20), PAGE, PROT_READ) == 0, "a page inside");
    PROMISE(!can_write(large + (1 << 20)) && can_write(large + (1 << 20) - 1) &&
                can_write(large + (1 << 20) + PAGE),
            "neighbours");
    PROMISE(munmap(large, 4UL << 20) == 0, "gone");
}

static void fixed_calls(void)
{
    char *at = map((void *)0x200000000000, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_FIXED);

    PROMISE(at == (char *)0x200000000000, "where requested: %p", (void *)at);
    at[0] = at[PAGE] = 3;
    PROMISE(map(at + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_FIXED) == at + PAGE && at[0] == 3 &&
                at[PAGE] == 0,
            "replaced by zeroes");
    REFUSES(map(at, PAGE, PROT_READ, MAP_FIXED_NOREPLACE), EEXIST);
    REFUSES(map(at + 1, PAGE, PROT_READ, MAP_FIXED), EINVAL);
    REFUSES(map(NULL, 0, PROT_READ, 0), EINVAL);
    PROMISE(map(at, PAGE, PROT_READ, 0) != at, "a hint that is taken is only a hint");
    REFUSES(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, 77, 0), EBADF);
    REFUSES(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 1), EINVAL);
    REFUSES(mmap(NULL, PAGE, PROT_READ, MAP_ANONYMOUS, -1, 0), EINVAL);
    REFUSES(map((void *)MACHINE_USER_LIMIT, PAGE, PROT_READ, MAP_FIXED), ENOMEM);
    PROMISE(munmap(at, 4 * PAGE) == 0, "gone");

    /* Address space without rights costs nothing; with rights it would have to be there. */
    char *reserved = map(NULL, 1UL << 40, PROT_NONE, 0);
    PROMISE(reserved != MAP_FAILED, "1 TiB without rights");
    REFUSES(mprotect(reserved, 1UL << 40, PROT_READ | PROT_WRITE), ENOMEM);
    PROMISE(mprotect(reserved + (1UL << 30), PAGE, PROT_READ | PROT_WRITE) == 0 &&
                can_write(reserved + (1UL << 30)),
            "a page of it");
    PROMISE(munmap(reserved, 1UL << 40) == 0, "gone");
    REFUSES(map(NULL, 1UL << 40, PROT_READ, 0), ENOMEM);
}

static void remap_calls(void)
{
    char *at = map(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, 0);

    at[0] = 1, at[2 * PAGE - 1] = 2;
    char *moved = mremap(at, 2 * PAGE, 600 * PAGE, MREMAP_MAYMOVE);
    PROMISE(moved != MAP_FAILED && moved[0] == 1 && moved[2 * PAGE - 1] == 2 && moved[2 * PAGE] == 0 &&
                can_write(moved + 599 * PAGE),
            "grown");
    PROMISE(mremap(moved, 600 * PAGE, PAGE, 0) == moved && moved[0] == 1 && !can_read(moved + PAGE),
            "shrunk in place");
    REFUSES(mremap(moved, PAGE, 1UL << 46, MREMAP_MAYMOVE), ENOMEM);
    PROMISE(moved[0] == 1, "still there after a refusal");
    REFUSES(mremap((void *)0x300000000000, PAGE, 2 * PAGE, MREMAP_MAYMOVE), EFAULT);
    PROMISE(munmap(moved, PAGE) == 0, "gone");

    char *cleared = map(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, 0);
    memset(cleared, 9, 4 * PAGE);
    PROMISE(madvise(cleared + PAGE, PAGE, MADV_DONTNEED) == 0 && cleared[0] == 9 && cleared[PAGE] == 0 &&
                cleared[2 * PAGE - 1] == 0 && cleared[2 * PAGE] == 9,
            "not needed: zero again");
    PROMISE(munmap(cleared, 4 * PAGE) == 0, "gone");
}

static void heap_calls(void)
{
    char *start = sbrk(0);

    PROMISE(sbrk(5 << 20) == start, "the heap grows");
    PROMISE(start[0] == 0 && start[(5 << 20) - 1] == 0, "by zeroes");
    memset(start, 5, 5 << 20);
    PROMISE(sbrk(-(4 << 20)) == start + (5 << 20) && start[0] == 5, "shrinks");
    PROMISE(sbrk(4 << 20) == start + (1 << 20) && start[(1 << 20) - 1] == 5, "grows again");
    unsigned dirty = 0;
    for (char *c = start + (1 << 20); c < start + (5 << 20); c++)
        dirty += *c != 0;
    PROMISE(dirty == 0, "%u bytes of the heap are old", dirty);
    REFUSES(sbrk(1L << 45), ENOMEM);
    PROMISE(sbrk(-(5 << 20)) == start + (5 << 20), "back");
}

int main(void)
{
    image_rights();
    rights_calls();
    fixed_calls();
    remap_calls();
#ifdef __GLIBC__
    heap_calls();
#else
    (void)heap_calls; /* musl refuses sbrk except for 0 */
#endif
    return promises_kept();
}
