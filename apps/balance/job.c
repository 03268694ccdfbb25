/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * job.c: a job whose ranks are threads: each is pinned, joins, and computes and waits with the others. The
 * figures of all iterations are kept to the end, because printing would disturb an iteration.
 *
 * A modelled job tries the mechanism on a machine where priorities have no effect, such as an emulator: each
 * rank sleeps for as long as the model says it would run with the priorities that the kernel shows for both.
 */
#define _GNU_SOURCE
#include "job.h"

#include "affinity.h"
#include "balance.h"
#include "cycles.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CPUS_MAX        1024
#define CALIBRATE_TURNS 200000

/* A rank's record of an iteration: the priority with which it ran, and its times. */
struct note {
    unsigned priority;
    struct balance_times times;
};

static struct job {
    const struct job_settings *settings;
    double turns_per_ns;
    uint32_t cpus[BALANCE_SIBLINGS_MAX];
    unsigned priority[BALANCE_SIBLINGS_MAX]; /* as the kernel shows it, in this iteration */
    uint32_t waiting;                        /* ranks at the polling barrier */
    uint32_t passed;                         /* how often all have passed it */
    pthread_barrier_t barrier;
    struct note notes[BALANCE_SIBLINGS_MAX][JOB_ITERATIONS_MAX];
    struct balance_figures figures[BALANCE_SIBLINGS_MAX];
    uint32_t steps;
    int error;
    char name[BALANCE_NAME_MAX];
} job;

/* ---- What the ranks do ---- */

static bool polls(void)
{
    return !job.settings->model.yields && !job.settings->modelled;
}

static void meet(void)
{
    const uint32_t passed = __atomic_load_n(&job.passed, __ATOMIC_ACQUIRE);

    if (!polls()) {
        pthread_barrier_wait(&job.barrier);
    } else if (__atomic_add_fetch(&job.waiting, 1, __ATOMIC_ACQ_REL) == job.settings->ranks) {
        __atomic_store_n(&job.waiting, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&job.passed, passed + 1, __ATOMIC_RELEASE);
    } else {
        while (__atomic_load_n(&job.passed, __ATOMIC_ACQUIRE) == passed)
            cycles_relax();
    }
}

/* Returns the calling thread's priority as the kernel shows it; 0 if there is none. */
static unsigned priority_shown(void)
{
    char line[128], sought[32];
    unsigned priority = 0;
    FILE *file = fopen("/proc/tacet/priorities", "re");

    if (!file)
        return 0;
    snprintf(sought, sizeof(sought), " thread %ld ", syscall(SYS_gettid));
    while (fgets(line, sizeof(line), file)) {
        const char *word = strstr(line, "priority ");

        if (strstr(line, sought) && word)
            priority = (unsigned)strtoul(word + strlen("priority "), NULL, 10);
    }
    fclose(file);
    return priority;
}

static void compute_modelled(size_t number)
{
    const unsigned medium = balance_rules_default.lowest;
    unsigned priority[2];
    uint64_t running_ns[2];

    for (int i = 0; i < 2; i++)
        priority[i] = job.priority[i] ? job.priority[i] : medium;
    model_iteration(&job.settings->model, job.settings->work_ns, priority, running_ns);

    const struct timespec time = { .tv_sec = (time_t)(running_ns[number] / 1000000000),
                                   .tv_nsec = (long)(running_ns[number] % 1000000000) };
    nanosleep(&time, NULL);
}

static void compute(size_t number)
{
    if (job.settings->modelled)
        compute_modelled(number);
    else
        fixed_work((uint64_t)((double)job.settings->work_ns[number] * job.turns_per_ns));
}

static void iterate(struct balance *balance, size_t number, struct note *note)
{
    note->priority = job.priority[number] = priority_shown();
    meet(); /* all have shown their priorities */
    balance_iteration_begin(balance);
    compute(number);
    balance_wait_begin(balance);
    meet();
    balance_wait_end(balance);
    note->times = balance->figures->last;
}

static void *rank_run(void *argument)
{
    const size_t number = (size_t)(uintptr_t)argument;
    struct balance balance;
    int error = affinity_pin(job.cpus[number]);

    if (!error)
        error = balance_join(&balance, job.name, NULL);
    if (error)
        __atomic_store_n(&job.error, error, __ATOMIC_RELAXED);
    pthread_barrier_wait(&job.barrier);
    const bool all_have_joined = !__atomic_load_n(&job.error, __ATOMIC_RELAXED);

    for (uint64_t i = 0; all_have_joined && i < job.settings->iterations; i++)
        iterate(&balance, number, &job.notes[number][i]);
    pthread_barrier_wait(&job.barrier);
    if (error)
        return NULL;
    job.figures[number] = *balance.figures;
    if (!number)
        job.steps = balance.place->steps;
    balance_leave(&balance);
    return NULL;
}

/* ---- CPUs ---- */

/* Chooses CPUs for the ranks from the first that are allowed, with a core's hardware threads next to each
 * other. Returns how many different CPUs it found. */
static size_t cpus_choose(size_t ranks)
{
    static uint32_t allowed[CPUS_MAX];
    const size_t count = affinity_allowed(allowed, CPUS_MAX);
    size_t chosen = 0;

    for (size_t first = 0; first < count && chosen < ranks; first++) {
        const unsigned core = balance_core_of(allowed[first]);
        bool is_new = true;

        for (size_t i = 0; i < first; i++)
            is_new = is_new && balance_core_of(allowed[i]) != core;
        for (size_t i = first; is_new && i < count && chosen < ranks; i++)
            if (balance_core_of(allowed[i]) == core)
                job.cpus[chosen++] = allowed[i];
    }
    for (size_t i = chosen; i < ranks; i++)
        job.cpus[i] = job.cpus[i % chosen];
    return chosen;
}

static bool cpus_suit(size_t found)
{
    const struct job_settings *settings = job.settings;

    if (settings->modelled) {
        if (settings->ranks == 2 && balance_core_of(job.cpus[0]) == balance_core_of(job.cpus[1]))
            return true;
        fputs("balance: job --modelled: the model has two ranks on one core; give two works, on a machine "
              "with two hardware threads per core or a single CPU\n",
              stderr);
        return false;
    }
    if (found >= settings->ranks || settings->model.yields)
        return true;
    fprintf(stderr, "balance: job: %zu ranks that poll need a CPU each, and there are %zu; give --yield\n",
            settings->ranks, found);
    return false;
}

/* Measures the turns of fixed_work in a nanosecond, alone on the core. */
static double turns_calibrate(void)
{
    struct timespec first, last;
    double shortest_ns = 0;

    for (int i = 0; i < 5; i++) {
        clock_gettime(CLOCK_MONOTONIC, &first);
        fixed_work(CALIBRATE_TURNS);
        clock_gettime(CLOCK_MONOTONIC, &last);
        const double ns = (double)(last.tv_sec - first.tv_sec) * 1e9 + (double)(last.tv_nsec - first.tv_nsec);
        if (!i || ns < shortest_ns)
            shortest_ns = ns;
    }
    return shortest_ns > 0 ? CALIBRATE_TURNS / shortest_ns : 1;
}

/* ---- Results ---- */

static void notes_print(void)
{
    const size_t ranks = job.settings->ranks;

    for (uint64_t i = 0; i < job.settings->iterations; i++) {
        printf("iteration %" PRIu64 " priorities", i + 1);
        for (size_t j = 0; j < ranks; j++)
            printf(" %u", job.notes[j][i].priority);
        printf(" running_us");
        for (size_t j = 0; j < ranks; j++)
            printf(" %" PRIu64, job.notes[j][i].times.running_ns / 1000);
        printf(" utilisation");
        for (size_t j = 0; j < ranks; j++)
            printf(" %.2f", balance_utilisation(job.notes[j][i].times) / 1000.0);
        putchar('\n');
    }
    for (size_t j = 0; j < ranks; j++)
        printf("rank %zu cpu %" PRIu32 " priority %" PRIu32 " iterations %" PRIu64 " utilisation %.2f\n", j,
               job.figures[j].cpu, job.figures[j].priority, job.figures[j].iterations,
               balance_utilisation(job.figures[j].sum) / 1000.0);
    printf("steps %" PRIu32 "\n", job.steps);
    if (!job.figures[0].priority)
        puts("This machine has no hardware priorities, or the system does not give them: nothing was "
             "balanced.");
}

int job_run(const struct job_settings *settings)
{
    pthread_t threads[BALANCE_SIBLINGS_MAX];

    job.settings = settings;
    if (settings->name)
        snprintf(job.name, sizeof(job.name), "%s", settings->name);
    else
        snprintf(job.name, sizeof(job.name), "job.%d", getpid());
    if (!cpus_suit(cpus_choose(settings->ranks)))
        return 2;
    job.turns_per_ns = settings->modelled ? 1 : turns_calibrate();
    pthread_barrier_init(&job.barrier, NULL, (unsigned)settings->ranks);
    for (size_t i = 0; i < settings->ranks; i++) {
        int error = pthread_create(&threads[i], NULL, rank_run, (void *)(uintptr_t)i);

        if (error) {
            fprintf(stderr, "balance: job: cannot start a thread: %s; on Tacet boot with threads=%zu\n",
                    strerror(error), settings->ranks + 1);
            balance_page_remove(job.name);
            exit(1);
        }
    }
    for (size_t i = 0; i < settings->ranks; i++)
        pthread_join(threads[i], NULL);
    if (job.error) {
        fprintf(stderr, "balance: job: %s\n", strerror(-job.error));
        return 1;
    }
    notes_print();
    return 0;
}
