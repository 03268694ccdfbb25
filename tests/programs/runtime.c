/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * runtime.c: checks what a C library does without being called: constructors and destructors in order,
 * thread-local storage, allocation of every size, formatted floating point, sorting, jumps, files of the
 * tree, the working directory, the environment.
 */
#include "machine.h"
#include "promise.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

static char order[8];
static unsigned order_used;

static void order_note(char c)
{
    if (order_used < sizeof(order) - 1)
        order[order_used++] = c;
}

__attribute__((constructor(101))) static void first(void)
{
    order_note('1');
}

__attribute__((constructor(102))) static void second(void)
{
    order_note('2');
}

__attribute__((destructor(101))) static void last(void)
{
    static const char text[] = "destructor\n";

    if (write(1, text, sizeof(text) - 1) < 0)
        _exit(9);
}

static void at_exit(void)
{
    fputs("atexit\n", stdout);
    fflush(stdout);
}

static __thread int tls_set = 42;
static __thread char tls_zero[3000];
static __thread struct {
    char filler;
    __attribute__((aligned(64))) char line[64];
} tls_aligned;

static void thread_local_storage(void)
{
    unsigned sum = 0;

    PROMISE(tls_set == 42, "initialised: %d", tls_set);
    for (size_t i = 0; i < sizeof(tls_zero); i++)
        sum += (unsigned char)tls_zero[i];
    PROMISE(sum == 0, "zero-initialised: %u", sum);
    PROMISE((uintptr_t)tls_aligned.line % 64 == 0, "aligned: %p", (void *)tls_aligned.line);
    tls_set = 43;
    memset(tls_zero, 1, sizeof(tls_zero));
    PROMISE(tls_set == 43, "kept: %d", tls_set);
}

static uint64_t pattern(size_t block, size_t word)
{
    return block * 0x9e3779b97f4a7c15 + word;
}

/* Blocks of 16 B to 16 MiB, all alive at once, grown, shrunk, freed in another order. */
static void allocation(void)
{
    enum { BLOCKS = 200 };
    static uint64_t *blocks[BLOCKS];
    static size_t words[BLOCKS];
    unsigned wrong = 0;

    for (size_t b = 0; b < BLOCKS; b++) {
        words[b] = (size_t)2 << b % 20;
        if (b % 20 > 14 && b > 60)
            words[b] = b;
        blocks[b] = malloc(words[b] * 8);
        PROMISE(blocks[b], "block %zu of %zu words", b, words[b]);
        if (!blocks[b])
            return;
        for (size_t w = 0; w < words[b]; w++)
            blocks[b][w] = pattern(b, w);
    }
    for (size_t b = 0; b < BLOCKS; b += 3) {
        size_t fewer = words[b] < words[b] * 3 / 2 ? words[b] : words[b] * 3 / 2;
        uint64_t *moved = realloc(blocks[b], words[b] * 3 / 2 * 8);

        PROMISE(moved, "block %zu grows", b);
        if (!moved)
            return;
        blocks[b] = moved;
        words[b] = fewer;
    }
    for (size_t b = 0; b < BLOCKS; b++)
        for (size_t w = 0; w < words[b]; w++)
            wrong += blocks[b][w] != pattern(b, w);
    PROMISE(wrong == 0, "%u words of the blocks are not what was written", wrong);
    for (size_t b = 0; b < BLOCKS; b++)
        free(blocks[(b * 7) % BLOCKS]);

    unsigned char *zeroed = calloc(5, 1 << 20);
    unsigned dirty = 0;
    PROMISE(zeroed, "5 MiB of calloc");
    for (size_t i = 0; zeroed && i < 5 << 20; i++)
        dirty += zeroed[i] != 0;
    PROMISE(dirty == 0, "%u bytes of calloc are not zero", dirty);
    free(zeroed);

    /* realloc of a large block is mremap */
    uint64_t *large = malloc(8 << 20);
    for (size_t w = 0; large && w < 1 << 20; w++)
        large[w] = pattern(1, w);
    large = realloc(large, 24 << 20);
    PROMISE(large, "a large block grows");
    for (size_t w = 0; large && w < 1 << 20; w++)
        wrong += large[w] != pattern(1, w);
    PROMISE(wrong == 0, "%u words of a grown block", wrong);
    free(large);

    void *aligned = NULL;
    PROMISE(posix_memalign(&aligned, 1 << 21, 100) == 0 && (uintptr_t)aligned % (1 << 21) == 0, "aligned: %p",
            aligned);
    free(aligned);
    errno = 0;
    PROMISE(!malloc((size_t)1 << 46) && errno == ENOMEM, "64 TiB are refused, errno %d", errno);
}

static int compare(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;

    return x < y ? -1 : x > y;
}

static void library(void)
{
    char text[128];
    volatile double root = 2.0, big = 1e300;
    static int numbers[1000];
    static jmp_buf place;
    volatile int jumped = 0;
    struct utsname name;
    struct stat status;

    snprintf(text, sizeof(text), "%.10g %a %g %s", sqrt(root), 0.5, big * big, "x");
    PROMISE(strcmp(text, "1.414213562 0x1p-1 inf x") == 0, "%s", text);
    PROMISE(strtod("3.25e2", NULL) == 325.0, "strtod");

    for (int i = 0; i < 1000; i++)
        numbers[i] = (i * 7919) % 1000;
    qsort(numbers, 1000, sizeof(int), compare);
    int sorted = 1;
    for (int i = 0; i < 1000; i++)
        sorted &= numbers[i] == i;
    PROMISE(sorted, "qsort");

    if (setjmp(place) == 0) {
        jumped = 1;
        longjmp(place, 5);
    } else {
        jumped++;
    }
    PROMISE(jumped == 2, "longjmp");

    PROMISE(uname(&name) == 0 && strcmp(name.sysname, "Linux") == 0 &&
                strcmp(name.machine, MACHINE_NAME) == 0,
            "uname");
    PROMISE(strstr(name.version, "Tacet"), "the version names the kernel: %s", name.version);
    PROMISE(getenv("PROMISE_TEST") && strcmp(getenv("PROMISE_TEST"), "a value") == 0, "environment");
    PROMISE(sysconf(_SC_PAGESIZE) == (long)MACHINE_PAGE, "page size");
    PROMISE(sysconf(_SC_NPROCESSORS_ONLN) >= 1, "CPUs %ld", sysconf(_SC_NPROCESSORS_ONLN));
    PROMISE(getpid() > 0 && getuid() == 0, "identity");
    PROMISE(isatty(0) == 0 && isatty(1) == 0 && isatty(2) == 0, "streams of their own are no terminals");

    PROMISE(stat("/proc/tacet/counters", &status) == 0 && S_ISREG(status.st_mode), "stat");
    PROMISE(stat("/dev/null", &status) == 0 && S_ISCHR(status.st_mode), "stat of a device");
    PROMISE(stat("/none", &status) == -1 && errno == ENOENT, "stat of nothing, errno %d", errno);
    PROMISE(getcwd(text, sizeof(text)) && strcmp(text, "/tmp") == 0, "working directory");
    PROMISE(chdir("/dev") == 0 && access("null", R_OK) == 0, "relative path");
    PROMISE(open("/new", O_CREAT | O_WRONLY, 0600) == -1 && errno == EROFS, "the tree is read-only, errno %d",
            errno);

    int zero = open("/dev/zero", O_RDONLY);
    memset(text, 1, sizeof(text));
    PROMISE(read(zero, text, 64) == 64 && text[0] == 0 && text[63] == 0 && text[64] == 1, "/dev/zero");
    PROMISE(close(zero) == 0 && close(zero) == -1 && errno == EBADF, "close");

    /* The program reads its own file. */
    FILE *self = fopen("/proc/self/exe", "rb");
    PROMISE(self && fread(text, 1, 4, self) == 4 && memcmp(text, "\177ELF", 4) == 0, "own file");
    PROMISE(self && fseek(self, 0, SEEK_END) == 0 && ftell(self) > 1000, "its size");
    if (self)
        fclose(self);

    /* A short name is followed by zeroes, not by what happened to be in the kernel's memory. */
    char thread[17] = { 0 };
    memset(text, 0x7f, 16);
    PROMISE(prctl(PR_SET_NAME, "a") == 0 && prctl(PR_GET_NAME, text) == 0 && text[0] == 'a' &&
                memcmp(text + 1, thread, 15) == 0,
            "the name's end");
    PROMISE(prctl(PR_SET_NAME, "a name that is too long") == 0 && prctl(PR_GET_NAME, thread) == 0 &&
                strcmp(thread, "a name that is ") == 0,
            "the name: %s", thread);

    errno = 0;
    PROMISE(fork() == -1 && errno == ENOMEM, "fork is refused, errno %d", errno);
}

/* Faults, for the test of the report, which prints its name and place. */
__attribute__((noipa)) static void fault_here(volatile int *nowhere)
{
    *nowhere = 1;
}

int main(int count, char **arguments)
{
    if (count > 1 && !strcmp(arguments[1], "fault"))
        fault_here((volatile int *)0x123456789000);
    PROMISE(strcmp(order, "12") == 0, "constructors ran as %s", order);
    thread_local_storage();
    allocation();
    library();
    atexit(at_exit);
    return promises_kept();
}
