/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check.h: results of the programs in this folder. Each check prints a line, which is the same on every
 * machine if it succeeds. A failed check prints WRONG, and the program ends with 1. For a program of one
 * file.
 */
#ifndef CHECK_H
#define CHECK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static int wrong;

static inline void check(const char *what, bool right)
{
    printf("%s: %s\n", what, right ? "yes" : "WRONG");
    wrong += !right;
}

/* Ends the program with 1 if a step has failed that the rest needs. */
static inline void must(const char *what, bool right)
{
    if (right)
        return;
    printf("%s: WRONG, the end\n", what);
    exit(1);
}

/* Runs `run` in `count` threads at once, each with its number, and waits for all. */
struct crew_member {
    pthread_t thread;
    void (*run)(int number);
    int number;
};

static inline void *crew_begin(void *data)
{
    const struct crew_member *member = data;

    member->run(member->number);
    return NULL;
}

static inline void crew_run(int count, void (*run)(int number))
{
    struct crew_member *crew = calloc((size_t)count, sizeof(*crew));

    must("memory for a crew", crew != NULL);
    for (int i = 0; i < count; i++) {
        crew[i].run = run;
        crew[i].number = i;
        must("a thread", pthread_create(&crew[i].thread, NULL, crew_begin, &crew[i]) == 0);
    }
    for (int i = 0; i < count; i++)
        pthread_join(crew[i].thread, NULL);
    free(crew);
}

/* Returns the first argument as a count from 1 to 64; `otherwise` if there is none. */
static inline int count_of(int argc, char **argv, int otherwise)
{
    int count = argc > 1 ? atoi(argv[1]) : otherwise;

    must("a count from 1 to 64", count >= 1 && count <= 64);
    return count;
}

#endif
