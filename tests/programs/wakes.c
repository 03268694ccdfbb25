/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wakes.c PART: threads that wait for each other.
 *
 *   silent              a thread waits in each of the ways there are: its CPU enters the kernel not once
 *                       while nothing happens, hardly while other things happen, and wakes when it does
 *   moved               a thread is carried to another CPU while it waits, again in each way
 *   ended               the process ends, with 7, while its threads wait
 *   closed              a file is closed while another thread waits for a lock on it
 *   rings ROUNDS        2 threads and more hand a token on, by each way of waiting, that many times around
 *   crowd ROUNDS        all threads but one fill a pipe and raise a counter, and one takes it all
 */
#define _GNU_SOURCE
#include "machine.h"
#include "promise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <tacet.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX    8
#define FUTEX_WAIT     0
#define FUTEX_WAKE     1
#define NOTHING_MS     50
#define FALL_ASLEEP_MS 5
#define OTHERS         8

static unsigned cpus;

static void compute(unsigned ms)
{
    const uint64_t start = machine_ticks(),
                   ticks = ms * (tacet_node() ? tacet_node()->clock_hz : 1000000000) / 1000;

    while (machine_ticks() - start < ticks)
        machine_relax();
}

static void put(int file, uint64_t value)
{
    if (write(file, &value, sizeof(value)) != sizeof(value))
        abort();
}

static uint64_t get(int file)
{
    uint64_t value;

    if (read(file, &value, sizeof(value)) != sizeof(value))
        abort();
    return value;
}

/* ---- silent ---- */

static int empty[2], full[2], counter, files_set, set_of_counter, owned, contender;
static int other_counters[OTHERS], other_files[OTHERS];
static uint32_t word;
static char block[65536];

static void wait_read(void)
{
    get(empty[0]);
}

static void wait_write(void)
{
    put(full[1], 1);
}

static void wait_counter(void)
{
    get(counter);
}

static void wait_poll(void)
{
    struct pollfd both[2] = { { empty[0], POLLIN, 0 }, { counter, POLLIN, 0 } };

    PROMISE(poll(both, 2, -1) == 1 && both[1].revents == POLLIN, "%d", errno);
    get(counter);
}

static void wait_select(void)
{
    fd_set in;

    FD_ZERO(&in);
    FD_SET(empty[0], &in);
    PROMISE(select(empty[0] + 1, &in, NULL, NULL, NULL) == 1, "%d", errno);
    get(empty[0]);
}

static void wait_set(void)
{
    struct epoll_event event;

    PROMISE(epoll_wait(files_set, &event, 1, -1) == 1 && event.data.fd == empty[0], "%d", errno);
    get(empty[0]);
}

static void wait_polled_set(void)
{
    struct pollfd one = { set_of_counter, POLLIN, 0 };

    PROMISE(poll(&one, 1, -1) == 1 && one.revents == POLLIN, "%d", errno);
    get(counter);
}

static void wait_flock(void)
{
    PROMISE(flock(contender, LOCK_EX) == 0 && flock(contender, LOCK_UN) == 0, "%d", errno);
}

static void wait_record(void)
{
    struct flock range = { .l_type = F_WRLCK, .l_start = 7, .l_len = 3 };

    PROMISE(fcntl(contender, F_OFD_SETLKW, &range) == 0, "%d", errno);
    range.l_type = F_UNLCK;
    fcntl(contender, F_OFD_SETLK, &range);
}

static void wait_futex(void)
{
    while (syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0) == 0 &&
           __atomic_load_n(&word, __ATOMIC_ACQUIRE) == 0)
        ;
}

static void wake_empty(void)
{
    put(empty[1], 1);
}

static void wake_full(void)
{
    if (read(full[0], block, 4096) < 8)
        abort();
}

static void wake_counter(void)
{
    put(counter, 1);
}

static void wake_flock(void)
{
    flock(owned, LOCK_UN);
}

static void wake_record(void)
{
    struct flock range = { .l_type = F_UNLCK };

    fcntl(owned, F_OFD_SETLK, &range);
}

static void wake_futex(void)
{
    __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Raises and empties counters, locks and unlocks files, for which no thread waits. Returns how many times. */
static unsigned other_things(void)
{
    for (unsigned i = 0; i < OTHERS; i++) {
        put(other_counters[i], 1);
        compute(1);
        get(other_counters[i]);
        flock(other_files[i], LOCK_EX);
        flock(other_files[i], LOCK_UN);
        compute(1);
    }
    return 2 * OTHERS;
}

static atomic_int waiter_cpu;
static uint64_t calls_before; /* of its CPU, which runs no other thread */

static void *waiter(void *wait)
{
    const int cpu = sched_getcpu();

    calls_before = tacet_counters((uint32_t)cpu)->system_calls;
    atomic_store(&waiter_cpu, cpu);
    ((void (*)(void))(uintptr_t)wait)();
    return wait;
}

static void one_waits(const char *name, void (*wait)(void), void (*wake)(void))
{
    pthread_t thread;
    void *result;

    atomic_store(&waiter_cpu, -1);
    if (pthread_create(&thread, NULL, waiter, (void *)(uintptr_t)wait)) {
        PROMISE(false, "%s: no thread", name);
        return;
    }
    while (atomic_load(&waiter_cpu) < 0)
        machine_relax();
    unsigned cpu = (unsigned)atomic_load(&waiter_cpu);
    while (tacet_counters(cpu)->system_calls == calls_before) /* until it is in its call, however late */
        machine_relax();
    compute(FALL_ASLEEP_MS);
    uint64_t before = tacet_kernel_entries(cpu);
    compute(NOTHING_MS);
    uint64_t after = tacet_kernel_entries(cpu);
    PROMISE(after == before, "%s: %lu entries while nothing happened", name, (unsigned long)(after - before));

    /* two objects may be of one kind for the kernel: then a wake-up is for nothing */
    unsigned things = other_things();
    uint64_t disturbed = tacet_kernel_entries(cpu) - after;
    PROMISE(disturbed < things / 2, "%s: %lu entries while %u other things happened", name,
            (unsigned long)disturbed, things);
    wake();
    PROMISE(pthread_join(thread, &result) == 0, "%s", name);
}

static const struct wait_kind {
    const char *name;
    void (*wait)(void), (*wake)(void);
} kinds[] = {
    { "read of a pipe", wait_read, wake_empty },
    { "write to a full pipe", wait_write, wake_full },
    { "read of a counter", wait_counter, wake_counter },
    { "poll", wait_poll, wake_counter },
    { "select", wait_select, wake_empty },
    { "epoll_wait", wait_set, wake_empty },
    { "poll of a set", wait_polled_set, wake_counter },
    { "flock", wait_flock, wake_flock },
    { "a lock of a range", wait_record, wake_record },
    { "futex", wait_futex, wake_futex },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Opens the objects of all waits, none of which is ready yet. */
static void all_open(void)
{
    struct flock range = { .l_type = F_WRLCK };
    struct epoll_event event = { .events = EPOLLIN };

    counter = eventfd(0, 0), files_set = epoll_create1(0), set_of_counter = epoll_create1(0);
    owned = open("/tmp/owned", O_RDWR | O_CREAT, 0600), contender = open("/tmp/owned", O_RDWR);
    PROMISE(pipe(empty) == 0 && pipe(full) == 0 && contender >= 0, "%d", errno);
    while (write(full[1], block, sizeof(block)) < 0)
        ;
    event.data.fd = counter;
    PROMISE(epoll_ctl(set_of_counter, EPOLL_CTL_ADD, counter, &event) == 0 &&
                epoll_ctl(files_set, EPOLL_CTL_ADD, counter, &event) == 0,
            "%d", errno);
    event.data.fd = empty[0];
    PROMISE(epoll_ctl(files_set, EPOLL_CTL_ADD, empty[0], &event) == 0, "%d", errno);
    for (unsigned i = 0; i < OTHERS; i++) {
        char path[32];

        snprintf(path, sizeof(path), "/tmp/other%u", i);
        other_counters[i] = eventfd(0, 0), other_files[i] = open(path, O_RDWR | O_CREAT, 0600);
        PROMISE(other_counters[i] >= 0 && other_files[i] >= 0, "%d", errno);
    }
    PROMISE(flock(owned, LOCK_EX) == 0 && fcntl(owned, F_OFD_SETLK, &range) == 0, "%d", errno);
}

static void silent(void)
{
    all_open();
    for (unsigned i = 0; i < KINDS; i++)
        one_waits(kinds[i].name, kinds[i].wait, kinds[i].wake);
}

/* ---- moved, ended ---- */

static atomic_int waiter_tid, woken_on;

static void *movable_waiter(void *kind)
{
    atomic_store(&waiter_tid, (int)syscall(SYS_gettid));
    ((const struct wait_kind *)kind)->wait();
    atomic_store(&woken_on, sched_getcpu());
    return NULL;
}

/* Moves a waiting thread: its wait goes on, on the other CPU, without interruption. */
static void one_moves(const struct wait_kind *kind, const int *to)
{
    pthread_t thread;

    atomic_store(&waiter_tid, 0);
    if (pthread_create(&thread, NULL, movable_waiter, (void *)(uintptr_t)kind)) {
        PROMISE(false, "%s: no thread", kind->name);
        return;
    }
    while (!atomic_load(&waiter_tid))
        machine_relax();
    compute(FALL_ASLEEP_MS);
    for (unsigned i = 0; i < 4; i++) {
        cpu_set_t one;

        CPU_ZERO(&one);
        CPU_SET(to[i % 2], &one);
        PROMISE(sched_setaffinity(atomic_load(&waiter_tid), sizeof(one), &one) == 0, "%s: %d", kind->name,
                errno);
        compute(FALL_ASLEEP_MS);
    }
    kind->wake();
    PROMISE(pthread_join(thread, NULL) == 0 && atomic_load(&woken_on) == to[1], "%s: on %d, not %d",
            kind->name, atomic_load(&woken_on), to[1]);
}

static void moved(void)
{
    cpu_set_t allowed;
    int to[2] = { 0, 0 }, found = 0;

    sched_getaffinity(0, sizeof(allowed), &allowed);
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && found < 2; cpu--)
        if (CPU_ISSET(cpu, &allowed))
            to[found++] = cpu;
    all_open();
    for (unsigned i = 0; i < KINDS && found == 2; i++)
        one_moves(&kinds[i], to);
}

/* Ends the process while its threads wait, each for another object. */
static void ended(void)
{
    pthread_t thread;

    all_open();
    for (unsigned i = 0; i < KINDS && i + 1 < cpus; i++) {
        atomic_store(&waiter_tid, 0);
        PROMISE(pthread_create(&thread, NULL, movable_waiter, (void *)(uintptr_t)&kinds[i]) == 0, "%s",
                kinds[i].name);
        while (!atomic_load(&waiter_tid))
            machine_relax();
    }
    compute(FALL_ASLEEP_MS);
    _exit(promises_kept() ? 1 : 7);
}

/* ---- closed ---- */

static void *wait_for_record(void *unused)
{
    struct flock range = { .l_type = F_WRLCK, .l_start = 7, .l_len = 3 };

    (void)unused;
    atomic_store(&waiter_cpu, sched_getcpu());
    return (void *)(intptr_t)(fcntl(contender, F_SETLKW, &range) ? errno : 0);
}

/* Closes a file while another thread waits for a lock on it. The close ends the process's locks, so a lock
 * that is granted later must not stay. */
static void closed(void)
{
    struct flock range = { .l_type = F_WRLCK };
    pthread_t thread;
    void *error = NULL;

    owned = open("/tmp/owned", O_RDWR | O_CREAT, 0600), contender = open("/tmp/owned", O_RDWR);
    PROMISE(fcntl(owned, F_OFD_SETLK, &range) == 0, "%d", errno);
    atomic_store(&waiter_cpu, -1);
    PROMISE(pthread_create(&thread, NULL, wait_for_record, NULL) == 0, "no thread");
    while (atomic_load(&waiter_cpu) < 0)
        machine_relax();
    compute(FALL_ASLEEP_MS);
    close(contender);
    range.l_type = F_UNLCK;
    PROMISE(fcntl(owned, F_OFD_SETLK, &range) == 0, "%d", errno);
    PROMISE(pthread_join(thread, &error) == 0 && (intptr_t)error == EBADF, "%ld", (long)(intptr_t)error);
    range.l_type = F_WRLCK;
    PROMISE(fcntl(owned, F_OFD_SETLK, &range) == 0, "a lock of nobody's stays: %d", errno);
}

/* ---- rings ---- */

enum way { BY_PIPE, BY_COUNTER, BY_POLL, BY_SET, BY_EDGE, BY_FUTEX, WAYS };

static const char *const way_names[WAYS] = { "pipe", "counter", "poll", "epoll", "epoll, edges", "futex" };

static struct ring {
    enum way way;
    unsigned threads;
    uint64_t rounds;
    struct {
        int in, out, set; /* the taker reads `in`, the giver writes `out` */
        uint32_t word;
    } place[THREADS_MAX];
} ring;

static void place_open(unsigned i)
{
    struct epoll_event event = { .events = EPOLLIN | (ring.way == BY_EDGE ? EPOLLET : 0) };
    int ends[2];

    if (ring.way == BY_PIPE || ring.way == BY_POLL) {
        PROMISE(pipe(ends) == 0, "%d", errno);
        ring.place[i].in = ends[0], ring.place[i].out = ends[1];
    } else {
        ring.place[i].in = ring.place[i].out = eventfd(0, 0);
    }
    ring.place[i].set = epoll_create1(0);
    ring.place[i].word = 0;
    PROMISE(epoll_ctl(ring.place[i].set, EPOLL_CTL_ADD, ring.place[i].in, &event) == 0, "%d", errno);
}

static void place_close(unsigned i)
{
    close(ring.place[i].set), close(ring.place[i].in);
    if (ring.place[i].out != ring.place[i].in)
        close(ring.place[i].out);
}

static void token_take(unsigned i)
{
    struct pollfd entry = { ring.place[i].in, POLLIN, 0 };
    struct epoll_event event;

    if (ring.way == BY_FUTEX) {
        while (__atomic_load_n(&ring.place[i].word, __ATOMIC_ACQUIRE) == 0)
            syscall(SYS_futex, &ring.place[i].word, FUTEX_WAIT, 0, NULL, NULL, 0);
        __atomic_store_n(&ring.place[i].word, 0, __ATOMIC_RELEASE);
        return;
    }
    if (ring.way == BY_POLL && poll(&entry, 1, -1) != 1)
        abort();
    if ((ring.way == BY_SET || ring.way == BY_EDGE) && epoll_wait(ring.place[i].set, &event, 1, -1) != 1)
        abort();
    get(ring.place[i].in);
}

static void token_give(unsigned i)
{
    if (ring.way != BY_FUTEX) {
        put(ring.place[i].out, 1);
        return;
    }
    __atomic_store_n(&ring.place[i].word, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &ring.place[i].word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void *hand_on(void *number)
{
    unsigned me = (unsigned)(uintptr_t)number;

    for (uint64_t round = 0; round < ring.rounds; round++) {
        token_take(me);
        token_give((me + 1) % ring.threads);
    }
    return NULL;
}

static void ring_turn(enum way way, unsigned threads, uint64_t rounds)
{
    pthread_t thread[THREADS_MAX];

    ring.way = way, ring.threads = threads, ring.rounds = rounds;
    for (unsigned i = 0; i < threads; i++)
        place_open(i);
    for (unsigned i = 1; i < threads; i++)
        PROMISE(pthread_create(&thread[i], NULL, hand_on, (void *)(uintptr_t)i) == 0, "thread %u", i);
    token_give(0);
    hand_on(NULL);
    token_take(0);
    for (unsigned i = 1; i < threads; i++)
        PROMISE(pthread_join(thread[i], NULL) == 0, "thread %u", i);
    for (unsigned i = 0; i < threads; i++)
        place_close(i);
    printf("%u threads, %s\n", threads, way_names[way]); /* so that it is seen where it hangs */
    fflush(stdout);
}

static void rings(uint64_t rounds)
{
    for (unsigned threads = 2; threads <= cpus && threads <= THREADS_MAX; threads++)
        for (enum way way = 0; way < WAYS; way++)
            ring_turn(way, threads, rounds);
}

/* ---- crowd ---- */

static int crowd_pipe[2], crowd_counter;
static uint64_t crowd_rounds;

static void *press(void *number)
{
    for (uint64_t i = 0; i < crowd_rounds; i++) {
        put(crowd_pipe[1], (uint64_t)(uintptr_t)number);
        if (i % 3 == 0)
            put(crowd_counter, 1);
    }
    return NULL;
}

static void crowd(uint64_t rounds)
{
    pthread_t thread[THREADS_MAX];
    unsigned pressing = cpus - 1;
    uint64_t left_pipe = rounds * pressing, left_counter = (rounds + 2) / 3 * pressing, sum = 0,
             expected_sum = rounds * pressing * (pressing + 1) / 2;
    int set = epoll_create1(0);
    struct epoll_event events[2], event = { .events = EPOLLIN };

    crowd_rounds = rounds, crowd_counter = eventfd(0, 0);
    PROMISE(pipe(crowd_pipe) == 0, "%d", errno);
    event.data.fd = crowd_pipe[0];
    PROMISE(epoll_ctl(set, EPOLL_CTL_ADD, crowd_pipe[0], &event) == 0, "%d", errno);
    event.data.fd = crowd_counter;
    PROMISE(epoll_ctl(set, EPOLL_CTL_ADD, crowd_counter, &event) == 0, "%d", errno);
    for (unsigned i = 1; i <= pressing; i++)
        PROMISE(pthread_create(&thread[i], NULL, press, (void *)(uintptr_t)i) == 0, "thread %u", i);
    while (left_pipe || left_counter) {
        int ready = epoll_wait(set, events, 2, -1);

        for (int i = 0; i < ready; i++)
            if (events[i].data.fd == crowd_counter)
                left_counter -= get(crowd_counter);
            else
                sum += get(crowd_pipe[0]), left_pipe--;
    }
    for (unsigned i = 1; i <= pressing; i++)
        pthread_join(thread[i], NULL);
    PROMISE(sum == expected_sum, "%lu", (unsigned long)sum);
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";
    uint64_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
    cpu_set_t allowed;

    sched_getaffinity(0, sizeof(allowed), &allowed);
    cpus = (unsigned)CPU_COUNT(&allowed);
    if (!strcmp(part, "silent"))
        silent();
    else if (!strcmp(part, "moved"))
        moved();
    else if (!strcmp(part, "ended"))
        ended();
    else if (!strcmp(part, "closed"))
        closed();
    else if (!strcmp(part, "rings"))
        rings(rounds);
    else if (!strcmp(part, "crowd"))
        crowd(rounds);
    else
        return 98;
    return promises_kept();
}
