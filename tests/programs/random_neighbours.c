/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * random_neighbours.c SEED [OPERATIONS]: all ranks except the first do random things that disturb: mapping
 * and unmapping, files of their own and a common one, signals to each other, threads, console output, pipes
 * and polls, futexes of shared memory, timers, sleeps; with more threads than CPUs. Each thread's requests
 * depend only on the seed. Meanwhile the first rank counts its work in each quantum of 1 ms (FTQ), from
 * before the others begin until each of them has made OPERATIONS calls of each kind. The counters of its CPU
 * must show that it never entered the kernel.
 */
#define _GNU_SOURCE
#include "machine.h"
#include "promise.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <tacet.h>
#include <time.h>

#define PAGE          MACHINE_PAGE
#define RANKS_MAX     64
#define THREADS_A_CPU 3
#define THREADS_MAX   48
#define MAPS          8
#define FILE_BYTES    70000 /* more than a piece that the kernel copies at a time */
#define SHARED_BYTES  (1UL << 20)
#define QUANTUM_NS    1000000
#define QUANTA_MAX    1000000 /* of the machine's own time limit, rather */
#define OPERATIONS    40

#define FUTEX_WAIT        0
#define FUTEX_WAKE        1
#define FUTEX_REQUEUE     3
#define FUTEX_CMP_REQUEUE 4

enum { MAPPING, FILES, SHARED_FILE, SIGNALS, THREADS, CONSOLE, PIPES, FUTEXES, SLEEPS, KINDS };

/* What all ranks map. */
static struct shared {
    atomic_uint ready, begun, over;
    atomic_uint words[16]; /* futexes */
    atomic_ulong done[RANKS_MAX][KINDS];
} * shared;

static unsigned rank, ranks, cpus;
static uint64_t seed, wanted = OPERATIONS;
static atomic_uint broken, signals_taken;

struct worker {
    unsigned number;
    uint64_t state;
    pthread_t thread;
    int pipe[2], event, set, file;
    struct {
        char *at;
        size_t pages;
    } maps[MAPS];
};

static struct worker workers[THREADS_MAX];

/* As PROMISE, for several threads. */
#define HOLDS(condition)                                                                     \
    do {                                                                                     \
        if (!(condition)) {                                                                  \
            fprintf(stderr, "rank %u: broken: %s: %s\n", rank, #condition, strerror(errno)); \
            atomic_fetch_add(&broken, 1);                                                    \
        }                                                                                    \
    } while (0)

/* A call that may fail because others have what it wants. */
#define MAY(call, ...)                                                                  \
    do {                                                                                \
        static const int errors[] = { __VA_ARGS__ };                                    \
        bool listed = (long)(call) >= 0;                                                \
        for (unsigned e = 0; !listed && e < sizeof(errors) / sizeof(errors[0]); e++)    \
            listed = errno == errors[e];                                                \
        if (!listed) {                                                                  \
            fprintf(stderr, "rank %u: broken: %s: %s\n", rank, #call, strerror(errno)); \
            atomic_fetch_add(&broken, 1);                                               \
        }                                                                               \
    } while (0)

static uint64_t below(struct worker *w, uint64_t limit)
{
    w->state ^= w->state << 13, w->state ^= w->state >> 7, w->state ^= w->state << 17;
    return (w->state * 0x2545f4914f6cdd1d >> 32) % limit;
}

/* ---- What neighbours do ---- */

static void mapping(struct worker *w)
{
    unsigned i = (unsigned)below(w, MAPS);
    size_t pages = 1 + below(w, below(w, 8) ? 32 : 1024);

    if (!w->maps[i].at) {
        char *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        MAY(at == MAP_FAILED ? -1 : 0, ENOMEM);
        if (at == MAP_FAILED)
            return;
        w->maps[i].at = at;
        w->maps[i].pages = pages;
        HOLDS(at[0] == 0 && at[pages * PAGE - 1] == 0);
        at[below(w, pages * PAGE)] = 1;
        return;
    }

    char *at = w->maps[i].at;
    size_t from = below(w, w->maps[i].pages), count = 1 + below(w, w->maps[i].pages - from);
    switch (below(w, 4)) {
    case 0:
        MAY(mprotect(at + from * PAGE, count * PAGE, below(w, 2) ? PROT_READ : PROT_NONE), ENOMEM);
        break;
    case 1: /* its end: a hole might be another thread's by the time that the whole is unmapped */
        HOLDS(munmap(at + from * PAGE, (w->maps[i].pages - from) * PAGE) == 0);
        w->maps[i].pages = from;
        break;
    case 2:
        MAY(madvise(at + from * PAGE, count * PAGE, MADV_DONTNEED), ENOMEM);
        break;
    default:
        HOLDS(munmap(at, w->maps[i].pages * PAGE) == 0);
        w->maps[i].pages = 0;
    }
    if (w->maps[i].pages == 0)
        w->maps[i].at = NULL;
}

/* Changes files in the thread's own directory, so that it is known what must succeed. */
static void files(struct worker *w)
{
    static _Thread_local char bytes[FILE_BYTES], again[FILE_BYTES];
    char folder[64], path[96], other[96];
    size_t size = 1 + below(w, below(w, 4) ? 1000 : FILE_BYTES), offset = below(w, 3) * 5000;

    snprintf(folder, sizeof(folder), "/tmp/random.%u.%u", rank, w->number);
    snprintf(path, sizeof(path), "%s/%lu", folder, below(w, 100));
    snprintf(other, sizeof(other), "%s/other%lu", folder, below(w, 10));
    MAY(mkdir(folder, 0700), EEXIST);
    int file = open(path, O_RDWR | O_CREAT | (below(w, 2) ? O_TRUNC : 0), 0600);
    HOLDS(file >= 0);
    memset(bytes, (int)below(w, 256), size);
    ssize_t written = pwrite(file, bytes, size, (off_t)offset);
    MAY(written, ENOSPC);
    if (written > 0)
        HOLDS(pread(file, again, (size_t)written, (off_t)offset) == written &&
              memcmp(bytes, again, (size_t)written) == 0);
    if (below(w, 2))
        MAY(ftruncate(file, (off_t)below(w, 200000)), ENOSPC);
    switch (below(w, 5)) {
    case 0:
        HOLDS(rename(path, other) == 0);
        break;
    case 1:
        HOLDS(unlink(path) == 0);
        break;
    case 2:
        MAY(link(path, other), EEXIST);
        break;
    case 3:
        MAY(symlink(path, other), EEXIST);
        break;
    default: {
        DIR *entries = opendir(folder);
        unsigned count = 0;

        while (entries && readdir(entries))
            count++;
        HOLDS(entries && count >= 3);
        if (entries)
            closedir(entries);
    }
    }
    HOLDS(close(file) == 0);
}

static void shared_file(struct worker *w)
{
    static _Thread_local char bytes[FILE_BYTES];
    off_t at = (off_t)below(w, SHARED_BYTES), size = 1 + (off_t)below(w, SHARED_BYTES);
    struct flock lock = { .l_type = (short)(below(w, 2) ? F_WRLCK : F_RDLCK), .l_start = at, .l_len = 100 };

    switch (below(w, 6)) {
    case 0:
        MAY(ftruncate(w->file, size), ENOSPC);
        break;
    case 1:
        MAY(pwrite(w->file, bytes, 1 + below(w, FILE_BYTES), at), ENOSPC);
        break;
    case 2:
        MAY(pread(w->file, bytes, 1 + below(w, FILE_BYTES), at), EAGAIN);
        break;
    case 3: {
        void *memory = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, w->file, 0);

        MAY(memory == MAP_FAILED ? -1 : 0, ENOMEM, EAGAIN);
        if (memory != MAP_FAILED)
            HOLDS(munmap(memory, (size_t)size) == 0);
        break;
    }
    case 4:
        MAY(fcntl(w->file, F_SETLK, &lock), EAGAIN, ENOLCK);
        lock.l_type = F_UNLCK;
        MAY(fcntl(w->file, F_SETLK, &lock), ENOLCK);
        break;
    default:
        MAY(fallocate(w->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, size), ENOSPC);
    }
}

static void take(int signal)
{
    (void)signal;
    atomic_fetch_add(&signals_taken, 1);
}

/* Sends signals; not to the first rank, which a signal interrupts rightly, nor to a rank that has ended. */
static void signals(struct worker *w)
{
    pid_t other = getpid() - (pid_t)rank + 1 + (pid_t)below(w, ranks - 1);
    const struct itimerval soon = { .it_value = { .tv_usec = 1 + (int)below(w, 500) } };

    switch (below(w, 4)) {
    case 0:
        MAY(kill(other, SIGUSR1), ESRCH);
        break;
    case 1:
        HOLDS(pthread_kill(pthread_self(), SIGUSR2) == 0);
        break;
    case 2:
        MAY(sigqueue(other, SIGRTMIN + (int)below(w, 4), (union sigval){ .sival_int = 1 }), ESRCH, EAGAIN);
        break;
    default:
        HOLDS(setitimer(ITIMER_REAL, &soon, NULL) == 0);
    }
}

static void *short_thread(void *unused)
{
    (void)unused;
    sched_yield();
    return NULL;
}

static void threads(struct worker *w)
{
    pthread_attr_t small;
    pthread_t made[3];
    unsigned count = 0, most = 1 + (unsigned)below(w, 3);

    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 14);
    while (count < most && pthread_create(&made[count], &small, short_thread, NULL) == 0)
        count++;
    for (unsigned i = 0; i < count; i++)
        HOLDS(pthread_join(made[i], NULL) == 0);
    pthread_attr_destroy(&small);
}

static void console(struct worker *w)
{
    char line[200];
    int bytes = snprintf(line, sizeof(line), "thread %u: ", w->number);

    for (uint64_t more = below(w, 120); more > 0; more--)
        line[bytes++] = (char)('a' + below(w, 26));
    line[bytes++] = '\n';
    HOLDS(write(1 + (int)below(w, 2), line, (size_t)bytes) == bytes);
}

static void pipes(struct worker *w)
{
    struct epoll_event event;
    struct pollfd polled[3] = { { w->pipe[0], POLLIN, 0 },
                                { w->pipe[1], POLLOUT, 0 },
                                { w->event, POLLIN, 0 } };
    uint64_t value = 1;
    char bytes[3000];

    memset(bytes, 'p', sizeof(bytes));
    MAY(write(w->pipe[1], bytes, 1 + below(w, sizeof(bytes))), EAGAIN);
    MAY(write(w->event, &value, sizeof(value)), EAGAIN);
    MAY(poll(polled, 3, (int)below(w, 2)), EINTR);
    MAY(epoll_wait(w->set, &event, 1, (int)below(w, 2)), EINTR);
    MAY(read(w->pipe[0], bytes, 1 + below(w, sizeof(bytes))), EAGAIN);
    MAY(read(w->event, &value, sizeof(value)), EAGAIN);
}

/* Waits and wakes at words that all ranks share. */
static void futexes(struct worker *w)
{
    const struct timespec soon = { 0, 1 + (long)below(w, 200000) };
    atomic_uint *word = &shared->words[below(w, 16)], *other = &shared->words[below(w, 16)];

    switch (below(w, 4)) {
    case 0:
        MAY(syscall(SYS_futex, word, FUTEX_WAIT, atomic_load(word), &soon, NULL, 0), EAGAIN, ETIMEDOUT,
            EINTR);
        break;
    case 1:
        atomic_fetch_add(word, 1);
        MAY(syscall(SYS_futex, word, FUTEX_WAKE, 1 + below(w, 100), NULL, NULL, 0), EAGAIN);
        break;
    case 2:
        MAY(syscall(SYS_futex, word, FUTEX_REQUEUE, 1, 100, other, 0), EAGAIN);
        break;
    default:
        MAY(syscall(SYS_futex, word, FUTEX_CMP_REQUEUE, 1, 100, other, atomic_load(word)), EAGAIN);
    }
}

static void sleeps(struct worker *w)
{
    const struct timespec time = { 0, (long)below(w, 300000) };
    cpu_set_t all;

    switch (below(w, 3)) {
    case 0:
        MAY(nanosleep(&time, NULL), EINTR);
        break;
    case 1:
        sched_yield();
        break;
    default:
        HOLDS(sched_getaffinity(0, sizeof(all), &all) == 0 && sched_setaffinity(0, sizeof(all), &all) == 0);
    }
}

static const struct kind {
    void (*run)(struct worker *w);
    unsigned share; /* of 64 */
} kinds[KINDS] = {
    [MAPPING] = { mapping, 12 }, [FILES] = { files, 10 },    [SHARED_FILE] = { shared_file, 10 },
    [SIGNALS] = { signals, 8 },  [THREADS] = { threads, 4 }, [CONSOLE] = { console, 2 },
    [PIPES] = { pipes, 7 },      [FUTEXES] = { futexes, 7 }, [SLEEPS] = { sleeps, 4 },
};

static void *work(void *argument)
{
    struct worker *w = argument;
    struct epoll_event event = { .events = EPOLLIN };

    w->state = (seed * RANKS_MAX + rank) * THREADS_MAX + w->number + 0x9e3779b97f4a7c15;
    w->event = eventfd(0, EFD_NONBLOCK);
    w->set = epoll_create1(0);
    w->file = open("/tmp/random.shared", O_RDWR | O_CREAT, 0600);
    HOLDS(pipe2(w->pipe, O_NONBLOCK) == 0 && w->event >= 0 && w->set >= 0 && w->file >= 0);
    HOLDS(epoll_ctl(w->set, EPOLL_CTL_ADD, w->pipe[0], &event) == 0);
    while (!atomic_load(&shared->over) && !atomic_load(&broken)) {
        unsigned kind = 0;

        for (uint64_t share = below(w, 64); share >= kinds[kind].share; kind++)
            share -= kinds[kind].share;
        kinds[kind].run(w);
        atomic_fetch_add(&shared->done[rank][kind], 1);
    }
    return NULL;
}

static void neighbour(void)
{
    const struct sigaction action = { .sa_handler = take, .sa_flags = SA_RESTART };
    const int taken[] = { SIGUSR1, SIGUSR2, SIGALRM, SIGRTMIN, SIGRTMIN + 1, SIGRTMIN + 2, SIGRTMIN + 3 };
    unsigned count = THREADS_A_CPU * cpus < THREADS_MAX ? THREADS_A_CPU * cpus : THREADS_MAX;

    for (unsigned i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
        IS(sigaction(taken[i], &action, NULL), 0);
    atomic_fetch_add(&shared->ready, 1);
    while (!atomic_load(&shared->begun))
        ;
    for (unsigned i = 0; i < count; i++) {
        workers[i].number = i;
        PROMISE(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0, "thread %u", i);
    }
    for (unsigned i = 0; i < count; i++)
        while (pthread_join(workers[i].thread, NULL) != 0)
            ;
    PROMISE(atomic_load(&broken) == 0, "%u", atomic_load(&broken));
    PROMISE(atomic_load(&signals_taken) > 0, "no signal came");
}

/* ---- The first rank ---- */

static bool neighbours_have_done(void)
{
    for (unsigned other = 1; other < ranks; other++)
        for (unsigned kind = 0; kind < KINDS; kind++)
            if (atomic_load_explicit(&shared->done[other][kind], memory_order_relaxed) < wanted)
                return false;
    return true;
}

/* Counts work without any system call until the end; returns the number of quanta. */
static unsigned quanta_count(uint64_t *work_done)
{
    /* By the counter: on POWER musl asks the kernel for the time. */
    const uint64_t quantum = tacet_node()->clock_hz / (1000000000 / QUANTUM_NS);
    uint64_t end = machine_ticks();
    unsigned quanta = 0;

    do {
        uint64_t steps = 0;

        for (end += quantum; machine_ticks() < end; steps++)
            ;
        *work_done += steps;
        quanta++;
    } while (quanta < QUANTA_MAX && !neighbours_have_done());
    return quanta;
}

static void first(void)
{
    uint64_t steps = 0;
    cpu_set_t set;
    unsigned cpu;

    while (atomic_load(&shared->ready) < ranks - 1)
        ;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    IS(sched_setaffinity(0, sizeof(set), &set), 0);
    IS(syscall(SYS_getcpu, &cpu, NULL, NULL), 0);
    PROMISE(tacet_counters(cpu) != NULL, "CPU %u has no counters", cpu);

    uint64_t before = tacet_kernel_entries(cpu);
    atomic_store(&shared->begun, 1);
    unsigned quanta = quanta_count(&steps);
    uint64_t entries = tacet_kernel_entries(cpu) - before;
    syscall(SYS_getppid);
    PROMISE(tacet_kernel_entries(cpu) == before + entries + 1, "one call more is counted");

    bool done = neighbours_have_done();
    atomic_store(&shared->over, 1);
    PROMISE(done, "the neighbours have not done enough in %u quanta", quanta);
    PROMISE(entries == 0, "%lu kernel entries in %u quanta", entries, quanta);
    PROMISE(steps > 0, "no work in %u quanta", quanta);
    printf("seed %lu: %u quanta, %lu kernel entries; the others' operations:", seed, quanta, entries);
    for (unsigned kind = 0; kind < KINDS; kind++) {
        uint64_t sum = 0;

        for (unsigned other = 1; other < ranks; other++)
            sum += atomic_load(&shared->done[other][kind]);
        printf(" %lu", sum);
    }
    putchar('\n');
}

int main(int count, char **arguments)
{
    const char *own = getenv("TACET_RANK"), *size = getenv("TACET_SIZE");
    cpu_set_t set;

    rank = own ? (unsigned)atoi(own) : 0;
    ranks = size ? (unsigned)atoi(size) : 1;
    if (count < 2 || count > 3 || ranks < 2 || ranks > RANKS_MAX) {
        fprintf(stderr, "usage: %s SEED [OPERATIONS], with 2 to %d ranks\n", arguments[0], RANKS_MAX);
        return 64;
    }
    seed = strtoull(arguments[1], NULL, 0);
    if (count == 3)
        wanted = strtoull(arguments[2], NULL, 0);
    sched_getaffinity(0, sizeof(set), &set);
    cpus = (unsigned)CPU_COUNT(&set);

    int file = open("/dev/shm/random", O_RDWR | O_CREAT, 0600);
    PROMISE(file >= 0 && ftruncate(file, sizeof(*shared)) == 0, "%s", strerror(errno));
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared == MAP_FAILED) {
        fprintf(stderr, "/dev/shm/random: %s\n", strerror(errno));
        return 1;
    }
    if (rank == 0)
        first();
    else
        neighbour();
    return promises_kept();
}
