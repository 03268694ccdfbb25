/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mmap_growing.c: shared mappings longer than their file show what it grows by, and are SIGBUS above its end,
 * also when it is cut: as databases use them.
 */
#include "conform.h"
#include "faults.h"

#define PAGES 4096

static int file;
static char *page_bytes;

static void note(int number, siginfo_t *info, void *context)
{
    (void)context;
    reported = *info;
    siglongjmp(back, number);
}

static char *map(unsigned long pages, int rights, unsigned long first)
{
    return (char *)sys(SYS_mmap, NULL, pages * PAGE, rights, MAP_SHARED, file, first * PAGE);
}

static void write_page(unsigned long number, char byte)
{
    memset(page_bytes, byte, PAGE);
    if (sys(SYS_pwrite64, file, page_bytes, PAGE, number * PAGE) != (long)PAGE)
        holds("a page is written", false);
}

static char look(const char *at)
{
    return *(const volatile char *)at;
}

static void put(char *at, char byte)
{
    *(volatile char *)at = byte;
}

static void grows(char *all, const char *again, const char *upper)
{
    char bytes[4] = "";
    volatile bool shown = true;

    TRY("an empty file", look(all));
    write_page(0, 'a');
    holds("a page, in all", look(all) == 'a' && look(again) == 'a');
    TRY("the next one", look(all + PAGE));
    TRY("in the second mapping", look(again + PAGE));
    TRY("in the third", look(upper));
    write_page(3, 'd');
    holds("a page further",
          look(all + 3 * PAGE) == 'd' && look(upper + PAGE) == 'd' && look(again + PAGE) == 0);
    for (unsigned long i = 4; i < 700; i++) {
        write_page(i, (char)('a' + i % 26));
        shown = shown && look(again + i * PAGE) == (char)('a' + i % 26);
    }
    holds("each page, once it is written", shown);
    put(all + 600 * PAGE, '!');
    sys(SYS_pread64, file, bytes, 1, 600 * PAGE);
    holds("written through the mapping", bytes[0] == '!' && look(again + 600 * PAGE) == '!');
    result("made longer", sys(SYS_ftruncate, file, 1000 * PAGE));
    holds("is zero there", look(all + 999 * PAGE) == 0);
    TRY("above its end", put(all + 1000 * PAGE, 'x'));
    result("room that keeps the size", sys(SYS_fallocate, file, 1, 0, 1100 * PAGE));
    TRY("is above the end", look(all + 1050 * PAGE));
    result("room", sys(SYS_fallocate, file, 0, 0, 1100 * PAGE));
    put(all + 1099 * PAGE, 'x');
    holds("and is there", look(again + 1099 * PAGE) == 'x');
    result("all of it to storage", sys(SYS_msync, all, PAGES * PAGE, MS_SYNC));
    result("written from above the end", sys(SYS_pwrite64, file, all + 1200 * PAGE, 10, 0));
    result("read to there", sys(SYS_pread64, file, all + 1200 * PAGE, 10, 0));
}

static void is_cut(char *all, const char *again, const char *upper)
{
    result("cut", sys(SYS_ftruncate, file, 2 * PAGE + 5));
    holds("what is left", look(all) == 'a' && look(again + 2 * PAGE) == 0);
    TRY("cut off", look(all + 3 * PAGE));
    TRY("cut off the second", look(again + 600 * PAGE));
    TRY("cut off the third", look(upper + 600 * PAGE));
    TRY("written where it is cut off", put(all + 3 * PAGE, 'x'));
    result("grown again", sys(SYS_ftruncate, file, 800 * PAGE));
    holds("is zero in all",
          look(all + 600 * PAGE) == 0 && look(again + 3 * PAGE) == 0 && look(upper + PAGE) == 0);
    put(all + 799 * PAGE, 'z');
    holds("and shared", look(again + 799 * PAGE) == 'z' && look(upper + 797 * PAGE) == 'z');
    result("cut to nothing", sys(SYS_ftruncate, file, 0));
    TRY("all of it", look(all));
    write_page(0, 'n');
    holds("new", look(all) == 'n' && look(again) == 'n');
}

CONFORM(mmap_growing)
{
    struct sigaction action = { .sa_sigaction = note, .sa_flags = SA_SIGINFO };
    char *all, *longer;
    const char *again, *upper;

    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGSEGV, &action, NULL);
    if (!in_tmp())
        return;
    file = file_made("file", "");
    page_bytes =
        (char *)sys(SYS_mmap, NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    all = map(PAGES, PROT_READ | PROT_WRITE, 0);
    again = map(PAGES, PROT_READ, 0);
    upper = map(PAGES - 2, PROT_READ, 2);
    grows(all, again, upper);
    is_cut(all, again, upper);

    longer = (char *)sys(SYS_mremap, all, PAGES * PAGE, 2 * PAGES * PAGE, MREMAP_MAYMOVE);
    holds("made longer, and perhaps moved", (unsigned long)longer < -4095UL && look(longer) == 'n');
    write_page(9, 'j');
    holds("follows still", look(longer + 9 * PAGE) == 'j' && look(again + 9 * PAGE) == 'j');
    result("unlinked", sys(SYS_unlink, "file"));
    write_page(10, 'k');
    sys(SYS_close, file);
    holds("without a name", look(longer + 10 * PAGE) == 'k');
    result("unmapped in part", sys(SYS_munmap, longer, 10 * PAGE));
    holds("the rest stays", look(longer + 10 * PAGE) == 'k' && look(again + 9 * PAGE) == 'j');
    TRY("the part", look(longer));
}
