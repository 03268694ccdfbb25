/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.h: the command line of FTQ. The letters -n -f -o -t -T -w are those of the public tool, with its
 * meaning.
 */
#ifndef FTQ_OPTIONS_H
#define FTQ_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FTQ_THREADS_MOST       256
#define FTQ_SAMPLES_MOST       10000000
#define FTQ_SAMPLES_DEFAULT    10000   /* ten seconds of the default quantum */
#define FTQ_QUANTUM_NS_DEFAULT 1000000 /* the quantum of [Betti09 §VI-A]: about 31300 operations */

struct ftq_options {
    uint64_t samples;
    uint64_t quantum_ns;
    const char *quantum_text; /* as the user gave it, for messages; "-q 1ms" */
    double ticks_per_ns;      /* 0: calibrate */
    const char *prefix;       /* output files are PREFIX_T.dat */
    bool to_stdout;
    bool cpus_given; /* by -c, -t or -w: then failing to be there is an error */
    size_t thread_count;
    uint32_t cpus[FTQ_THREADS_MOST];
};

/* Reads the command line. On a bad one, or on -h, prints and exits (status 2, or 0). */
void ftq_options_read(int argc, char **argv, struct ftq_options *options);

#endif /* FTQ_OPTIONS_H */
