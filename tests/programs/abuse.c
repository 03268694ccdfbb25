/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * abuse.c PART [DIRECTORY]: does for a long time what no program should do. It ends the same on Linux, except
 * for the number of timers and of links.
 *
 *   timers      a million timers are created on the first rank; the others use theirs meanwhile
 *   vectors     vectors of readv and writev with a wrong number of parts
 *   paths       paths of every length, with dots, links in a ring, without an end; in DIRECTORY, which must
 *               be writable
 *   stacks      handlers run whatever the last bits of the stack pointer are
 *   handler-faults, recursion, alternate-overflow, thread-without-stack    end by SIGSEGV
 */
#define _GNU_SOURCE
#include "machine.h"
#include "promise.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define PAGE        MACHINE_PAGE
#define TIMERS      1000000
#define LENGTH_MAX  4200
#define STACK_BYTES 32768

static long raw(long number, long a, long b, long c, long d)
{
    long result = syscall(number, a, b, c, d);

    return result == -1 ? -errno : result;
}

/* Maps memory with nothing mapped above it. */
static char *pages_map(unsigned count)
{
    char *memory = mmap(NULL, (count + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    PROMISE(memory != MAP_FAILED && mprotect(memory + count * PAGE, PAGE, PROT_NONE) == 0, "%d", errno);
    return memory;
}

/* ---- timers ---- */

static volatile sig_atomic_t runs;

static void note(int signal)
{
    (void)signal;
    runs++;
}

static void a_million_timers(void)
{
    static int ids[TIMERS];
    unsigned made = 0, refused = 0;

    for (unsigned i = 0; i < TIMERS; i++) {
        long result = raw(SYS_timer_create, CLOCK_MONOTONIC, 0, (long)&ids[made], 0);

        made += result == 0;
        refused += result == -EAGAIN;
    }
    PROMISE(made + refused == TIMERS && made >= 100, "%u made, %u refused", made, refused);
    for (unsigned i = 0; i < made; i++)
        PROMISE(raw(SYS_timer_delete, ids[i], 0, 0, 0) == 0, "timer %u", i);
    PROMISE(raw(SYS_timer_create, CLOCK_MONOTONIC, 0, (long)&ids[0], 0) == 0, "there is room again: %d",
            errno);
    printf("made %u\n", made);
}

static void timers_of_one_s_own(void)
{
    const struct itimerspec often = { { 0, 5000000 }, { 0, 5000000 } };
    const time_t end = time(NULL) + 20;
    int id;

    signal(SIGALRM, note);
    PROMISE(raw(SYS_timer_create, CLOCK_MONOTONIC, 0, (long)&id, 0) == 0 &&
                raw(SYS_timer_settime, id, 0, (long)&often, 0) == 0,
            "%d", errno);
    while (runs < 20 && time(NULL) < end)
        pause();
    PROMISE(runs >= 20, "%d", (int)runs);
}

/* ---- vectors ---- */

static void vectors_that_lie(void)
{
    static const long counts[] = { IOV_MAX + 1, INT_MAX, 1L << 31, LONG_MAX, (1L << 32) - 1, -1 };
    static const long calls[] = { SYS_readv, SYS_writev, SYS_preadv, SYS_pwritev };
    static struct iovec parts[IOV_MAX];
    static char byte;
    char *memory = pages_map(1);
    int file = memfd_create("vectors", 0), ends[2], there = -1;
    struct iovec *last = (struct iovec *)(memory + PAGE) - 1;

    for (unsigned i = 0; i < IOV_MAX; i++)
        parts[i] = (struct iovec){ &byte, 1 };
    PROMISE(raw(SYS_writev, file, (long)parts, IOV_MAX, 0) == IOV_MAX, "%d", errno);
    for (unsigned c = 0; c < 4; c++) {
        for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
            PROMISE(raw(calls[c], file, (long)parts, counts[i], 0) == -EINVAL, "call %ld, count %lx",
                    calls[c], counts[i]);
        PROMISE(raw(calls[c], file, (long)parts, 0, 0) == 0 && raw(calls[c], file, 0, 0, 0) == 0,
                "call %ld, nothing", calls[c]);
        PROMISE(raw(calls[c], file, 0, 1, 0) == -EFAULT && raw(calls[c], file, LONG_MIN, 1, 0) == -EFAULT,
                "call %ld, nowhere", calls[c]);
        parts[3].iov_len = (size_t)-1;
        PROMISE(raw(calls[c], file, (long)parts, 4, 0) == -EINVAL, "call %ld, a part of -1 bytes", calls[c]);
        parts[3].iov_len = 1;
    }

    /* There is one part, but the count is larger: nothing is moved. */
    *last = (struct iovec){ &byte, 1 };
    PROMISE(pipe(ends) == 0, "%d", errno);
    for (long count = 2; count <= IOV_MAX; count++)
        PROMISE(raw(SYS_writev, ends[1], (long)last, count, 0) == -EFAULT, "%ld parts", count);
    PROMISE(ioctl(ends[0], FIONREAD, &there) == 0 && there == 0, "%d bytes", there);
    for (long cut = 1; cut < (long)sizeof(struct iovec); cut++)
        PROMISE(raw(SYS_writev, ends[1], (long)last + cut, 1, 0) == -EFAULT,
                "a part that ends %ld bytes too late", cut);
}

/* ---- paths ---- */

static char path[LENGTH_MAX + 8];

/* Returns a path of `length` bytes: `piece` as often as it fits, filled up with `last`. */
static const char *path_of(const char *piece, size_t length, char last)
{
    size_t step = strlen(piece), used = 0;

    for (; used + step <= length; used += step)
        memcpy(path + used, piece, step);
    memset(path + used, last, length - used);
    path[length] = 0;
    return path;
}

static long stat_of(const char *name)
{
    struct stat answer;

    return stat(name, &answer) ? -errno : 0;
}

static void every_length(void)
{
    for (size_t length = 1; length <= LENGTH_MAX; length++) {
        long fits = length < PATH_MAX ? 0 : -ENAMETOOLONG,
             open_answer = open(path_of("a", length, 'a'), O_RDONLY);

        PROMISE(open_answer == -1 && errno == (length <= NAME_MAX ? ENOENT : ENAMETOOLONG),
                "a name of %zu bytes: %d", length, errno);
        PROMISE(stat_of(path_of("./", length, '.')) == fits, "./ up to %zu bytes", length);
        PROMISE(stat_of(path_of("/", length, '/')) == fits, "%zu slashes", length);
        PROMISE(stat_of(path_of("../", length, '/')) == fits, "../ up to %zu bytes", length);
        PROMISE(stat_of(path_of("d/../", length, '/')) == fits, "d/../ up to %zu bytes", length);
    }
}

static void too_long_for_every_call(void)
{
    static const long by_path[] = { SYS_open,  SYS_stat,   SYS_lstat,    SYS_access, SYS_chdir,   SYS_mkdir,
                                    SYS_rmdir, SYS_unlink, SYS_truncate, SYS_chmod,  SYS_readlink };
    static const long by_two[] = { SYS_rename, SYS_link, SYS_symlink };

    for (size_t length = PATH_MAX; length <= LENGTH_MAX; length += LENGTH_MAX - PATH_MAX) {
        path_of("./", length, '.');
        for (unsigned i = 0; i < sizeof(by_path) / sizeof(by_path[0]); i++)
            PROMISE(raw(by_path[i], (long)path, 0, 64, 0) == -ENAMETOOLONG, "call %ld, %zu bytes", by_path[i],
                    length);
        for (unsigned i = 0; i < sizeof(by_two) / sizeof(by_two[0]); i++)
            PROMISE(raw(by_two[i], (long)"d", (long)path, 0, 0) == -ENAMETOOLONG &&
                        raw(by_two[i], (long)path, (long)"e", 0, 0) == -ENAMETOOLONG,
                    "call %ld, %zu bytes", by_two[i], length);
    }
}

static void without_an_end(void)
{
    static const size_t lengths[] = {
        1, 2, NAME_MAX, NAME_MAX + 1, PATH_MAX - 1, PATH_MAX, PATH_MAX + 1, 2 * PAGE
    };
    char *memory = pages_map(2);

    memset(memory, '/', 2 * PAGE);
    for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        long expected = lengths[i] < PATH_MAX ? -EFAULT : -ENAMETOOLONG,
             at = (long)(memory + 2 * PAGE - lengths[i]);

        PROMISE(raw(SYS_open, at, O_RDONLY, 0, 0) == expected, "%zu bytes", lengths[i]);
        PROMISE(raw(SYS_mkdir, at, 0755, 0, 0) == expected, "%zu bytes", lengths[i]);
        PROMISE(raw(SYS_rename, (long)"d", at, 0, 0) == expected, "%zu bytes", lengths[i]);
    }
}

static void rings_of_links(void)
{
    char from[16], to[16];

    PROMISE(symlink("ring1", "ring0") == 0 && symlink("ring0", "ring1") == 0 &&
                symlink("self/self", "self") == 0,
            "%d", errno);
    PROMISE(stat_of("ring0") == -ELOOP && stat_of("ring1/x") == -ELOOP && stat_of("self") == -ELOOP &&
                stat_of("d/../ring0/../d") == -ELOOP,
            "%d", errno);
    PROMISE(raw(SYS_open, (long)"ring0", O_RDWR | O_CREAT, 0644, 0) == -ELOOP &&
                raw(SYS_chdir, (long)"self", 0, 0, 0) == -ELOOP,
            "%d", errno);
    PROMISE(symlink("d", "link0") == 0, "%d", errno);
    for (int i = 1; i <= 100; i++) {
        snprintf(from, sizeof(from), "link%d", i), snprintf(to, sizeof(to), "link%d", i - 1);
        PROMISE(symlink(to, from) == 0, "%d", errno);
    }
    PROMISE(stat_of("link9") == 0 && stat_of("link100") == -ELOOP, "%d", errno);
}

static void paths(const char *directory)
{
    if (chdir(directory) || mkdir("abuse", 0755) || chdir("abuse") || mkdir("d", 0755)) {
        PROMISE(false, "%s: %d", directory, errno);
        return;
    }
    every_length();
    too_long_for_every_call();
    without_an_end();
    rings_of_links();
}

/* ---- stacks ---- */

static void odd_stacks(void)
{
    signal(SIGUSR1, note);
    for (long shift = 0; shift < 64; shift++) {
        long kept;

        runs = 0;
#if defined(__x86_64__)
        __asm__ volatile("mov %%rsp, %%rbx; sub $512, %%rsp; sub %[shift], %%rsp; mov %%rsp, %%r12; "
                         "syscall; sub %%rsp, %%r12; mov %%r12, %[kept]; mov %%rbx, %%rsp"
                         : [kept] "=r"(kept)
                         : [shift] "r"(shift), "a"((long)SYS_kill), "D"((long)getpid()), "S"((long)SIGUSR1)
                         : "rbx", "rcx", "r11", "r12", "memory", "cc");
#else
        const long self = getpid(); /* before any register is set: a call changes them */
        register long r0 __asm__("r0") = SYS_kill;
        register long r3 __asm__("r3") = self;
        register long r4 __asm__("r4") = SIGUSR1;

        __asm__ volatile("mr 14, 1; addi 1, 1, -512; subf 1, %[shift], 1; mr 15, 1; sc; "
                         "subf %[kept], 1, 15; mr 1, 14"
                         : [kept] "=&r"(kept), "+r"(r0), "+r"(r3), "+r"(r4)
                         : [shift] "r"(shift)
                         : "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "r14", "r15", "memory", "cr0",
                           "ctr", "xer");
#endif
        PROMISE(runs == 1 && kept == 0, "%ld bytes off: %d, %ld", shift, (int)runs, kept);
    }
}

/* ---- Ends ---- */

static volatile uintptr_t nowhere; /* which the compiler does not know to be 0 */

static void fault_again(int signal)
{
    (void)signal;
    *(volatile int *)(nowhere + 32) = 1;
}

static void handler_faults(void)
{
    signal(SIGSEGV, fault_again);
    *(volatile int *)(nowhere + 16) = 1;
}

static void raise_again(int number)
{
    raise(number);
}

static void recursion(void)
{
    struct sigaction action = { .sa_handler = raise_again, .sa_flags = SA_NODEFER };

    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
}

static volatile int depth;

static int use_up(int value)
{
    volatile char much[512];

    much[0] = (char)value;
    if (++depth == INT_MAX)
        return 0;
    return use_up(value + 1) + much[0];
}

static void use_up_the_stack(int signal)
{
    depth = use_up(signal);
}

static void alternate_overflow(void)
{
    struct sigaction action = { .sa_handler = use_up_the_stack, .sa_flags = SA_ONSTACK };
    char *memory = mmap(NULL, PAGE + STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = { .ss_sp = memory + PAGE, .ss_size = STACK_BYTES };

    mprotect(memory, PAGE, PROT_NONE);
    sigaltstack(&stack, NULL);
    sigaction(SIGSEGV, &action, NULL);
    *(volatile int *)(nowhere + 16) = 1;
}

/* Starts a thread that returns onto a stack that does not exist. */
static void thread_without_stack(void)
{
    const long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    long tid;

#if defined(__x86_64__)
    __asm__ volatile("syscall; test %%rax, %%rax; jnz 1f; push %%rax; 1:"
                     : "=a"(tid)
                     : "a"((long)SYS_clone), "D"(flags), "S"(0x10000L), "d"(0L)
                     : "rcx", "r11", "memory", "cc");
#else
    register long r0 __asm__("r0") = SYS_clone;
    register long r3 __asm__("r3") = flags;
    register long r4 __asm__("r4") = 0x10000L;
    register long r5 __asm__("r5") = 0;

    __asm__ volatile("sc; cmpdi 3, 0; bne 1f; std 3, -8(1); 1:"
                     : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5)
                     :
                     : "r6", "r7", "r8", "r9", "r10", "r11", "r12", "memory", "cr0", "ctr", "xer");
    tid = r3;
#endif
    PROMISE(tid > 0, "%ld", tid);
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } ends[] = { { "handler-faults", handler_faults },
                 { "recursion", recursion },
                 { "alternate-overflow", alternate_overflow },
                 { "thread-without-stack", thread_without_stack } };
    const char *part = argc > 1 ? argv[1] : "", *rank = getenv("TACET_RANK");

    for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (!strcmp(part, ends[i].name)) {
            ends[i].run();
            return 70;
        }
    if (!strcmp(part, "timers") && rank && strcmp(rank, "0"))
        timers_of_one_s_own();
    else if (!strcmp(part, "timers"))
        a_million_timers();
    else if (!strcmp(part, "vectors"))
        vectors_that_lie();
    else if (!strcmp(part, "paths"))
        paths(argc > 2 ? argv[2] : "/tmp");
    else if (!strcmp(part, "stacks"))
        odd_stacks();
    else
        return 98;
    return promises_kept();
}
