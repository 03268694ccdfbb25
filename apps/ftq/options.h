/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.h: the command line of FTQ. -n -f -o -t -T -w mean what they mean in the public tool.
 */
#ifndef FTQ_OPTIONS_H
#define FTQ_OPTIONS_H

#include "bench.h"

#include <stdint.h>

#define FTQ_SAMPLES_MAX        10000000
#define FTQ_SAMPLES_DEFAULT    10000   /* ten seconds of the default quantum */
#define FTQ_QUANTUM_NS_DEFAULT 1000000 /* the quantum of [Betti09 §VI-A]: about 31300 operations */

struct ftq_options {
    struct bench bench; /* output, CPUs, clock */
    uint64_t samples;
    uint64_t quantum_ns;
    uint64_t threshold_ns;    /* the shortest loss that counts; 0: two operations, or the floor's reach */
    const char *quantum_text; /* as the user gave it, for messages; "-q 1ms" */
};

/* Reads the command line. On a bad one, or on -h, prints and exits (status 2, or 0). */
void ftq_options_read(int argc, char **argv, struct ftq_options *options);

#endif /* FTQ_OPTIONS_H */
