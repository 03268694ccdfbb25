/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vdso.c: time and the CPU's number come from the vDSO: without entering the kernel, and they are what the
 * kernel says.
 *
 *   (nothing)   every promise that a single thread can try
 *   ahead       prints the seconds of the monotonic clock, which two system calls around it bound
 *   threads     four threads hand each other the time: no thread sees a time before the last; 77 if there are
 *               no threads
 */
#define _GNU_SOURCE
#include "machine.h"
#include "promise.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <tacet.h>
#include <time.h>
#include <unistd.h>

#define CALLS      1000
#define NO_THREADS 77

#if defined(__x86_64__) || defined(__GLIBC__)
#define LIBRARY_USES_VDSO 1
#else /* musl on POWER, on Linux, too */
#define LIBRARY_USES_VDSO 0
#endif

static const clockid_t clocks[] = {
    CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE, CLOCK_MONOTONIC_COARSE,
    CLOCK_BOOTTIME, CLOCK_TAI
};
#define CLOCKS (sizeof(clocks) / sizeof(clocks[0]))

static int64_t ns_of(struct timespec time)
{
    return time.tv_sec * 1000000000 + time.tv_nsec;
}

static int64_t kernel_ns(clockid_t clock)
{
    struct timespec time = { 0, 0 };

    syscall(SYS_clock_gettime, clock, &time);
    return ns_of(time);
}

/* ---- Looking a function up, as a C library does ---- */

static const Elf64_Dyn *dynamic_find(const Elf64_Ehdr *header)
{
    const Elf64_Phdr *headers = (const Elf64_Phdr *)((const char *)header + header->e_phoff);

    for (int i = 0; i < header->e_phnum; i++)
        if (headers[i].p_type == PT_DYNAMIC)
            return (const Elf64_Dyn *)((const char *)header + headers[i].p_vaddr);
    return NULL;
}

static void *vdso_function(const char *name)
{
    const char *base = (const char *)getauxval(AT_SYSINFO_EHDR), *strings = NULL, *versions = NULL;
    const Elf64_Sym *symbols = NULL;
    const uint32_t *hash = NULL;
    const Elf64_Half *version = NULL;

    for (const Elf64_Dyn *entry = dynamic_find((const Elf64_Ehdr *)base); entry && entry->d_tag; entry++) {
        const char *at = base + entry->d_un.d_ptr;

        strings = entry->d_tag == DT_STRTAB ? at : strings;
        symbols = entry->d_tag == DT_SYMTAB ? (const Elf64_Sym *)at : symbols;
        hash = entry->d_tag == DT_HASH ? (const uint32_t *)at : hash;
        version = entry->d_tag == DT_VERSYM ? (const Elf64_Half *)at : version;
        versions = entry->d_tag == DT_VERDEF ? at : versions;
    }
    if (!strings || !symbols || !hash || !version || !versions)
        return NULL;
    for (uint32_t i = 1; i < hash[1]; i++) {
        if (symbols[i].st_shndx == SHN_UNDEF || strcmp(strings + symbols[i].st_name, name) != 0)
            continue;
        for (const Elf64_Verdef *definition = (const Elf64_Verdef *)versions;;
             definition = (const Elf64_Verdef *)((const char *)definition + definition->vd_next)) {
            const Elf64_Verdaux *named =
                (const Elf64_Verdaux *)((const char *)definition + definition->vd_aux);

            if (definition->vd_ndx == (version[i] & 0x7fff))
                return strcmp(strings + named->vda_name, MACHINE_VDSO_VERSION)
                           ? NULL
                           : (void *)(base + symbols[i].st_value);
            if (!definition->vd_next)
                return NULL;
        }
    }
    return NULL;
}

static struct {
    int (*clock_gettime)(clockid_t, struct timespec *);
    int (*clock_getres)(clockid_t, struct timespec *);
    int (*gettimeofday)(struct timeval *, struct timezone *);
    time_t (*time)(time_t *);
    long (*getcpu)(unsigned *, unsigned *, void *);
} vdso;

static void functions_find(void)
{
    static const char *const names[] = { "clock_gettime", "clock_getres", "gettimeofday", "time", "getcpu" };
    void **places[] = { (void **)&vdso.clock_gettime, (void **)&vdso.clock_getres,
                        (void **)&vdso.gettimeofday, (void **)&vdso.time, (void **)&vdso.getcpu };

    for (int i = 0; i < 5; i++) {
        char name[40] = MACHINE_VDSO_PREFIX;

        strcat(name, names[i]);
        *places[i] = vdso_function(name);
        PROMISE(*places[i], "%s of version " MACHINE_VDSO_VERSION " is there", name);
        if (strcmp(MACHINE_VDSO_PREFIX, "__vdso_") == 0)
            PROMISE(vdso_function(names[i]) == *places[i], "%s is the same", names[i]);
    }
}

/* ---- Promises ---- */

/* Entries that `what` makes on this CPU in CALLS calls; all of them, whatever their cause. */
#define ENTRIES_OF(what)                                     \
    ({                                                       \
        uint64_t before = tacet_kernel_entries(cpu);         \
        for (int call = 0; call < CALLS; call++)             \
            what;                                            \
        (unsigned long)(tacet_kernel_entries(cpu) - before); \
    })

static void library_enters_nothing(uint32_t cpu)
{
    struct timespec now;

    for (unsigned i = 0; i < CLOCKS; i++) {
        unsigned long entries = ENTRIES_OF(clock_gettime(clocks[i], &now));

        PROMISE(entries == 0, "clock %d: %lu entries", clocks[i], entries);
    }
    unsigned long entries = ENTRIES_OF(sched_getcpu());
    PROMISE(entries == 0, "sched_getcpu: %lu entries", entries);
    struct timeval day;
    entries = ENTRIES_OF(gettimeofday(&day, NULL));
    PROMISE(entries == 0, "gettimeofday: %lu entries", entries);
    entries = ENTRIES_OF(time(NULL));
    /* A static glibc's time() is the bare system call, on Linux, too; musl's reads the clock. */
    PROMISE(entries == 0 || entries == CALLS, "time: %lu entries", entries);
    printf("time_entries: %lu\n", entries);
}

static void vdso_enters_nothing(uint32_t cpu)
{
    struct timespec now;
    struct timeval day;
    unsigned number, node;
    time_t seconds;

    unsigned long entries =
        ENTRIES_OF((vdso.clock_gettime(CLOCK_MONOTONIC, &now), vdso.clock_getres(CLOCK_REALTIME, &now),
                    vdso.gettimeofday(&day, NULL), vdso.time(&seconds), vdso.getcpu(&number, &node, NULL)));
    PROMISE(entries == 0, "the vDSO: %lu entries", entries);
    entries = ENTRIES_OF(vdso.clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now));
    PROMISE(entries == CALLS, "a CPU-time clock is the kernel's: %lu entries", entries);
    entries = ENTRIES_OF(vdso.clock_getres(CLOCK_THREAD_CPUTIME_ID, &now));
    PROMISE(entries == CALLS, "and so is its resolution: %lu entries", entries);
}

/* Checks that the vDSO's time is always between two answers of the kernel. */
static void agrees_with_the_kernel(void)
{
    for (unsigned i = 0; i < CLOCKS; i++) {
        struct timespec shown = { 0, 0 }, of_kernel = { 0, 0 };
        unsigned outside = 0, odd = 0;

        for (int call = 0; call < CALLS; call++) {
            int64_t before = kernel_ns(clocks[i]);

            odd +=
                vdso.clock_gettime(clocks[i], &shown) != 0 || shown.tv_nsec < 0 || shown.tv_nsec > 999999999;
            int64_t after = kernel_ns(clocks[i]);
            /* Linux's coarse clocks stand still between ticks. */
            outside += ns_of(shown) < before || ns_of(shown) > after;
        }
        PROMISE(odd == 0 && outside == 0, "clock %d: %u times outside, %u times no time", clocks[i], outside,
                odd);
        vdso.clock_getres(clocks[i], &shown);
        syscall(SYS_clock_getres, clocks[i], &of_kernel);
        PROMISE(ns_of(shown) == ns_of(of_kernel) && ns_of(of_kernel) > 0,
                "resolution of clock %d: %ld and %ld ns", clocks[i], (long)ns_of(shown),
                (long)ns_of(of_kernel));
    }
    PROMISE(vdso.clock_getres(CLOCK_MONOTONIC, NULL) == 0, "the resolution of a clock, for nobody");

    struct timeval day;
    struct timezone zone = { 1, 1 };
    time_t seconds;
    int64_t before_us = kernel_ns(CLOCK_REALTIME) / 1000;
    PROMISE(vdso.gettimeofday(&day, &zone) == 0 && vdso.gettimeofday(NULL, NULL) == 0, "gettimeofday");
    int64_t now_us = day.tv_sec * 1000000 + day.tv_usec;
    PROMISE(now_us >= before_us && now_us <= kernel_ns(CLOCK_REALTIME) / 1000, "the time of day, %ld us",
            (long)now_us);
    PROMISE(zone.tz_minuteswest == 0 && zone.tz_dsttime == 0, "of UTC");
    time_t again = vdso.time(&seconds);
    /* Linux's stands still between ticks, so that a second begins late. */
    PROMISE(again == seconds && again >= day.tv_sec - 1 && again <= kernel_ns(CLOCK_REALTIME) / 1000000000,
            "seconds");
    PROMISE(vdso.time(NULL) >= again, "seconds for nobody");

    PROMISE(vdso.clock_gettime(99, &(struct timespec){ 0 }) == MACHINE_VDSO_ERROR(EINVAL) &&
                vdso.clock_gettime(-1, &(struct timespec){ 0 }) == MACHINE_VDSO_ERROR(EINVAL),
            "no such clock");
    PROMISE(vdso.clock_getres(99, NULL) == MACHINE_VDSO_ERROR(EINVAL), "nor its resolution");
}

static void getcpu_is_right(void)
{
    unsigned cpu = ~0U, node = ~0U, kernel_cpu = 0, kernel_node = 0;

    syscall(SYS_getcpu, &kernel_cpu, &kernel_node, NULL);
    PROMISE(vdso.getcpu(&cpu, &node, NULL) == 0 && vdso.getcpu(NULL, NULL, NULL) == 0, "getcpu");
    PROMISE(cpu == kernel_cpu && node == kernel_node, "cpu %u node %u, the kernel says %u and %u", cpu, node,
            kernel_cpu, kernel_node);
    PROMISE(sched_getcpu() == (int)kernel_cpu, "sched_getcpu: %d", sched_getcpu());
    printf("cpu: %u\nnode: %u\n", cpu, node);
}

/* ---- Several threads ---- */

#define THREADS 4
#define ROUNDS  500 /* where cores are fewer than threads, each turn waits for the machine below */

static struct {
    unsigned turn; /* whose it is */
    int64_t last_ns;
    unsigned backwards;
} relay;

static void *relay_run(void *argument)
{
    unsigned mine = (unsigned)(uintptr_t)argument;

    for (unsigned round = 0; round < ROUNDS; round++) {
        struct timespec now;

        while (__atomic_load_n(&relay.turn, __ATOMIC_ACQUIRE) != round * THREADS + mine)
            machine_relax();
        clock_gettime(CLOCK_MONOTONIC, &now);
        relay.backwards += ns_of(now) < relay.last_ns;
        relay.last_ns = ns_of(now);
        __atomic_store_n(&relay.turn, round * THREADS + mine + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

static int threads_try(void)
{
    pthread_t threads[THREADS];

    for (uintptr_t i = 1; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, relay_run, (void *)i))
            _exit(NO_THREADS);
    relay_run((void *)0);
    for (int i = 1; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    PROMISE(relay.turn == THREADS * ROUNDS && relay.backwards == 0, "the time went back %u times",
            relay.backwards);
    return promises_kept();
}

int main(int count, char **arguments)
{
    uint32_t cpu = 0;

    if (count > 1 && !strcmp(arguments[1], "threads"))
        return threads_try();
    syscall(SYS_getcpu, &cpu, NULL, NULL);
    PROMISE(getauxval(AT_SYSINFO_EHDR), "a vDSO is announced");
    PROMISE(memcmp((const void *)getauxval(AT_SYSINFO_EHDR), ELFMAG, SELFMAG) == 0, "and is an ELF file");
    functions_find();
    if (promises_broken)
        return promises_kept();
    if (count > 1 && !strcmp(arguments[1], "ahead")) {
        struct timespec now;
        int64_t before = kernel_ns(CLOCK_MONOTONIC);

        clock_gettime(CLOCK_MONOTONIC, &now);
        PROMISE(ns_of(now) >= before && ns_of(now) <= kernel_ns(CLOCK_MONOTONIC), "%ld ns", (long)ns_of(now));
        printf("cpu %u seconds %ld\n", cpu, (long)now.tv_sec);
        return promises_broken ? 1 : 0;
    }
    if (tacet_counters(cpu)) {
        if (LIBRARY_USES_VDSO)
            library_enters_nothing(cpu);
        vdso_enters_nothing(cpu);
    }
    agrees_with_the_kernel();
    getcpu_is_right();
    return promises_kept();
}
