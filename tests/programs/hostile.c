/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hostile.c [-s SEED] [-n CALLS] [-p SHARE] [-j THREADS] [-T FROM]: every system call of syscalls.def, and
 * numbers beyond, with arguments that no honest program passes: addresses that are the kernel's, unmapped,
 * not canonical, read-only, without rights, or at a page's last byte; lengths of zero and of everything.
 * First each value in each argument's place (or one in SHARE of these, picked by the seed), then CALLS random
 * combinations. A thread's calls depend only on the command line. With -T, each call from number FROM on is
 * printed to standard error before it is made.
 *
 * With -j, THREADS threads make such calls. Each has its own arena; they share descriptors, files and the
 * address space. One more thread changes the arenas' vectors all the time, so that a call that reads an
 * argument twice finds different values. Signals are ignored then, and calls that would block are left out
 * (suicide.h).
 *
 * After each call: the result is a value or an errno of Linux's range; memory that the call was not given is
 * untouched; no address of the kernel is in memory that it was given. Calls are left out whose right result
 * would end this program (exit, munmap of its code) or would be a long wait; by their arguments and not by
 * name if possible. suicide.h must be kept in step with syscalls.def.
 */
#define _GNU_SOURCE
#include "machine.h"
#include "raw_call.h"
#include "suicide.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

#define PAGE       MACHINE_PAGE
#define USER_LIMIT MACHINE_USER_LIMIT

struct call {
    const char *name;
    long number;
};

static const struct call calls[] = {
#define LOCAL(name, x86_64, ppc64, arguments, limits)     { #name, MACHINE_NUMBER(x86_64, ppc64) },
#define STUB(name, x86_64, ppc64, arguments, reason)      { #name, MACHINE_NUMBER(x86_64, ppc64) },
#define CONST(name, x86_64, ppc64, value, reason)         { #name, MACHINE_NUMBER(x86_64, ppc64) },
#define ALIAS(name, x86_64, ppc64, of, arguments, limits) { #name, MACHINE_NUMBER(x86_64, ppc64) },
#define REFUSED(name, x86_64, ppc64, reason)              { #name, MACHINE_NUMBER(x86_64, ppc64) },
#include "kernel/syscall/syscalls.def"
    { "335", 335 },          { "404", 404 },          { "511", 511 }, { "512", 512 },
    { "1 << 31", 1L << 31 }, { "1 << 32", 1L << 32 }, { "-1", -1 },   { "lowest", INT64_MIN },
};

#define CALLS (sizeof(calls) / sizeof(calls[0]))

/* A thread's arena, at a place of its own with nothing around it:
 * writable | writable | read-only | no rights | hole | writable | hole */
enum { WRITABLE = 0, READ_ONLY = 2, NO_RIGHTS = 3, ISLAND = 5, ARENA_PAGES = 7 };
#define ARENA_FIRST    0x300000000000UL
#define ARENA_DISTANCE (4UL << 40)
#define AT(page)       (arena + (page)*PAGE)
/* In the first page: a time that is over at once, and parts of a vector. Half of either, read as a time,
 * would be long. */
#define INSTANT     768
#define PARTS       1024
#define PARTS_BYTES (PARTS_COUNT * sizeof(struct iovec))
#define PARTS_COUNT 16
#define ROOM_BELOW  (1UL << 30)
#define ROOM_ABOVE  (1UL << 40)
#define THREADS_MAX 8

static unsigned long seed = 1, calls_random = 10000, share = 1, threads = 1, trace_from = ~0UL;
static uint64_t canary[512];
static int file, directory, zero, null;
static volatile bool done;

/* Each thread's. */
static __thread uint64_t arena, state, hostile[64];
static __thread unsigned hostile_count, parts_count; /* a vector takes the first parts_count of them */
static __thread unsigned long made, skipped, succeeded;

static uint64_t random_number(void)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

static void arena_page(unsigned page, int rights)
{
    const uint64_t arguments[6] = {
        AT(page), PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1UL, 0
    };

    long result;

    while ((result = bare(SYS_mmap, arguments)) == -ENOMEM && threads > 1)
        sched_yield(); /* another thread may just have all the memory, and gives it back at once */
    if (result != (long)AT(page))
        _exit(70);
    memset((void *)AT(page), 0x5a, PAGE);
    if (rights != (PROT_READ | PROT_WRITE) && bare_call(SYS_mprotect, AT(page), PAGE, (uint64_t)rights))
        _exit(71);
}

static void arena_make(void)
{
    bare_call(SYS_munmap, arena - ROOM_BELOW, ROOM_BELOW + ROOM_ABOVE, 0);
    arena_page(WRITABLE, PROT_READ | PROT_WRITE);
    arena_page(WRITABLE + 1, PROT_READ | PROT_WRITE);
    arena_page(READ_ONLY, PROT_READ);
    arena_page(NO_RIGHTS, PROT_NONE);
    arena_page(ISLAND, PROT_READ | PROT_WRITE);
}

/* Fills the writable pages before each call: a path, numbers, an array of parts with bad addresses. */
static void arena_fill(void)
{
    struct iovec *parts = (struct iovec *)(AT(WRITABLE) + PARTS);

    memset((void *)AT(WRITABLE), 0x5a, 2 * PAGE);
    memset((void *)AT(ISLAND), 0x5a, PAGE);
    strcpy((char *)AT(WRITABLE), "/proc/self/exe");
    strcpy((char *)AT(WRITABLE) + 512, "a/../b/./c");
    *(struct timespec *)(AT(WRITABLE) + INSTANT) = (struct timespec){ 0, 0 };
    for (unsigned i = 0; i < PARTS_COUNT; i++)
        parts[i] = (struct iovec){ (void *)hostile[(i * 5 + made) % parts_count],
                                   hostile[(i * 3 + made) % parts_count] };
    strcpy((char *)AT(WRITABLE + 1) + PAGE - 5, "/dev"); /* ends with the page; the next one is read-only */
    memset((void *)(AT(ISLAND) + PAGE - 8), 'x', 8);     /* a string without an end before the hole */
}

/* Chooses the values. First come those that never look like an address of the kernel, whatever bytes are
 * around them: a thread may read what another has written through its vector. */
static void values_choose(void)
{
    // clang-format off
    const uint64_t inside[] = {
        AT(WRITABLE), AT(WRITABLE) + 1, AT(WRITABLE) + INSTANT, AT(WRITABLE) + PARTS, AT(WRITABLE + 2) - 1,
        AT(WRITABLE + 2) - 5, AT(WRITABLE + 2) - 8, AT(READ_ONLY), AT(READ_ONLY) + 4, AT(NO_RIGHTS) - 1,
        AT(NO_RIGHTS), AT(NO_RIGHTS) + 8, AT(4), AT(ISLAND) - 4, AT(ISLAND), AT(ISLAND + 1) - 1,
        AT(ISLAND + 1) - 8, AT(6),
        0, 1, 2, 8, 64, 4095, PAGE, 1UL << 40, 1UL << 46, NOT_THERE, 1000000000,
    };
    static const uint64_t outside[] = {
        0xffff, 0xfff, 0x7fffffff, 1UL << 31, 0xffffffffUL, 1UL << 32, 1UL << 47, 1UL << 63, -1UL, -2UL, -8UL,
        (uint64_t)INT64_MAX,
        /* the kernel's, the last bytes below the hole and of everything */
        KERNEL_ADDRESSES, USER_LIMIT - 1, USER_LIMIT, USER_LIMIT + 1, ADDRESS_HOLE, 0x1234567812345678, -PAGE,
        /* descriptors' special numbers */
        (uint64_t)AT_FDCWD, 0xffffff9c,
    };
    // clang-format on

    memcpy(hostile, inside, sizeof(inside));
    memcpy(hostile + sizeof(inside) / 8, outside, sizeof(outside));
    hostile_count = sizeof(inside) / 8 + sizeof(outside) / 8;
    parts_count = threads > 1 ? sizeof(inside) / 8 : hostile_count;
}

static bool inside_room(uint64_t address, uint64_t bytes)
{
    return address >= arena - ROOM_BELOW && bytes <= ROOM_BELOW + ROOM_ABOVE &&
           address + bytes <= arena + ROOM_ABOVE;
}

/* Returns whether a range is the arena's, or one that the kernel must refuse for every call. */
static bool range_is_safe(uint64_t address, uint64_t bytes)
{
    return bytes == 0 || address % PAGE || address >= USER_LIMIT || bytes > USER_LIMIT - address ||
           inside_room(address, bytes);
}

static bool near_parts(uint64_t address)
{
    return address > AT(WRITABLE) + PARTS - 16 && address < AT(WRITABLE) + PARTS + PARTS_BYTES;
}

/* Returns whether an address is in this program's text and data, whose bytes could be any time. */
static bool in_program(uint64_t address)
{
    extern const char __executable_start[], _end[]; /* the linker's */

    return address + sizeof(struct timespec) > (uint64_t)__executable_start && address < (uint64_t)_end;
}

/* Returns whether a long time could be at an address; the arena's filling is no valid time. */
static bool is_long(uint64_t address)
{
    return near_parts(address) || in_program(address) ||
           (address != AT(WRITABLE) + INSTANT && address > AT(WRITABLE) + INSTANT - 16 &&
            address < AT(WRITABLE) + INSTANT + 16);
}

/* Returns it for a time in microseconds, which have no limit: there the filling is a long time. */
static bool period_is_long(uint64_t address)
{
    return address != AT(WRITABLE) + INSTANT && address < USER_LIMIT;
}

/* The information for suicide.h; the descriptors are added when they are open. A name made of kernel
 * addresses would look like a leak when it is read back. */
static __thread struct suicide_ground ground = {
    .range_is_safe = range_is_safe,
    .time_is_long = is_long,
    .period_is_long = period_is_long,
    .name_misleads = near_parts,
};

static int changes_memory(long number)
{
    return number == SYS_munmap || number == SYS_mprotect || number == SYS_madvise || number == SYS_mremap ||
           number == SYS_mmap;
}

static int is_random(long number, const uint64_t *a)
{
    return number == SYS_getrandom || ((number == SYS_read || number == SYS_readv || number == SYS_pread64 ||
                                        number == SYS_preadv || number == SYS_preadv2) &&
                                       (uint32_t)a[0] > 2);
}

static int opens(long number)
{
    static const long numbers[] = { SYS_open,          SYS_openat,      SYS_creat,    SYS_dup,
                                    SYS_dup2,          SYS_dup3,        SYS_fcntl,    SYS_pipe,
                                    SYS_pipe2,         SYS_eventfd,     SYS_eventfd2, SYS_epoll_create,
                                    SYS_epoll_create1, SYS_memfd_create };

    for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (number == numbers[i])
            return 1;
    return 0;
}

static __attribute__((noreturn)) void fail(const struct call *call, const uint64_t *a, long result,
                                           const char *what)
{
    fprintf(stderr, "hostile: call %lu: %s(%#lx, %#lx, %#lx, %#lx, %#lx, %#lx) = %ld: %s\n", made, call->name,
            a[0], a[1], a[2], a[3], a[4], a[5], result, what);
    _exit(1);
}

/* Returns whether a value is an address of the kernel's image, direct map or device window. Leaves out some
 * of the device window: its first looks like zeroes before ones (no limit), others like INSTANT's zeroes
 * after the arena's filling. */
static int is_kernel_address(uint64_t value)
{
    if (value == 0xffffff000000005a || value == 0xffffff0000005a5a)
        return 0;
    return MACHINE_IS_KERNELS(value) || (value > KERNEL_DEVICES && value < KERNEL_DEVICES + 0x200000);
}

/* Returns whether one of a word's bytes is the first byte of every kernel address. */
static int has_first(uint64_t word)
{
    const uint64_t ones = 0x0101010101010101UL, odd = word ^ ones * MACHINE_KERNELS_FIRST;

    return ((odd - ones) & ~odd & ones << 7) != 0;
}

/* Looks at every place at which such an address may be (MACHINE_LEAK_STEP). Values of the hostile list that
 * this program itself put there are known by their place. */
static int leaks(uint64_t page)
{
    const uint64_t *words = (const uint64_t *)page;

    for (unsigned w = 0; w < PAGE / 8; w++) {
        if (!has_first(words[w]) ||
            (page == AT(WRITABLE) && w * 8 + 8 > PARTS && w * 8 < PARTS + PARTS_BYTES))
            continue;
        for (unsigned i = w ? w * 8 - 8 + MACHINE_LEAK_STEP : 0; i <= w * 8 + 7 && i + 8 <= PAGE;
             i += MACHINE_LEAK_STEP) {
            uint64_t value;

            memcpy(&value, (const char *)page + i, 8);
            if (is_kernel_address(value) &&
                !(page == AT(WRITABLE) && i + 8 > PARTS && i < PARTS + PARTS_BYTES))
                return 1;
        }
    }
    return 0;
}

static int is_filled_with(uint64_t page, uint8_t byte)
{
    const uint64_t *words = (const uint64_t *)page, expected = byte * 0x0101010101010101UL;

    for (unsigned i = 0; i < PAGE / 8; i++)
        if (words[i] != expected)
            return 0;
    return 1;
}

static void try(const struct call *call, const uint64_t *a)
{
    static const uint64_t usual_action[4]; /* as the kernel has it: the default, no flags, nothing blocked */
    uint64_t thread_pointer = 0;
    long result;

    ground.words = made % 64 == 0;
    if (is_suicide(call->number, a, &ground)) {
        skipped++;
        return;
    }
    arena_fill();
    if (made >= trace_from)
        fprintf(stderr, "%lu %s(%#lx, %#lx, %#lx, %#lx, %#lx, %#lx)\n", made, call->name, a[0], a[1], a[2],
                a[3], a[4], a[5]);
    if (call->number == MACHINE_THREAD_CALL)
        bare_call(MACHINE_THREAD_CALL, 0x1003, (uint64_t)&thread_pointer, 0);
    result = bare(call->number, a);
    if (call->number == MACHINE_THREAD_CALL)
        bare_call(MACHINE_THREAD_CALL, 0x1002, thread_pointer, 0);
    if (call->number == SYS_rt_sigaction && result == 0) /* or a later one returned the handler of this one */
        bare(SYS_rt_sigaction, (const uint64_t[6]){ a[0], (uint64_t)usual_action, 0, 8 });
    made++;
    succeeded += result >= 0;

    if (result < -4095 || (result >= 0 && (uint64_t)result > USER_LIMIT && call->number != SYS_lseek &&
                           call->number != SYS_write))
        fail(call, a, result, "the result is neither a value nor an errno");
    for (unsigned i = 0; i < sizeof(canary) / 8; i++)
        if (canary[i] != i * 0x9e3779b97f4a7c15)
            fail(call, a, result, "memory was overwritten that the call was not given");
    if (changes_memory(call->number)) {
        if (result >= 0 && (call->number == SYS_mmap || call->number == SYS_mremap) &&
            !inside_room((uint64_t)result, 0))
            bare_call(SYS_munmap, (uint64_t)result, call->number == SYS_mmap ? a[1] : a[2], 0);
        arena_make();
        return;
    }
    if (!is_filled_with(AT(READ_ONLY), 0x5a))
        fail(call, a, result, "a read-only page was written");
    if (!is_random(call->number, a) && (leaks(AT(WRITABLE)) || leaks(AT(WRITABLE + 1)) || leaks(AT(ISLAND))))
        fail(call, a, result, "an address of the kernel came out");
    /* Descriptors that a call has opened are closed, or the table is full soon; what was opened on purpose
     * stays. */
    if (opens(call->number))
        bare_call(SYS_close_range, (uint64_t)null + 1, ~0U, 0);
}

/* Arguments that let a call come far, so that the one hostile argument is looked at last. */
static void honest_arguments(unsigned variant, uint64_t *a)
{
    const uint64_t variants[][6] = {
        { 0, 0, 0, 0, 0, 0 },
        { (uint64_t)file, AT(WRITABLE + 1), 64, 8, AT(WRITABLE + 1), 0 },
        { AT(WRITABLE), AT(WRITABLE + 1), 64, 8, AT(WRITABLE + 1), 0 },
        { (uint64_t)AT_FDCWD, AT(WRITABLE), 0, 0, AT(WRITABLE + 1), 0 },
        { (uint64_t)AT_FDCWD, AT(WRITABLE), AT(WRITABLE + 1), 0x1000, AT(WRITABLE + 1), 0 },
        { (uint64_t)directory, AT(WRITABLE + 1), 1024, 0, 0, 0 },
        { (uint64_t)zero, AT(WRITABLE) + PARTS, 16, 0, 0, 0 },
        { (uint64_t)null, AT(WRITABLE) + PARTS, 16, 0, 0, 0 },
        { 1, AT(WRITABLE + 1), AT(WRITABLE + 1) + 64, 8, 0, 0 },
        { 0, 8, AT(WRITABLE + 1), AT(WRITABLE + 1) + 64, 0, 0 },
        { AT(WRITABLE), PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1UL, 0 },
        { AT(WRITABLE), 2 * PAGE, 8 * PAGE, MREMAP_MAYMOVE, 0, 0 },
        { 0, PAGE, PROT_READ, MAP_PRIVATE, (uint64_t)file, 0 },
        { 0x1003, AT(WRITABLE + 1), 0, 0, 0, 0 },
        { AT(WRITABLE), 0, 0x5a5a5a5a, 0, 0, 0 },
        { 15, AT(WRITABLE), 0, 0, 0, 0 },
        { 16, AT(WRITABLE + 1), 0, 0, 0, 0 },
        { AT(WRITABLE) + INSTANT, AT(WRITABLE + 1), 0, 0, 0, 0 },
        { 1, 0, AT(WRITABLE) + INSTANT, AT(WRITABLE + 1), 0, 0 },
        { AT(WRITABLE + 1), 4, AT(WRITABLE) + INSTANT, 0, 8, 0 },
    };

    memcpy(a, variants[variant % (sizeof(variants) / sizeof(variants[0]))], sizeof(variants[0]));
}

#define HONEST_VARIANTS 20

/* Tries each hostile value in each place, or one in `share` of them. */
static void sweep(void)
{
    uint64_t a[6];

    for (unsigned c = 0; c < CALLS; c++)
        for (unsigned variant = 0; variant < HONEST_VARIANTS; variant++) {
            honest_arguments(variant, a);
            try(&calls[c], a);
            for (unsigned position = 0; position < 6; position++)
                for (unsigned v = 0; v < hostile_count; v++) {
                    if (share > 1 && random_number() % share)
                        continue;
                    honest_arguments(variant, a);
                    a[position] = hostile[v];
                    try(&calls[c], a);
                }
        }
}

static void random_calls(void)
{
    uint64_t a[6];

    for (unsigned long i = 0; i < calls_random; i++) {
        const struct call *call = &calls[random_number() % CALLS];

        honest_arguments((unsigned)(random_number() % HONEST_VARIANTS), a);
        for (unsigned position = 0; position < 6; position++) {
            switch (random_number() % 5) {
            case 0:
                a[position] = hostile[random_number() % hostile_count];
                break;
            case 1:
                a[position] = random_number() >> random_number() % 64;
                break;
            case 2:
                a[position] = hostile[random_number() % hostile_count] + random_number() % 33 - 16;
                break;
            default:
                break;
            }
        }
        try(call, a);
    }
}

/* ---- Threads ---- */

static struct totals {
    unsigned long made, skipped, succeeded;
} totals;
static pthread_mutex_t totals_lock = PTHREAD_MUTEX_INITIALIZER;

/* Makes one thread's calls. */
static void *run(void *number)
{
    arena = ARENA_FIRST + (uint64_t)number * ARENA_DISTANCE;
    state = (seed + (uint64_t)number * 1000) * 0x9e3779b97f4a7c15 + 1;
    ground.descriptors_kept = (uint32_t)null + 1;
    ground.threads = ground.signals_ignored = threads > 1;
    values_choose();
    arena_make();
    sweep();
    random_calls();
    pthread_mutex_lock(&totals_lock);
    totals.made += made, totals.skipped += skipped, totals.succeeded += succeeded;
    pthread_mutex_unlock(&totals_lock);
    return NULL;
}

static sigjmp_buf change_on; /* of the thread that changes vectors; only this thread takes SIGSEGV */

static void arena_is_away(int unused)
{
    (void)unused;
    siglongjmp(change_on, 1);
}

/* Writes values over the arenas' vectors until all calls are made. An arena may be unmapped at times. */
static void *change(void *unused)
{
    sigset_t fault;

    state = seed * 0x9e3779b97f4a7c15 + 1;
    sigemptyset(&fault);
    sigaddset(&fault, SIGSEGV);
    sigsetjmp(change_on, 1);
    pthread_sigmask(SIG_UNBLOCK, &fault, NULL);
    while (!done) {
        arena = ARENA_FIRST + random_number() % threads * ARENA_DISTANCE;
        values_choose();
        sched_yield();
        for (unsigned i = 0; i < PARTS_COUNT; i++)
            ((volatile uint64_t *)(AT(WRITABLE) + PARTS))[random_number() % (2 * PARTS_COUNT)] =
                hostile[random_number() % parts_count];
    }
    pthread_sigmask(SIG_BLOCK, &fault, NULL);
    return unused;
}

/* Makes all threads ignore and block the signals that a thread may send. */
static void signals_ignore(void)
{
    sigset_t all;

    for (int number = 1; number < 65; number++)
        signal(number, number == SIGSEGV ? arena_is_away : SIG_IGN);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
}

static void threads_run(void)
{
    pthread_t makers[THREADS_MAX], changer;

    signals_ignore();
    for (unsigned long i = 0; i < threads; i++)
        if (pthread_create(&makers[i], NULL, run, (void *)i))
            _exit(73);
    if (pthread_create(&changer, NULL, change, NULL))
        _exit(73);
    for (unsigned long i = 0; i < threads; i++)
        pthread_join(makers[i], NULL);
    done = true;
    pthread_join(changer, NULL);
}

static void options_read(int count, char **arguments)
{
    static unsigned long *const places[256] = {
        ['s'] = &seed, ['n'] = &calls_random, ['p'] = &share, ['j'] = &threads, ['T'] = &trace_from,
    };

    for (int option; (option = getopt(count, arguments, "s:n:p:j:T:")) != -1;) {
        if (places[option])
            *places[option] = strtoul(optarg, NULL, 0);
        if (!places[option] || threads == 0 || threads > THREADS_MAX) {
            fprintf(stderr,
                    "usage: hostile [-s SEED] [-n CALLS] [-p SHARE] [-j THREADS, 1 to %d] [-T FROM]\n",
                    THREADS_MAX);
            exit(64);
        }
    }
}

int main(int count, char **arguments)
{
    options_read(count, arguments);
    for (unsigned i = 0; i < sizeof(canary) / 8; i++)
        canary[i] = i * 0x9e3779b97f4a7c15;
    file = open("/proc/self/exe", O_RDONLY);
    directory = open("/", O_RDONLY | O_DIRECTORY);
    zero = open("/dev/zero", O_RDWR);
    null = open("/dev/null", O_RDWR);
    if (file < 0 || directory < 0 || zero < 0 || null < 0)
        return 72;
    if (threads > 1)
        threads_run();
    else
        run(NULL);
    printf("calls: %lu, of them %lu succeeded; left out: %lu\n", totals.made, totals.succeeded,
           totals.skipped);
    return 0;
}
