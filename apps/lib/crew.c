/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crew.c: threads that share one work; crew.h documents them. Threads are made before anything is timed, and
 * stay until all is done. In each repetition they meet twice at a barrier. The barrier is a count of arrivals
 * and a generation, which the last thread to arrive advances.
 */
#define _GNU_SOURCE
#include "crew.h"

#include "affinity.h"
#include "cycles.h"
#include "memory.h"
#include "parse.h"
#include "tacet.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REPETITIONS_MAX 1000000

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
    const struct crew_program *program;
    struct crew_arrays arrays;
    uint64_t threads, repetitions;
    uint64_t minimum_ticks, sum_ticks; /* of the quickest repetition, of all of them */
    /* In separate cache lines: waiting threads read the generation while arriving threads write the count. */
    _Alignas(64) _Atomic uint32_t arrived;
    _Alignas(64) _Atomic uint32_t generation;
    _Alignas(64) struct crew_member members[CREW_MAX];
};

static void crew_meet(struct crew *crew)
{
    uint32_t generation = atomic_load_explicit(&crew->generation, memory_order_acquire);

    if (atomic_fetch_add_explicit(&crew->arrived, 1, memory_order_acq_rel) + 1 == crew->threads) {
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
    const struct crew_program *program = crew->program;
    uint64_t entries;

    member->pinned = affinity_pin(member->cpu) == 0;
    crew_meet(crew);
    program->part(&crew->arrays, member->number, crew->threads); /* touches every page and cache line */
    crew_meet(crew);
    entries = tacet_kernel_entries(member->cpu);
    for (uint64_t i = 0; i < crew->repetitions; i++) {
        uint64_t begin, ticks;

        crew_meet(crew);
        begin = cycles_now();
        program->part(&crew->arrays, member->number, crew->threads);
        crew_meet(crew);
        ticks = cycles_now() - begin;
        if (member->number == 0) {
            crew->sum_ticks += ticks;
            if (ticks < crew->minimum_ticks)
                crew->minimum_ticks = ticks;
        }
    }
    member->kernel_entries = tacet_kernel_entries(member->cpu) - entries;
    /* No thread ends before all have read the counters, as the end enters the kernel and may wake a CPU. */
    crew_meet(crew);
    return NULL;
}

/* Reads the command line over the defaults. On an error prints it with the usage, and returns false. */
static bool options_read(int count, char **words, struct crew *crew)
{
    const struct crew_program *program = crew->program;
    const char *wrong = NULL;
    uint64_t size = program->size_default;

    crew->threads = 1;
    crew->repetitions = program->repetitions_default;
    for (int option; !wrong && (option = getopt(count, words, "t:n:r:")) != -1;)
        wrong = option == 't'   ? parse_count(optarg, 1, CREW_MAX, &crew->threads)
                : option == 'n' ? parse_count(optarg, 1, program->size_max, &size)
                : option == 'r' ? parse_count(optarg, 1, REPETITIONS_MAX, &crew->repetitions)
                                : "no such option";
    if (!wrong && optind != count)
        wrong = "one word too many";
    if (wrong)
        fprintf(stderr, "%s: %s\nusage: %s [-t THREADS] [-n %s] [-r REPETITIONS]\n", program->name, wrong,
                program->name, program->size_name);
    crew->arrays.size = (size_t)size;
    return !wrong;
}

/* Allocates the arrays. If there is no memory, prints a message and returns false. */
static bool arrays_make(const struct crew_program *program, struct crew_arrays *arrays)
{
    size_t elements = program->elements(arrays->size);

    arrays->a = memory_ready(elements * sizeof(double));
    arrays->b = memory_ready(elements * sizeof(double));
    arrays->c = memory_ready(elements * sizeof(double));
    if (!arrays->a || !arrays->b || !arrays->c) {
        fprintf(stderr, "%s: no memory for three arrays of %zu doubles\n", program->name, elements);
        return false;
    }
    program->fill(arrays);
    return true;
}

/* Runs the threads. If threads or CPUs are missing, prints a message and returns false. */
static bool crew_run(struct crew *crew)
{
    const char *name = crew->program->name;
    uint32_t cpus[CREW_MAX];
    size_t allowed = affinity_allowed(cpus, CREW_MAX);
    bool pinned = true;

    if (crew->threads > allowed) {
        fprintf(stderr, "%s: %" PRIu64 " threads need a CPU each; there are %zu CPUs\n", name, crew->threads,
                allowed);
        return false;
    }
    crew->minimum_ticks = UINT64_MAX;
    for (size_t i = 0; i < crew->threads; i++)
        crew->members[i] = (struct crew_member){ .crew = crew, .number = i, .cpu = cpus[i] };
    for (size_t i = 1; i < crew->threads; i++) {
        int error = pthread_create(&crew->members[i].handle, NULL, crew_member_run, &crew->members[i]);

        if (error) { /* threads that already run wait for this one; only the process's end stops them */
            fprintf(stderr, "%s: thread %zu cannot be started: %s\n", name, i, strerror(error));
            return false;
        }
    }
    crew_member_run(&crew->members[0]);
    for (size_t i = 0; i < crew->threads; i++) {
        if (i > 0)
            pthread_join(crew->members[i].handle, NULL);
        pinned &= crew->members[i].pinned;
    }
    if (!pinned)
        fprintf(stderr, "%s: a thread could not be bound to its CPU\n", name);
    return pinned;
}

static void result_print(const struct crew *crew)
{
    const struct crew_program *program = crew->program;
    uint64_t kernel_entries = 0;

    for (size_t i = 0; i < crew->threads; i++)
        kernel_entries += crew->members[i].kernel_entries;
    printf("threads %" PRIu64 "\nrepetitions %" PRIu64 "\n", crew->threads, crew->repetitions);
    printf("least_ticks %" PRIu64 "\n", crew->minimum_ticks);
    printf("mean_ticks %" PRIu64 "\n", crew->sum_ticks / crew->repetitions);
    if (tacet_node())
        printf("kernel_entries %" PRIu64 "\n", kernel_entries);
    printf("%s %" PRIu64 "\n", program->amount_name, program->amount(crew->arrays.size));
}

int crew_main(int count, char **words, const struct crew_program *program)
{
    static struct crew crew;

    crew.program = program;
    if (!options_read(count, words, &crew))
        return 64;
    if (!arrays_make(program, &crew.arrays))
        return 65;
    if (!crew_run(&crew))
        return 73;
    if (!program->is_right(&crew.arrays)) {
        fprintf(stderr, "%s: the result is wrong\n", program->name);
        return 1;
    }
    result_print(&crew);
    return 0;
}
