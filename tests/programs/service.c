/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * service.c: a rank that runs with a service, apps/daemon, whose work it sees in a file.
 *
 *   phases N   N times: it computes, and waits; the service computes while it waits, and meanwhile alone
 *   neighbour  2 ranks: one computes all the time, one waits: the service has the other's CPU
 *   alone      it computes until the service has, which takes a SCHED_OTHER one
 *   iterations it marks iterations, in which it computes and waits, and reads how long [Betti09 §IV]
 *   computing N
 *              it says "ready" and computes, with N threads, until it is killed
 *   after      it waits until the service has ended: the rank lives on
 */
#include "clock.h"
#include "machine.h"
#include "promise.h"

#include "tacet.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define MS          1000000ULL
#define SERVICE_PID 2 /* if there is one rank */

/* Computes for a time by the counter itself, as not every C library uses the vDSO. */
static void compute(uint64_t ns)
{
    uint64_t begun = machine_ticks(), ticks = tacet_node()->clock_hz / 1000 * ns / 1000000;

    while (machine_ticks() - begun < ticks)
        ;
}

static void wait_ns(uint64_t ns)
{
    const struct timespec time = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

    nanosleep(&time, NULL);
}

/* Returns how often the service has computed; 0 before it has begun. */
static uint64_t rounds(void)
{
    char line[64] = "";
    int file = open("/dev/shm/daemon", O_RDONLY);
    unsigned long long count = 0;

    if (file >= 0 && read(file, line, sizeof(line) - 1) > 0)
        sscanf(line, "rounds %llu", &count);
    close(file);
    return count;
}

static void phases(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint64_t before, after, entries;

        for (unsigned waits = 0; waits < 1000 && rounds() <= i; waits++)
            wait_ns(MS);
        before = rounds();
        PROMISE(before > i, "no work is done in the wait phases");
        entries = tacet_kernel_entries(0);
        compute(20 * MS);
        entries = tacet_kernel_entries(0) - entries;
        after = rounds();
        PROMISE(entries == 0, "%lu kernel entries while it computed", (unsigned long)entries);
        PROMISE(after == before, "%lu rounds while it computed", (unsigned long)(after - before));
    }
}

static void neighbour(unsigned rank)
{
    uint64_t entries = tacet_kernel_entries(0);

    if (rank == 1) {
        for (unsigned waits = 0; waits < 5000 && rounds() < 20; waits++)
            wait_ns(MS);
        PROMISE(rounds() >= 20, "%lu rounds on an idle CPU", (unsigned long)rounds());
        int done = open("/dev/shm/done", O_WRONLY | O_CREAT, 0600);
        close(done);
        return;
    }
    /* Only what asks whether the other is done enters the kernel. */
    unsigned calls = 0;
    for (int done = -1; done < 0; calls++) {
        compute(10 * MS);
        done = open("/dev/shm/done", O_RDONLY);
    }
    entries = tacet_kernel_entries(0) - entries;
    PROMISE(entries == calls, "%lu kernel entries, %u calls", (unsigned long)entries, calls);
}

static void alone(void)
{
    uint64_t entries = tacet_kernel_entries(0), ready = 0, calls = 0;

    while (rounds() < 5) {
        for (unsigned i = 0; i < 1000; i++) {
            compute(MS / 100);
            ready |= tacet_counters(0)->ready;
        }
        calls += 3;
    }
    entries = tacet_kernel_entries(0) - entries;
    PROMISE(entries > calls, "the service disturbs as SCHED_OTHER");
    PROMISE(ready, "the service was queued, and nothing said so");
}

static void iterations(void)
{
    int file = open("/proc/tacet/iterations", O_RDWR);
    unsigned long long count = 0, running = 0, waiting = 0, sum_running = 0, sum_waiting = 0;
    char text[4096] = "";

    PROMISE(file >= 0, "%s", strerror(errno));
    uint64_t marked_ns = now_ns(); /* before the last mark */
    IS(write(file, "mark\n", 5), 5);
    for (unsigned i = 0; i < 3; i++) {
        const uint64_t begun_ns = marked_ns;

        compute(10 * MS);
        wait_ns(30 * MS);
        marked_ns = now_ns();
        IS(write(file, "mark", 4), 4);
        close(file);
        file = open("/proc/tacet/iterations", O_RDWR);
        PROMISE(read(file, text, sizeof(text) - 1) > 0, "%s", strerror(errno));
        sscanf(
            text,
            "rank 0 iterations %llu running_ns %llu waiting_ns %llu sum_running_ns %llu sum_waiting_ns %llu",
            &count, &running, &waiting, &sum_running, &sum_waiting);
        PROMISE(count == i + 1, "%llu", count);
        PROMISE(running >= 10 * MS && running < now_ns() - begun_ns, "%llu ns running", running);
        /* On a slow machine, the way to the wait and back takes a part of it. */
        PROMISE(waiting > 0 && running + waiting >= 40 * MS, "%llu ns waiting", waiting);
        PROMISE(sum_running >= count * 10 * MS && sum_running + sum_waiting >= count * 40 * MS, "the sums");
    }
    FAILS(write(file, "begin", 5), EINVAL);
}

static void *compute_on(void *unused)
{
    for (;;)
        compute(MS);
    return unused;
}

static void computing(int threads)
{
    pthread_t thread;

    while (--threads > 0)
        IS(pthread_create(&thread, NULL, compute_on, NULL), 0);
    puts("ready");
    fflush(stdout);
    compute_on(NULL);
}

static void after(void)
{
    while (kill(SERVICE_PID, 0) == 0)
        wait_ns(MS);
    wait_ns(100 * MS); /* until the node has said so */
    PROMISE(true, "it lives on");
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "", *rank = getenv("TACET_RANK");

    if (strcmp(what, "phases") == 0)
        phases(argc > 2 ? (unsigned)atoi(argv[2]) : 10);
    else if (strcmp(what, "neighbour") == 0)
        neighbour(rank ? (unsigned)atoi(rank) : 0);
    else if (strcmp(what, "alone") == 0)
        alone();
    else if (strcmp(what, "iterations") == 0)
        iterations();
    else if (strcmp(what, "computing") == 0)
        computing(argc > 2 ? atoi(argv[2]) : 1);
    else
        after();
    return promises_kept();
}
