/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crew.c: threads that share one piece of work; crew.h tells what for. Threads are made before anything is
 * timed, and stay until all is done: each repetition is two meetings at a barrier with a count and a
 * generation, which the last to come moves on.
 */
#define _GNU_SOURCE
#include "crew.h"

#include "affinity.h"
#include "cycles.h"
#include "parse.h"
#include "tacet.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REPETITIONS_MOST 1000000

struct crew;

struct crew_member {
    struct crew *crew;
    size_t number;
    uint32_t cpu;
    bool pinned;
    uint64_t kernel_entries;
    pthread_t handle;
};

struct crew {
    const struct crew_work *work;
    struct crew_result *result;
    /* In cache lines of their own: the waiting read the one while the coming write the other. */
    _Alignas(64) _Atomic uint32_t arrived;
    _Alignas(64) _Atomic uint32_t generation;
    _Alignas(64) struct crew_member members[CREW_MOST];
};

static void crew_meet(struct crew *crew)
{
    uint32_t generation = atomic_load_explicit(&crew->generation, memory_order_acquire);

    if (atomic_fetch_add_explicit(&crew->arrived, 1, memory_order_acq_rel) + 1 == crew->work->threads) {
        atomic_store_explicit(&crew->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&crew->generation, generation + 1, memory_order_release);
        return;
    }
    while (atomic_load_explicit(&crew->generation, memory_order_acquire) == generation)
        cycles_relax();
}

static void *crew_member_run(void *argument)
{
    struct crew_member *member = argument;
    struct crew *crew = member->crew;
    const struct crew_work *work = crew->work;
    uint64_t entries;

    member->pinned = affinity_pin(member->cpu) == 0;
    crew_meet(crew);
    work->part(work->data, member->number, work->threads); /* every page and cache line once */
    crew_meet(crew);
    entries = tacet_kernel_entries(member->cpu);
    for (unsigned i = 0; i < work->repetitions; i++) {
        uint64_t begin, ticks;

        crew_meet(crew);
        begin = cycles_now();
        work->part(work->data, member->number, work->threads);
        crew_meet(crew);
        ticks = cycles_now() - begin;
        if (member->number == 0) {
            crew->result->sum_ticks += ticks;
            if (ticks < crew->result->least_ticks)
                crew->result->least_ticks = ticks;
        }
    }
    member->kernel_entries = tacet_kernel_entries(member->cpu) - entries;
    /* Nobody ends, which enters the kernel and may wake somebody, before all have counted. */
    crew_meet(crew);
    return NULL;
}

bool crew_options_read(int count, char **words, const char *program, const char *size_name, uint64_t size_most,
                       struct crew_options *options)
{
    const char *wrong = NULL;

    for (int option; !wrong && (option = getopt(count, words, "t:n:r:")) != -1;)
        wrong = option == 't'   ? parse_count(optarg, 1, CREW_MOST, &options->threads)
                : option == 'n' ? parse_count(optarg, 1, size_most, &options->size)
                : option == 'r' ? parse_count(optarg, 1, REPETITIONS_MOST, &options->repetitions)
                                : "no such option";
    if (!wrong && optind != count)
        wrong = "one word too many";
    if (wrong)
        fprintf(stderr, "%s: %s\nusage: %s [-t THREADS] [-n %s] [-r REPETITIONS]\n", program, wrong, program,
                size_name);
    return !wrong;
}

bool crew_run(const struct crew_work *work, struct crew_result *result)
{
    static struct crew crew;
    uint32_t cpus[CREW_MOST];
    size_t allowed = affinity_allowed(cpus, CREW_MOST);
    bool pinned = true;

    if (work->threads < 1 || work->threads > allowed) {
        fprintf(stderr, "%s: %zu threads need as many CPUs; there are %zu\n", work->program, work->threads,
                allowed);
        return false;
    }
    memset(&crew, 0, sizeof(crew));
    *result = (struct crew_result){ .least_ticks = UINT64_MAX, .counted = tacet_node() != NULL };
    crew.work = work;
    crew.result = result;
    for (size_t i = 0; i < work->threads; i++)
        crew.members[i] = (struct crew_member){ .crew = &crew, .number = i, .cpu = cpus[i] };
    for (size_t i = 1; i < work->threads; i++) {
        int error = pthread_create(&crew.members[i].handle, NULL, crew_member_run, &crew.members[i]);

        if (error) { /* those that run wait for this one: the process has to end */
            fprintf(stderr, "%s: thread %zu cannot be started: %s\n", work->program, i, strerror(error));
            return false;
        }
    }
    crew_member_run(&crew.members[0]);
    for (size_t i = 0; i < work->threads; i++) {
        if (i > 0)
            pthread_join(crew.members[i].handle, NULL);
        pinned &= crew.members[i].pinned;
        result->kernel_entries += crew.members[i].kernel_entries;
    }
    if (!pinned)
        fprintf(stderr, "%s: a thread could not be bound to its CPU\n", work->program);
    return pinned;
}

void crew_print(const struct crew_work *work, const struct crew_result *result)
{
    printf("threads %zu\nrepetitions %u\n", work->threads, work->repetitions);
    printf("least_ticks %" PRIu64 "\n", result->least_ticks);
    printf("mean_ticks %" PRIu64 "\n", result->sum_ticks / work->repetitions);
    if (result->counted)
        printf("kernel_entries %" PRIu64 "\n", result->kernel_entries);
}
