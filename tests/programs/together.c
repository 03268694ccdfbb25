/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * together.c: threads and ranks that compete for the same thing, or of which one ends. The argument chooses
 * the case:
 *
 *   proc       3 CPUs: pseudo files are read while other threads map and unmap
 *   signals    3 CPUs: of two signals that come at once, each reaches one of two threads that wait
 *   affinity   4 CPUs: a new thread gets a CPU that its parent may have, also where these are taken
 *   time       3 CPUs: threads that sleep, or have just begun, have used no CPU time
 *   hopeless   2 CPUs: files that cannot grow so far take no memory from others meanwhile
 *   lock       2 CPUs: a thread ends between giving a robust lock back and waking: the kernel wakes
 *   records    3 CPUs: records of two parts, each written by one call, stay in one piece
 *   mapping    2 ranks: one ends with another's file mapped, whose memory goes back all the same
 */
#define _GNU_SOURCE
#include "clock.h"
#include "machine.h"
#include "promise.h"
#include "waiter.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define PAGE MACHINE_PAGE

/* Of linux/futex.h, which musl does not have. */
#define FUTEX_WAIT 0
#define FUTEX_WAKE 1

struct robust_list {
    struct robust_list *next;
};

struct robust_list_head {
    struct robust_list list;
    long futex_offset;
    struct robust_list *list_op_pending;
};

static unsigned from_environment(const char *name, unsigned otherwise)
{
    const char *text = getenv(name);

    return text ? (unsigned)atoi(text) : otherwise;
}

static long futex(void *word, int operation, unsigned value, const struct timespec *time)
{
    return syscall(SYS_futex, word, operation, value, time, NULL, 0);
}

/* Of 1 ms at least, each: where a busy host lets the machine stand still, little happens in a second. */
#define LOOKS_MAX 20000

/* Waits until *count is `expected`. */
static int reaches(const atomic_uint *count, unsigned expected)
{
    for (int i = 0; i < LOOKS_MAX && atomic_load(count) < expected; i++)
        usleep(1000);
    return atomic_load(count) >= expected;
}

/* ---- proc ---- */

#define ROUNDS 1500
#define AREAS  150 /* more descriptors than stand in a page */

static atomic_uint mappers_done;

static void *map_and_unmap(void *unused)
{
    (void)unused;
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t bytes = (1 + round % 7) * PAGE;
        char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        PROMISE(memory != MAP_FAILED, "%s", strerror(errno));
        for (size_t at = 0; at < bytes; at += sizeof(uint64_t))
            if (*(uint64_t *)(memory + at) != 0)
                PROMISE(0, "new memory is not zero: %#lx at %#lx", *(unsigned long *)(memory + at), at);
        memset(memory, 0x55, bytes);
        munmap(memory, bytes);
    }
    atomic_fetch_add(&mappers_done, 1);
    return NULL;
}

static void *cut_and_join(void *unused)
{
    (void)unused;
    for (unsigned round = 0; round < ROUNDS / 100; round++) {
        char *memory = mmap(NULL, 2 * AREAS * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        for (unsigned i = 0; i < AREAS; i++)
            mprotect(memory + 2 * i * PAGE, PAGE, PROT_READ);
        munmap(memory, 2 * AREAS * PAGE);
    }
    atomic_fetch_add(&mappers_done, 1);
    return NULL;
}

static void maps_are_sound(void)
{
    static char text[1 << 20];
    int file = open("/proc/self/maps", O_RDONLY);
    ssize_t bytes = read(file, text, sizeof(text) - 1);
    unsigned long before = 0;

    close(file);
    PROMISE(bytes > 0, "%zd", bytes);
    text[bytes > 0 ? bytes : 0] = 0;
    for (char *line = text, *next; *line; line = next) {
        unsigned long start, end;
        int found = sscanf(line, "%lx-%lx ", &start, &end);

        if (found != 2 || start >= end || start < before) {
            PROMISE(0, "not an area after %#lx: %.60s", before, line);
            break;
        }
        before = end;
        next = strchr(line, '\n');
        next = next ? next + 1 : line + strlen(line);
    }
}

static void proc(void)
{
    static const char *const files[] = { "/proc/self/status", "/proc/self/statm", "/proc/meminfo",
                                         "/proc/self/limits" };
    pthread_t threads[2];
    char some[64];

    maps_are_sound();
    pthread_create(&threads[0], NULL, map_and_unmap, NULL);
    pthread_create(&threads[1], NULL, cut_and_join, NULL);
    for (unsigned i = 0; atomic_load(&mappers_done) < 2; i++) {
        int file = open(files[i % 4], O_RDONLY);

        PROMISE(file >= 0 && read(file, some, sizeof(some)) > 0, "%s: %s", files[i % 4], strerror(errno));
        close(file);
        maps_are_sound();
    }
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);

    /* The memory that is left can all be mapped. */
    size_t all = free_memory() / 2 & ~(PAGE - 1);
    char *memory = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    PROMISE(memory != MAP_FAILED, "%lu bytes: %s", all, strerror(errno));
    munmap(memory, all);
}

/* ---- signals ---- */

static sigset_t awaited;
static atomic_uint waiting, taken, over;

static void *take_one(void *unused)
{
    const struct timespec time = { 10, 0 };

    (void)unused;
    atomic_fetch_add(&waiting, 1);
    if (sigtimedwait(&awaited, NULL, &time) > 0)
        atomic_fetch_add(&taken, 1);
    while (!atomic_load(&over)) /* its end would wake the other one, too */
        ;
    return NULL;
}

static void signals(void)
{
    pthread_t threads[2];

    sigemptyset(&awaited);
    sigaddset(&awaited, SIGRTMIN);
    sigaddset(&awaited, SIGRTMIN + 1);
    pthread_sigmask(SIG_BLOCK, &awaited, NULL);
    for (unsigned i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, take_one, NULL);
    PROMISE(reaches(&waiting, 2), "%u wait", atomic_load(&waiting));
    usleep(50000);
    kill(getpid(), SIGRTMIN);
    kill(getpid(), SIGRTMIN + 1);
    PROMISE(reaches(&taken, 2), "two signals came, %u of two threads saw one", atomic_load(&taken));
    atomic_store(&over, 1);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

/* ---- affinity ---- */

static atomic_uint placed;
static atomic_int cpus[2];

static void *report_cpu(void *number)
{
    cpu_set_t mask;
    int cpu = sched_getcpu();

    sched_getaffinity(0, sizeof(mask), &mask);
    PROMISE(CPU_ISSET(cpu, &mask), "it runs on CPU %d, but may not", cpu);
    atomic_store(&cpus[(uintptr_t)number], cpu);
    atomic_fetch_add(&placed, 1);
    while (!atomic_load(&over))
        ;
    return NULL;
}

static void affinity(void)
{
    pthread_t threads[2];
    cpu_set_t mask;

    CPU_ZERO(&mask);
    CPU_SET(0, &mask);
    CPU_SET(3, &mask);
    PROMISE(sched_setaffinity(0, sizeof(mask), &mask) == 0, "%s", strerror(errno));
    for (uintptr_t i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, report_cpu, (void *)i);
        PROMISE(reaches(&placed, (unsigned)i + 1), "thread %zu", i);
    }
    PROMISE(atomic_load(&cpus[0]) == 3, "%d", atomic_load(&cpus[0]));
    PROMISE(atomic_load(&cpus[1]) == 0 || atomic_load(&cpus[1]) == 3, "%d", atomic_load(&cpus[1]));
    atomic_store(&over, 1);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

/* ---- time ---- */

static double clock_ms(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return 1e3 * (double)time.tv_sec + 1e-6 * (double)time.tv_nsec;
}

static double cpu_ms(void)
{
    return clock_ms(CLOCK_PROCESS_CPUTIME_ID);
}

static void *sleep_long(void *unused)
{
    (void)unused;
    atomic_fetch_add(&placed, 1);
    usleep(400000);
    return NULL;
}

/* Checks that CPU time grows no faster than the CPUs allow. Ignores readings that took long, because an
 * emulator may stop a CPU in the middle. */
static void *watch_cpu_time(void *unused)
{
    double cpu = 0, wall = 0;

    (void)unused;
    for (int was_long = 1, is_long; !atomic_load(&over); was_long = is_long) {
        double before = clock_ms(CLOCK_MONOTONIC), cpu_now = cpu_ms(), after = clock_ms(CLOCK_MONOTONIC);

        is_long = after - before > 3;
        if (!is_long && !was_long)
            PROMISE(cpu_now - cpu < 3 * (after - wall) + 30, "%.0f ms of CPU time in %.0f ms", cpu_now - cpu,
                    after - wall);
        cpu = cpu_now;
        wall = before;
    }
    return NULL;
}

static void *end_at_once(void *unused)
{
    return unused;
}

/* Returns the CPU time that the process uses while all threads sleep for 300 ms. */
static double asleep_ms(void)
{
    pthread_t thread;
    double before = cpu_ms(), used;
    unsigned already = atomic_load(&placed);

    pthread_create(&thread, NULL, sleep_long, NULL);
    PROMISE(reaches(&placed, already + 1), "the sleeper");
    usleep(300000);
    used = cpu_ms() - before;
    pthread_join(thread, NULL);
    return used;
}

static void cpu_time(void)
{
    pthread_t watcher, thread;
    double used = asleep_ms();

    /* A CPU that the host stops in the middle of a thread's few instructions uses time, by its clock. */
    for (unsigned again = 0; again < 4 && used >= 100; again++)
        used = asleep_ms();
    PROMISE(used < 100, "%.0f ms while all slept", used);

    pthread_create(&watcher, NULL, watch_cpu_time, NULL);
    for (unsigned i = 0; i < 20; i++) {
        usleep(100000);
        pthread_create(&thread, NULL, end_at_once, NULL);
        pthread_join(thread, NULL);
    }
    atomic_store(&over, 1);
    pthread_join(watcher, NULL);
}

/* ---- hopeless ---- */

#define MUCH (1L << 40)

static void *always_get_some(void *unused)
{
    (void)unused;
    while (!atomic_load(&over)) {
        void *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        PROMISE(memory != MAP_FAILED, "%s", strerror(errno));
        if (memory == MAP_FAILED)
            break;
        munmap(memory, 1 << 20);
        atomic_fetch_add(&taken, 1);
    }
    return NULL;
}

static void hopeless(void)
{
    int file = open("/tmp/hopeless", O_RDWR | O_CREAT, 0600);
    pthread_t thread;

    pthread_create(&thread, NULL, always_get_some, NULL);
    PROMISE(reaches(&taken, 1), "none yet");
    for (unsigned i = 0; i < 20; i++) {
        PROMISE(ftruncate(file, MUCH) == -1 && errno == ENOSPC, "%s", strerror(errno));
        PROMISE(fallocate(file, 1, 0, MUCH) == -1 && errno == ENOSPC, "%s", strerror(errno));
        PROMISE(pwrite(file, "x", 1, MUCH) == -1 && errno == ENOSPC, "%s", strerror(errno));
    }
    PROMISE(lseek(file, 0, SEEK_END) == 0, "it has grown");
    atomic_store(&over, 1);
    pthread_join(thread, NULL);
}

/* ---- lock ---- */

static struct {
    struct robust_list_head head;
    struct robust_list entry;
    unsigned word;
} robust;

/* Ends a thread inside an unlock: the word is 0 already, but no waiter has been woken. */
static void *end_while_unlocking(void *unused)
{
    (void)unused;
    robust.head.list.next = &robust.head.list;
    robust.head.futex_offset = (char *)&robust.word - (char *)&robust.entry;
    robust.head.list_op_pending = &robust.entry;
    syscall(SYS_set_robust_list, &robust.head, sizeof(robust.head));
    waiter_wait(&robust.word, 0);
    return NULL;
}

static void lock(void)
{
    const struct timespec time = { 5, 0 };
    pthread_t thread;

    pthread_create(&thread, NULL, end_while_unlocking, NULL);
    long result = futex(&robust.word, FUTEX_WAIT, 0, &time);
    PROMISE(result == 0, "%s", strerror(errno));
    pthread_join(thread, NULL);
}

/* ---- What ranks share ---- */

#define BYTES (8UL << 20)

struct meeting {
    atomic_uint there, go;
    unsigned word;
};

static struct meeting *meet(const char *path, unsigned rank, size_t bytes, int *file)
{
    struct meeting *meeting;

    *file = -1;
    for (int i = 0; i < LOOKS_MAX && *file < 0; i++) {
        *file = open(path, O_RDWR | (rank == 0 ? O_CREAT : 0), 0600);
        if (*file < 0)
            usleep(1000);
    }
    if (rank == 0)
        PROMISE(ftruncate(*file, (off_t)bytes) == 0, "%s", strerror(errno));
    for (int i = 0; i < LOOKS_MAX && lseek(*file, 0, SEEK_END) < (off_t)bytes; i++)
        usleep(1000);
    meeting = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *file, 0);
    PROMISE(meeting != MAP_FAILED, "%s", strerror(errno));
    return meeting;
}

static void mapping(unsigned rank)
{
    unsigned long before = free_memory();
    int file;
    struct meeting *meeting = meet("/dev/shm/mapping", rank, BYTES, &file);

    atomic_fetch_add(&meeting->there, 1);
    if (rank > 0)
        return; /* with the mapping */
    PROMISE(reaches(&meeting->there, 2), "the other rank");
    for (int i = 0; i < LOOKS_MAX && kill(2, 0) == 0; i++)
        usleep(1000);
    munmap(meeting, BYTES);
    close(file);
    unlink("/dev/shm/mapping");
    for (int i = 0; i < LOOKS_MAX && free_memory() + BYTES / 2 < before; i++)
        usleep(1000);
    PROMISE(free_memory() + BYTES / 2 >= before, "%lu bytes did not come back", before - free_memory());
}

/* Two threads write records of two parts each, by one writev, through descriptors of their own or a common
 * one: each record stays in one piece. */
#define RECORDS      5000
#define RECORD_BYTES 32

static void *records_write(void *argument)
{
    const int *descriptor = argument;
    char head[RECORD_BYTES / 2], tail[RECORD_BYTES / 2];
    struct iovec parts[2] = { { head, sizeof(head) }, { tail, sizeof(tail) } };
    int first = (uintptr_t)descriptor / sizeof(int) % 2 ? 'a' : 'n';

    for (int i = 0; i < RECORDS; i++) {
        memset(head, first + i % 13, sizeof(head));
        memset(tail, first + i % 13, sizeof(tail));
        if (writev(*descriptor, parts, 2) != RECORD_BYTES)
            return "a record was not written whole";
    }
    return NULL;
}

static void records_check(const char *what, int from, int descriptors[2])
{
    char record[RECORD_BYTES], same[RECORD_BYTES];
    int torn = 0, count = 0;
    pthread_t threads[2];
    void *wrong;

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, records_write, &descriptors[i]);
    int is_pipe = lseek(from, 0, SEEK_SET) < 0;
    for (int i = 0; i < 2 && !is_pipe; i++) {
        pthread_join(threads[i], &wrong);
        PROMISE(!wrong, "%s: %s", what, (char *)wrong);
    }
    for (; count < 2 * RECORDS && read(from, record, RECORD_BYTES) == RECORD_BYTES; count++)
        torn += memcmp(record, memset(same, record[0], RECORD_BYTES), RECORD_BYTES) != 0;
    for (int i = 0; i < 2 && is_pipe; i++)
        pthread_join(threads[i], NULL);
    PROMISE(torn == 0 && count == 2 * RECORDS, "%s: %d of %d records are torn", what, torn, count);
}

static void records(void)
{
    const int ways = O_CREAT | O_RDWR | O_TRUNC;
    int from = open("/tmp/records", ways, 0600), ends[2];

    records_check(
        "appended", from,
        (int[]){ open("/tmp/records", O_WRONLY | O_APPEND), open("/tmp/records", O_WRONLY | O_APPEND) });
    IS(ftruncate(from, 0), 0);
    int common = open("/tmp/records", O_WRONLY);
    records_check("one offset", from, (int[]){ common, common });
    IS(pipe(ends), 0);
    records_check("a pipe", ends[0], (int[]){ ends[1], ends[1] });
    unlink("/tmp/records");
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "";
    unsigned rank = from_environment("TACET_RANK", 0);

    if (strcmp(what, "proc") == 0)
        proc();
    else if (strcmp(what, "signals") == 0)
        signals();
    else if (strcmp(what, "affinity") == 0)
        affinity();
    else if (strcmp(what, "time") == 0)
        cpu_time();
    else if (strcmp(what, "hopeless") == 0)
        hopeless();
    else if (strcmp(what, "lock") == 0)
        lock();
    else if (strcmp(what, "records") == 0)
        records();
    else if (strcmp(what, "mapping") == 0)
        mapping(rank);
    else
        PROMISE(0, "what is to be tried?");
    return promises_kept();
}
