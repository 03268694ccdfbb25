/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crew.h: one piece of work shared by several threads of a process, one pinned thread a CPU, done over and
 * over and timed. The caller is the first thread. Threads meet at a barrier that spins, so that nothing in
 * the timed loop has a reason to enter the kernel; on Tacet the kernel's own counters of each thread's
 * CPU, read without entering it, tell whether something did.
 *
 * Unlike a team (team.h), whose members each measure noise for themselves, a crew works on one thing.
 */
#ifndef CREW_H
#define CREW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CREW_MOST 256

struct crew_work {
    const char *program; /* for messages */
    size_t threads;      /* 1 .. CREW_MOST, and at most the CPUs that the process may use */
    unsigned repetitions;
    /* Thread `number` of `count` does its part; called once untimed, then `repetitions` times, all threads
     * together. */
    void (*part)(void *data, size_t number, size_t count);
    void *data;
};

struct crew_result {
    uint64_t least_ticks; /* of the quickest repetition; ticks of cycles_now() */
    uint64_t sum_ticks;   /* of all of them */
    bool counted;         /* whether this system counts kernel entries */
    uint64_t kernel_entries; /* of all CPUs, from before the first timed repetition until after the last */
};

/* What the command line asks for: -t THREADS -n SIZE -r REPETITIONS. */
struct crew_options {
    uint64_t threads, size, repetitions;
};

/* Reads it into `options`, which hold the defaults. False, with what was wrong and the usage on standard
 * error, where SIZE is called `size_name`, and is at most `size_most`. */
bool crew_options_read(int count, char **words, const char *program, const char *size_name, uint64_t size_most,
                       struct crew_options *options);

/* False, with a message on standard error, if the threads or CPUs cannot be had. */
bool crew_run(const struct crew_work *work, struct crew_result *result);

/* Prints `key value` lines: threads, repetitions, ticks, kernel entries. */
void crew_print(const struct crew_work *work, const struct crew_result *result);

#endif /* CREW_H */
