/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call_fuzz.c [-s SEED] [-n CALLS] [-t SECONDS] [-j THREADS] [-T FROM]: system calls at random, all numbers
 * from 0 to 511 and some beyond, with arguments that are half right: open descriptors of all kinds and closed
 * ones, existing paths, memory of all kinds (writable, read-only, without rights, unmapped, the kernel's, at
 * a page's end), lengths at borders. call_shapes.h lists the arguments of each call, suicide.h the calls that
 * must be left out.
 *
 * After each call: the result is a value or an errno, read-only memory is untouched, and no address of the
 * kernel is in the result or in memory. A thread's calls depend only on the seed, until CALLS are made or
 * SECONDS are over. With -T, each call from number FROM on is printed to standard error before it is made.
 * Every 16384 calls their number is printed: to find the last call before a crash, run with the same seed and
 * -T with the last number seen.
 *
 * On a node of two ranks only rank 1 makes the calls. Rank 0 is the witness: it fills memory with a pattern
 * and sums it up repeatedly until the other rank's CPUs have been silent for some seconds. No word may
 * change, and the counters of all CPUs may only grow, by plausible amounts.
 *
 * Linked position-independent, so that no random number points into the program by chance. No heap: brk
 * belongs to the fuzzer.
 */
#define _GNU_SOURCE
#include "call_shapes.h"
#include "clock.h"
#include "machine.h"
#include "raw_call.h"
#include "suicide.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <tacet.h>
#include <time.h>

#define PAGE         MACHINE_PAGE
#define USER_LIMIT   MACHINE_USER_LIMIT
#define THREADS_MAX  64
#define PROGRESS     16384
#define POLICY_CALLS 64   /* most calls for which a policy lasts, whatever thread has set it */
#define RENEWAL      1024 /* calls after which the ground is made again */

/* A thread's arena, at a place of its own with nothing around it: writable | writable | read-only | no rights
 * | hole | writable | hole */
enum { READ_ONLY = 2, NO_RIGHTS = 3, HOLE = 4, ISLAND = 5, ARENA_PAGES = 7 };
#define ARENA_FIRST     0x300000000000UL
#define ROOM            (1UL << 38)
#define TIMES           512 /* in the first page: times that are short or none */
#define TIMES_BYTES     256
#define NAMES           1024 /* paths, 64 bytes each */
#define NAMES_COUNT     16
#define ADDRESSES       2048 /* of sockets, 128 bytes each */
#define ADDRESSES_COUNT 4
#define MESSAGES        2560 /* four of 64 bytes each, as sendmmsg has them, and then what they point to */
#define MESSAGES_COUNT  4
#define TIMERS_MAX      128
#define MEMORY_WAIT_NS  UINT64_C(20000000000)

struct fuzzer {
    unsigned number;
    uint64_t state, arena;
    unsigned long made, skipped, succeeded;
    uint64_t heap_end;
};

static unsigned long calls_max = ~0UL, trace_from = ~0UL;
static uint64_t seed = 1, seconds = 10, end_ns;
static unsigned threads = 1;
static int descriptors[40];
static unsigned descriptor_count;
static int tids[THREADS_MAX];        /* of the threads that make calls */
static __thread struct fuzzer *self; /* for what suicide.h calls back */

static uint64_t random_number(struct fuzzer *f)
{
    f->state ^= f->state << 13, f->state ^= f->state >> 7, f->state ^= f->state << 17;
    return f->state * 0x2545f4914f6cdd1d;
}

static unsigned below(struct fuzzer *f, unsigned limit)
{
    return (unsigned)((random_number(f) >> 33) % limit);
}

#define CALL(number, ...) bare(number, (const uint64_t[6]){ __VA_ARGS__ })

/* ---- What suicide.h asks ---- */

static bool range_is_safe(uint64_t address, uint64_t bytes)
{
    uint64_t low = self->arena - ROOM / 2, high = self->arena + ROOM / 2;

    return bytes == 0 || address % PAGE || address >= USER_LIMIT || bytes > USER_LIMIT - address ||
           (address >= low && address < high && bytes <= high - address);
}

/* Returns false for times that are known to be short: the arena's, and those that the kernel cannot read. */
static bool time_is_long(uint64_t address)
{
    uint64_t offset = address - self->arena - TIMES;

    return !(offset < TIMES_BYTES && offset % 16 == 0) && address >= PAGE && address < USER_LIMIT;
}

static bool name_misleads(uint64_t address)
{
    return address == 0 && self == NULL;
}

static struct suicide_ground ground = {
    .descriptors_kept = 3,
    .signals_ignored = true,
    .range_is_safe = range_is_safe,
    .time_is_long = time_is_long,
    .period_is_long = time_is_long,
    .name_misleads = name_misleads,
};

/* ---- The ground ---- */

static void arena_page(struct fuzzer *f, unsigned page, uint64_t rights)
{
    uint64_t address = f->arena + page * PAGE, begun = now_ns();
    long result;

    /* Another thread may have all the memory for a moment. */
    while ((result = CALL(SYS_mmap, address, PAGE, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1UL, 0)) == -ENOMEM &&
           ground.threads && now_ns() - begun < MEMORY_WAIT_NS)
        CALL(SYS_nanosleep, (uint64_t) & (struct timespec){ 0, 1000 }, 0); /* it may rank lower */
    if (result != (long)address)
        _exit(70);
    memset((void *)address, 0x5a, PAGE);
    if (rights != (PROT_READ | PROT_WRITE) && CALL(SYS_mprotect, address, PAGE, rights) != 0)
        _exit(71);
}

static void arena_make(struct fuzzer *f)
{
    CALL(SYS_munmap, f->arena - ROOM / 2, ROOM);
    for (unsigned page = 0; page < ARENA_PAGES - 1; page++)
        if (page != HOLE)
            arena_page(f, page,
                       page == READ_ONLY   ? PROT_READ
                       : page == NO_RIGHTS ? PROT_NONE
                                           : PROT_READ | PROT_WRITE);
}

static const struct sockaddr_un addresses[ADDRESSES_COUNT] = {
    { AF_UNIX, "/tmp/fuzz/s" },
    { AF_UNIX, "\0fuzz" },
    { AF_INET, { 0x12, 0x34, 127, 0, 0, 1 } },
    { AF_NETLINK, "" },
};

/* Fills in the messages, each with an address, two parts in the arena, and a file's descriptor as ancillary
 * data. Not a socket's, as sockets in circles of sockets are not freed before the end. */
static void messages_fill(struct fuzzer *f)
{
    struct mmsghdr *messages = (struct mmsghdr *)(f->arena + MESSAGES);
    struct iovec *parts = (struct iovec *)(messages + MESSAGES_COUNT);
    struct cmsghdr *control = (struct cmsghdr *)(parts + 2);
    const int file = descriptors[below(f, 4)];

    for (unsigned i = 0; i < 2; i++)
        parts[i] = (struct iovec){ (void *)(f->arena + below(f, 3 * PAGE)), below(f, 200) };
    *control = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, (int)below(f, 3) };
    memcpy(CMSG_DATA(control), &file, sizeof(file));
    for (unsigned i = 0; i < MESSAGES_COUNT; i++)
        messages[i] = (struct mmsghdr){ {
                                            .msg_name = (void *)(f->arena + ADDRESSES + below(f, 4) * 128UL),
                                            .msg_namelen = below(f, 2) ? 0 : 16,
                                            .msg_iov = parts,
                                            .msg_iovlen = 1 + below(f, 2),
                                            .msg_control = control,
                                            .msg_controllen = below(f, 2) ? 0 : CMSG_SPACE(sizeof(int)),
                                        },
                                        0 };
}

/* Fills the arena before each call: times, paths, small numbers, and addresses of the arena itself, as in
 * vectors and structures. */
static void arena_fill(struct fuzzer *f)
{
    static const char names[NAMES_COUNT][40] = {
        "/tmp/fuzz",
        "/tmp/fuzz/a",
        "/tmp/fuzz/b/c",
        "/tmp/fuzz/b",
        "/dev/null",
        "/proc/self/maps",
        "/proc/self/fd/3",
        "a",
        "../fuzz/b/./c",
        "/sys/devices/system/cpu/cpu0",
        "/dev/shm/fuzz",
        "",
        "/proc/self/task",
        "/proc/thread-self",
        "/proc/thread-self/comm",
        "/proc/self/task/1002/status",
    };
    uint64_t *words = (uint64_t *)f->arena;
    struct timespec *times = (struct timespec *)(f->arena + TIMES);

    memset((void *)(f->arena + ISLAND * PAGE), 0x5a, PAGE);
    for (unsigned i = 0; i < 2 * PAGE / 8; i++)
        words[i] = 0x5a5a5a5a5a5a5a5a;
    for (unsigned i = 0; i < TIMES / 8; i++) {
        uint64_t value = random_number(f);

        words[i] = value % 4 == 0   ? f->arena + (value >> 8) % (2 * PAGE)
                   : value % 4 == 1 ? value >> 36
                                    : (value >> 8) % 64;
    }
    for (unsigned i = 0; i < TIMES_BYTES / 16; i++)
        times[i] = i % 3 == 0   ? (struct timespec){ 0, 0 }
                   : i % 3 == 1 ? (struct timespec){ 0, 900 }
                                : (struct timespec){ 0, INT64_MIN };
    for (unsigned i = 0; i < NAMES_COUNT; i++)
        memcpy((char *)(f->arena + NAMES + i * 64), names[i], sizeof(names[i]));
    for (unsigned i = 0; i < ADDRESSES_COUNT; i++)
        memcpy((char *)(f->arena + ADDRESSES + i * 128), &addresses[i], sizeof(addresses[i]));
    messages_fill(f);
    /* ends with the page; the next one is read-only */
    memcpy((char *)(f->arena + 2 * PAGE - 10), "/tmp/fuzz", 10);
}

static void descriptor_keep(long descriptor);

/* Sockets of all families: fresh ones, those with a name, a listener and a connection to it. */
static void sockets_make(void)
{
    static const int kinds[][2] = { { AF_UNIX, SOCK_STREAM },    { AF_UNIX, SOCK_DGRAM },
                                    { AF_UNIX, SOCK_SEQPACKET }, { AF_INET, SOCK_STREAM },
                                    { AF_INET, SOCK_DGRAM },     { AF_NETLINK, SOCK_RAW } };

    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        descriptor_keep(CALL(SYS_socket, (uint64_t)kinds[i][0], (uint64_t)kinds[i][1] | O_NONBLOCK, 0));
    for (unsigned i = 0; i < 3; i++) {
        uint64_t kind = i == 1 ? SOCK_DGRAM : SOCK_STREAM, family = addresses[i].sun_family;
        uint64_t bytes = family == AF_INET ? 16 : sizeof(addresses[i]);
        long listener = CALL(SYS_socket, family, kind | O_NONBLOCK, 0);
        long client = CALL(SYS_socket, family, kind | O_NONBLOCK, 0);

        CALL(SYS_bind, (uint64_t)listener, (uint64_t)&addresses[i], bytes);
        CALL(SYS_listen, (uint64_t)listener, 4);
        CALL(SYS_connect, (uint64_t)client, (uint64_t)&addresses[i], bytes);
        descriptor_keep(listener);
        descriptor_keep(client);
    }
}

static void descriptor_keep(long descriptor)
{
    if (descriptor >= 0 && descriptor_count < sizeof(descriptors) / sizeof(descriptors[0]))
        descriptors[descriptor_count++] = (int)descriptor;
}

/* Descriptors of all kinds that there are, from 3 on; files that are always there; what calls may have
 * changed of the process. */
static void ground_make(void)
{
    const struct rlimit limit = { 1024, 4096 };
    const uint64_t all = ~0UL;
    int ends[2] = { -1, -1 };

    for (uint64_t fd = 3; fd < 256; fd++)
        CALL(SYS_close, fd);
    descriptor_count = 0;
    CALL(SYS_prlimit64, 0, RLIMIT_NOFILE, (uint64_t)&limit, 0);
    CALL(SYS_chdir, (uint64_t) "/tmp");
    CALL(SYS_unlink, (uint64_t) "/tmp/fuzz/a");
    CALL(SYS_unlink, (uint64_t) "/tmp/fuzz/b/c");
    CALL(SYS_unlink, (uint64_t) "/dev/shm/fuzz");
    CALL(SYS_unlink, (uint64_t) "/tmp/fuzz/s");
    CALL(SYS_mkdir, (uint64_t) "/tmp/fuzz", 0755);
    CALL(SYS_mkdir, (uint64_t) "/tmp/fuzz/b", 0755);
    descriptor_keep(CALL(SYS_open, (uint64_t) "/tmp/fuzz/a", O_RDWR | O_CREAT, 0644));
    descriptor_keep(CALL(SYS_open, (uint64_t) "/tmp/fuzz/b/c", O_RDWR | O_CREAT | O_APPEND, 0644));
    descriptor_keep(CALL(SYS_open, (uint64_t) "/", O_RDONLY | O_DIRECTORY));
    descriptor_keep(CALL(SYS_open, (uint64_t) "/tmp/fuzz", O_RDONLY | O_DIRECTORY));
    descriptor_keep(CALL(SYS_open, (uint64_t) "/tmp/fuzz", O_PATH));
    descriptor_keep(CALL(SYS_open, (uint64_t) "/dev/zero", O_RDWR));
    descriptor_keep(CALL(SYS_open, (uint64_t) "/dev/null", O_RDWR));
    descriptor_keep(CALL(SYS_open, (uint64_t) "/proc/self/maps", O_RDONLY));
    if (CALL(SYS_pipe2, (uint64_t)ends, O_NONBLOCK) == 0) {
        descriptor_keep(ends[0]);
        descriptor_keep(ends[1]);
    }
    descriptor_keep(CALL(SYS_open, (uint64_t) "/proc/self/task", O_RDONLY));
    descriptor_keep(CALL(SYS_open, (uint64_t) "/proc/thread-self", O_RDONLY));
    descriptor_keep(CALL(SYS_open, (uint64_t) "/proc/thread-self/comm", O_RDWR));
    if (CALL(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, (uint64_t)ends) == 0) {
        descriptor_keep(ends[0]);
        descriptor_keep(ends[1]);
    }
    descriptor_keep(CALL(SYS_eventfd2, 5, O_NONBLOCK));
    descriptor_keep(CALL(SYS_epoll_create1, 0));
    descriptor_keep(CALL(SYS_timerfd_create, CLOCK_MONOTONIC, O_NONBLOCK));
    descriptor_keep(CALL(SYS_memfd_create, (uint64_t) "fuzz", MFD_ALLOW_SEALING));
    long queue = CALL(SYS_inotify_init1, O_NONBLOCK);
    descriptor_keep(queue);
    CALL(SYS_inotify_add_watch, (uint64_t)queue, (uint64_t) "/tmp/fuzz", 0xfff);
    descriptor_keep(CALL(434, (uint64_t)CALL(SYS_getpid), 0)); /* pidfd_open */
    descriptor_keep(CALL(SYS_signalfd4, -1UL, (uint64_t)&all, 8, O_NONBLOCK));
    sockets_make();
    CALL(SYS_umask, 022);
}

/* Ignores and blocks signals, so that none from outside, or requested by accident, ends the program. */
static void signals_ignore(void)
{
    const uint64_t all = ~0UL, ignore[4] = { (uint64_t)SIG_IGN, 0, 0, 0 };

    CALL(SYS_rt_sigprocmask, SIG_SETMASK, (uint64_t)&all, 0, 8);
    for (uint64_t number = 1; number <= 64; number++)
        CALL(SYS_rt_sigaction, number, (uint64_t)ignore, 0, 8);
}

/* ---- Arguments ---- */

static uint64_t memory_choose(struct fuzzer *f)
{
    // clang-format off
    static const uint64_t foreign[] = {
        0, 8, PAGE - 1, NOT_THERE, KERNEL_ADDRESSES, USER_LIMIT - 8, USER_LIMIT, USER_LIMIT + PAGE - 8,
        ADDRESS_HOLE, 0x8000000000000000, -8UL, -PAGE, -1UL,
    };
    static const unsigned borders[] = {
        0, 1, 8, 64, 256, TIMES, NAMES, 2048, PAGE - 1, PAGE, 2 * PAGE - 8, 2 * PAGE - 1, 2 * PAGE - 16,
        2 * PAGE, 3 * PAGE - 4, 3 * PAGE, 4 * PAGE, 5 * PAGE, 6 * PAGE - 8, 6 * PAGE - 1,
    };
    // clang-format on

    switch (below(f, 8)) {
    case 0:
        return foreign[below(f, sizeof(foreign) / sizeof(foreign[0]))];
    case 1:
    case 2:
        return f->arena + borders[below(f, sizeof(borders) / sizeof(borders[0]))];
    case 3:
        return f->arena + below(f, ARENA_PAGES * PAGE);
    default:
        return f->arena + below(f, 256) * 8;
    }
}

static uint64_t number_choose(struct fuzzer *f)
{
    static const uint64_t borders[] = { 0,          1,          2,         3,         7,         8,
                                        15,         16,         63,        64,        128,       4095,
                                        PAGE,       PAGE + 1,   2 * PAGE,  65536,     1 << 20,   0x7fffffff,
                                        0x80000000, 0xffffffff, 1UL << 32, 1UL << 40, 1UL << 47, INT64_MAX,
                                        1UL << 63,  -1UL,       -2UL,      -PAGE };

    return below(f, 4) ? borders[below(f, sizeof(borders) / sizeof(borders[0]))]
                       : random_number(f) >> below(f, 64);
}

static uint64_t argument_choose(struct fuzzer *f, char kind)
{
    switch (below(f, 8) ? kind : 0) {
    case 'd':
        return descriptor_count && below(f, 8) ? (uint64_t)descriptors[below(f, descriptor_count)]
               : below(f, 3)                   ? (uint64_t)(int)AT_FDCWD
                                               : below(f, 70) - 2UL;
    case 'p':
        return memory_choose(f);
    case 's':
        return below(f, 8) ? f->arena + NAMES + below(f, NAMES_COUNT) * 64 : memory_choose(f);
    case 't':
        return below(f, 6) ? f->arena + TIMES + below(f, TIMES_BYTES / 16) * 16 : memory_choose(f);
    case 'm':
        return f->arena + (uint64_t)below(f, 16) * PAGE - (below(f, 8) ? 0 : 8 * PAGE);
    case 'n':
        return below(f, 4) ? below(f, 3 * PAGE) : number_choose(f);
    case 'g':
        return below(f, 2)   ? 1UL << below(f, 32) | (below(f, 2) ? 1UL << below(f, 22) : 0)
               : below(f, 4) ? below(f, 64)
                             : number_choose(f);
    case 'o':
        return below(f, 2) ? below(f, 20000) : number_choose(f);
    case 'z':
        return below(f, 70);
    case 'c':
        return below(f, 2)
                   ? below(f, 14) - 1UL
                   : ~(below(f, 2) ? (uint64_t)tids[below(f, threads)] : below(f, 3000)) << 3 | below(f, 8);
    case 'k':
        return (below(f, 9) - 1UL) | (below(f, 4) ? 0 : 0x40000000);
    case 'y':
        return below(f, 4) ? (uint64_t)tids[below(f, threads)] : below(f, 3) ? 0 : number_choose(f);
    case 'a':
        return f->arena + ADDRESSES + below(f, ADDRESSES_COUNT) * 128UL;
    case 'b':
        return (uint64_t[]){ 2, 4, 8, 16, 16, 110, 111, 128 }[below(f, 8)];
    case 'h':
        return f->arena + MESSAGES + below(f, MESSAGES_COUNT) * sizeof(struct mmsghdr);
    case 'f':
        return (uint64_t[]){ AF_UNIX, AF_UNIX, AF_INET, AF_NETLINK }[below(f, 4)];
    case 'j':
        return (1 + below(f, 5)) | O_NONBLOCK | (below(f, 2) ? O_CLOEXEC : 0);
    case 'l':
        return below(f, 4) ? 0 : below(f, 24);
    case 'v':
        return below(f, 4) ? SOL_SOCKET : below(f, 24);
    case 'i':
        return below(f, 4) ? below(f, 24) : number_choose(f);
    default:
        return below(f, 2) ? memory_choose(f) : number_choose(f);
    }
}

static long number_of_call(struct fuzzer *f)
{
    static const long beyond[] = { 512, 548, 1024, 1L << 31, 1L << 32, (1L << 32) + 1, -1, -38, INT64_MIN };

    if (below(f, 64) == 0)
        return beyond[below(f, sizeof(beyond) / sizeof(beyond[0]))];
    for (;;) {
        unsigned number = below(f, 512);

        /* Prefers calls with a shape, as the others do little. */
        if (call_shape(number) || below(f, 8) == 0)
            return number;
    }
}

/* ---- One call, and what must hold after it ---- */

static __attribute__((noreturn)) void fail(const struct fuzzer *f, long number, const uint64_t *a,
                                           long result, const char *what)
{
    char line[256];

    snprintf(line, sizeof(line),
             "call_fuzz: seed %lu, thread %u, call %lu: %ld(%#lx, %#lx, %#lx, %#lx, %#lx, %#lx) = %#lx: %s\n",
             seed, f->number, f->made, number, a[0], a[1], a[2], a[3], a[4], a[5], result, what);
    CALL(SYS_write, 2, (uint64_t)line, strlen(line));
    _exit(1);
}

/* Returns whether the page holds an address of the kernel, which this program itself never writes. */
static bool leaks(uint64_t page)
{
    const uint32_t *halves = (const uint32_t *)page;

    /* Structures of the ABI are aligned to four bytes at least. */
    for (unsigned i = 1; i < PAGE / 4; i++)
        if (halves[i] >> 24 == MACHINE_KERNELS_FIRST &&
            MACHINE_IS_KERNELS((uint64_t)halves[i] << 32 | halves[i - 1]))
            return true;
    return false;
}

static bool read_only_is_touched(const struct fuzzer *f)
{
    const uint64_t *words = (const uint64_t *)(f->arena + READ_ONLY * PAGE);

    for (unsigned i = 0; i < PAGE / 8; i++)
        if (words[i] != 0x5a5a5a5a5a5a5a5a)
            return true;
    return false;
}

static bool changes_memory(long number)
{
    return number == SYS_munmap || number == SYS_mprotect || number == SYS_madvise || number == SYS_mremap ||
           number == SYS_mmap || number == SYS_pkey_mprotect || number == SYS_remap_file_pages;
}

/* Returns whether the call may rightly write bytes that look like such an address: random bytes, the
 * program's own word, or -1 for no limit after other bytes. */
static bool may_hold_anything(long number)
{
    return number == SYS_getrandom || number == SYS_get_robust_list || number == MACHINE_GETRLIMIT ||
           number == SYS_prlimit64;
}

static void memory_put_back(struct fuzzer *f, long number, const uint64_t *a, long result)
{
    if ((number == SYS_mmap || number == SYS_mremap) && (result >= 0 || result < -4095) &&
        !range_is_safe((uint64_t)result, 1))
        CALL(SYS_munmap, (uint64_t)result, number == SYS_mmap ? a[1] : a[2]);
    arena_make(f);
}

static void call_make(struct fuzzer *f, long number, const uint64_t *a)
{
    const uint64_t all = ~0UL, ignore[4] = { (uint64_t)SIG_IGN, 0, 0, 0 };
    uint64_t thread_pointer = 0;
    long result;

    arena_fill(f);
    if (f->made % POLICY_CALLS == 0)
        CALL(SYS_sched_setscheduler, 0, SCHED_OTHER, (uint64_t) & (int){ 0 });
    if (f->made >= trace_from)
        fprintf(stderr, "%u:%lu %ld(%#lx, %#lx, %#lx, %#lx, %#lx, %#lx)\n", f->number, f->made, number, a[0],
                a[1], a[2], a[3], a[4], a[5]);
    if (number == MACHINE_THREAD_CALL)
        CALL(MACHINE_THREAD_CALL, 0x1003, (uint64_t)&thread_pointer);
    result = bare(number, a);
    if (number == MACHINE_THREAD_CALL)
        CALL(MACHINE_THREAD_CALL, 0x1002, thread_pointer);
    if (number == SYS_rt_sigprocmask)
        CALL(SYS_rt_sigprocmask, SIG_SETMASK, (uint64_t)&all, 0, 8);
    if (number == SYS_rt_sigaction)
        CALL(SYS_rt_sigaction, a[0], (uint64_t)ignore, 0, 8);
    if (number == SYS_timer_create && a[1] != 0) /* its signal may be SIGSTOP or SIGKILL */
        for (uint64_t timer = 0; timer < TIMERS_MAX; timer++)
            CALL(SYS_timer_delete, timer);
    if (number == SYS_brk)
        CALL(SYS_brk, f->heap_end);
    if (changes_memory(number))
        memory_put_back(f, number, a, result);
    f->made++;
    f->succeeded += result >= 0;

    if (result < -4095 ||
        (result >= 0 && (uint64_t)result > USER_LIMIT && number != SYS_lseek && number != SYS_write))
        fail(f, number, a, result, "the result is neither a value nor an errno");
    if (read_only_is_touched(f))
        fail(f, number, a, result, "a read-only page was written");
    if (!may_hold_anything(number) &&
        (leaks(f->arena) || leaks(f->arena + PAGE) || leaks(f->arena + ISLAND * PAGE)))
        fail(f, number, a, result, "an address of the kernel came out");
}

static void *fuzz(void *fuzzer)
{
    struct fuzzer *f = fuzzer;

    self = f;
    tids[f->number] = (int)CALL(SYS_gettid);
    f->arena = ARENA_FIRST + f->number * ROOM;
    f->state = (seed + f->number * 1000003) * 0x9e3779b97f4a7c15 + 1;
    arena_make(f);
    while (f->made + f->skipped < calls_max) {
        long number = number_of_call(f);
        const char *shape = call_shape(number);
        uint64_t a[6];

        for (unsigned i = 0, known = shape ? (unsigned)strlen(shape) : 0; i < 6; i++)
            a[i] = argument_choose(f, i < known ? shape[i] : 0);
        if (is_suicide(number, a, &ground))
            f->skipped++;
        else
            call_make(f, number, a);
        if ((f->made + f->skipped) % RENEWAL == 0) {
            if (f->number == 0)
                ground_make();
            if (now_ns() >= end_ns)
                break;
        }
        if ((f->made + f->skipped) % PROGRESS == 0)
            fprintf(stderr, "%u:%lu\n", f->number, f->made);
    }
    return NULL;
}

/* ---- The witness ---- */

#define WITNESS_WORDS (1 << 20) /* 8 MiB */
#define SILENCE_S     3

static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return value ^ value >> 31;
}

/* Checks the counters; returns the number of system calls of all CPUs, ~0 if a counter is implausible. */
static uint64_t counters_look(uint64_t *last)
{
    const struct tacet_node *node = tacet_node();
    uint64_t sum = 0;

    for (uint32_t cpu = 0; node && cpu < node->cpu_count; cpu++) {
        const volatile struct tacet_counters *counters = tacet_counters(cpu);
        uint64_t entries = tacet_kernel_entries(cpu);

        if (counters->cpu != cpu || entries < last[cpu] || entries - last[cpu] > UINT64_C(1000000000)) {
            fprintf(stderr, "call_fuzz: CPU %u says that it is %u, and that %lu entries follow %lu\n", cpu,
                    counters->cpu, entries, last[cpu]);
            return ~0UL;
        }
        last[cpu] = entries;
        sum += entries;
    }
    return sum;
}

/* Checks its memory as long as the other rank makes calls. Returns 0, or the status to end with. */
static int witness(void)
{
    static uint64_t words[WITNESS_WORDS], last[TACET_INTERRUPTS];
    const uint64_t ignore[4] = { (uint64_t)SIG_IGN, 0, 0, 0 };
    const uint64_t second = tacet_node() ? tacet_node()->clock_hz : 1000000000;
    uint64_t entries = counters_look(last), begun = machine_ticks(), changed = begun;
    unsigned long rounds = 0;

    for (int signal = 1; signal <= 64; signal++) /* the other rank may send them */
        CALL(SYS_rt_sigaction, signal, (uint64_t)ignore, 0, 8);
    for (uint64_t i = 0; i < WITNESS_WORDS; i++)
        words[i] = mix(i);
    while (machine_ticks() - changed < SILENCE_S * second || rounds < 2) {
        uint64_t seen = counters_look(last);

        if (seen == ~0UL) {
            fprintf(stderr, "call_fuzz: the counters of a CPU make no sense\n");
            return 3;
        }
        if (seen - entries > 100) { /* this rank itself makes none */
            changed = machine_ticks();
            entries = seen;
        }
        for (uint64_t i = 0; i < WITNESS_WORDS; i++)
            if (words[i] != mix(i)) {
                fprintf(stderr, "call_fuzz: word %lu of another rank was changed to %#lx\n", i, words[i]);
                return 2;
            }
        rounds++;
    }
    printf("witness: %lu rounds in %lu s, nothing changed\n", rounds, (machine_ticks() - begun) / second);
    return 0;
}

static int usage(void)
{
    fprintf(stderr,
            "usage: call_fuzz [-s SEED] [-n CALLS] [-t SECONDS] [-j THREADS (1-%d)] [-T TRACE-FROM]\n",
            THREADS_MAX);
    return 64;
}

int main(int count, char **arguments)
{
    static struct fuzzer fuzzers[THREADS_MAX];
    pthread_t handles[THREADS_MAX];
    unsigned long made = 0, skipped = 0, succeeded = 0;
    const char *rank = getenv("TACET_RANK");

    for (int option; (option = getopt(count, arguments, "s:n:t:j:T:")) != -1;) {
        uint64_t value = optarg ? strtoull(optarg, NULL, 0) : 0;

        switch (option) {
        case 's':
            seed = value;
            break;
        case 'n':
            calls_max = value;
            break;
        case 't':
            seconds = value;
            break;
        case 'j':
            threads = (unsigned)value;
            break;
        case 'T':
            trace_from = value;
            break;
        default:
            return usage();
        }
    }
    if (threads < 1 || threads > THREADS_MAX || optind != count)
        return usage();
    if (rank && atoi(rank) == 0 && getenv("TACET_SIZE") && atoi(getenv("TACET_SIZE")) > 1)
        return witness();

    fprintf(stderr, "call_fuzz: seed %lu\n", seed);
    ground.threads = threads > 1;
    end_ns = now_ns() + seconds * 1000000000;
    signals_ignore();
    ground_make();
    for (unsigned i = 0; i < threads; i++) {
        fuzzers[i].number = i;
        fuzzers[i].heap_end = (uint64_t)CALL(SYS_brk, 0);
        if (i > 0 && pthread_create(&handles[i], NULL, fuzz, &fuzzers[i]) != 0) {
            fprintf(stderr, "call_fuzz: thread %u cannot be started\n", i);
            return 73;
        }
    }
    fuzz(&fuzzers[0]);
    for (unsigned i = 0; i < threads; i++) {
        if (i > 0)
            pthread_join(handles[i], NULL);
        made += fuzzers[i].made, skipped += fuzzers[i].skipped, succeeded += fuzzers[i].succeeded;
    }
    printf("calls: %lu, of them %lu succeeded; left out: %lu\n", made, succeeded, skipped);
    return 0;
}
