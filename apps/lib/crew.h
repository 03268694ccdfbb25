/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crew.h: one piece of work on three arrays of doubles, shared by several threads of a process, one pinned
 * thread a CPU, repeated and timed: what stream and dgemm have in common, which is all but the loop itself.
 * The caller is the first thread. Threads meet at a barrier that spins, so that nothing in the timed loop has
 * a reason to enter the kernel; on Tacet the kernel's own counters of each thread's CPU, read without
 * entering it, show whether something did.
 *
 * Unlike a team (team.h), whose members each measure noise for themselves, a crew works on one thing.
 */
#ifndef CREW_H
#define CREW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CREW_MAX 256

/* The arrays that a program works on. `size` is the program's -n: what it means is the program's business. */
struct crew_arrays {
    size_t size;
    double *a, *b, *c;
};

struct crew_program {
    const char *name;      /* for messages */
    const char *size_name; /* what the usage calls the value of -n */
    uint64_t size_default, size_max;
    uint64_t repetitions_default;
    /* Elements of each array. */
    size_t (*elements)(size_t size);
    /* Gives the arrays the values to begin with; they are zeroed before. */
    void (*fill)(const struct crew_arrays *arrays);
    /* Thread `number` of `count` does its part; called once untimed, then once a repetition, all threads
     * together. */
    void (*part)(const struct crew_arrays *arrays, size_t number, size_t count);
    /* Whether the arrays hold the result that the work must have. */
    bool (*is_right)(const struct crew_arrays *arrays);
    /* How much work one repetition is, and the key under which that is printed. */
    uint64_t (*amount)(size_t size);
    const char *amount_name;
};

/*
 * The whole program: reads -t THREADS -n SIZE -r REPETITIONS, makes the arrays, runs the work, checks the
 * result, and prints `key value` lines: threads, repetitions, ticks of cycles_now() of the quickest
 * repetition and of the mean one, on Tacet also the kernel entries of all CPUs from before the first timed
 * repetition until after the last, and the amount of work. Returns the exit status: 0, or after a message on
 * standard error 1 (the result is wrong), 64 (usage), 65 (no memory) or 73 (CPUs or threads are missing).
 */
int crew_main(int count, char **words, const struct crew_program *program);

#endif /* CREW_H */
