/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crew.h: what stream and dgemm share, which is all except the loop itself: several threads work on three
 * arrays of doubles, one pinned thread per CPU; the work is repeated and timed. The caller is the first
 * thread. Threads meet at a barrier that spins, so the timed loop has no reason to enter the kernel. On Tacet
 * the kernel's counters of each thread's CPU, read without entering the kernel, show whether it did.
 *
 * The members of a team (team.h) each measure noise on their own; the threads of a crew share one work.
 */
#ifndef CREW_H
#define CREW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CREW_MAX 256

/* The arrays that a program works on. `size` is the value of -n; its meaning is up to the program. */
struct crew_arrays {
    size_t size;
    double *a, *b, *c;
};

struct crew_program {
    const char *name;      /* for messages */
    const char *size_name; /* what the usage calls the value of -n */
    uint64_t size_default, size_max;
    uint64_t repetitions_default;
    /* Returns the number of elements of each array. */
    size_t (*elements)(size_t size);
    /* Writes the initial values to the arrays, which are zeroed. */
    void (*fill)(const struct crew_arrays *arrays);
    /* Does the part of thread `number` of `count`. All threads call it together: once untimed, then once in
     * each repetition. */
    void (*part)(const struct crew_arrays *arrays, size_t number, size_t count);
    /* Returns whether the arrays hold the right result. */
    bool (*is_right)(const struct crew_arrays *arrays);
    /* Returns the amount of work of one repetition; amount_name is its key in the output. */
    uint64_t (*amount)(size_t size);
    const char *amount_name;
};

/*
 * Runs the whole program: reads -t THREADS -n SIZE -r REPETITIONS, makes the arrays, runs the work, checks
 * the result, and prints `key value` lines: threads, repetitions, ticks of cycles_now() of the quickest
 * repetition and of the mean one, amount of work; on Tacet also the kernel entries of all CPUs from before
 * the first timed repetition until after the last. Returns the exit status: 0, or after a message on standard
 * error 1 (wrong result), 64 (usage), 65 (no memory) or 73 (CPUs or threads are missing).
 */
int crew_main(int count, char **words, const struct crew_program *program);

#endif /* CREW_H */
