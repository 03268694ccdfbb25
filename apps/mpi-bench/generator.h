/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * generator.h: the pseudo-random numbers of the NAS Parallel Benchmarks: x' = 5^13 x mod 2^46; the number is
 * x' / 2^46. It uses whole numbers of 64 bits, in which the product's low 46 bits are exact. A power of the
 * multiplier reaches any place of the sequence, so any number of ranks can share one sequence.
 *
 * Source: D. Bailey et al., The NAS Parallel Benchmarks, RNR-94-007, section 2.3.
 */
#ifndef MPI_BENCH_GENERATOR_H
#define MPI_BENCH_GENERATOR_H

#include <stdint.h>

#define GENERATOR_BITS       46
#define GENERATOR_MASK       ((UINT64_C(1) << GENERATOR_BITS) - 1)
#define GENERATOR_MULTIPLIER UINT64_C(1220703125)

/* Returns the next number, times 2^46. */
static inline uint64_t generator_next(uint64_t *state)
{
    *state = *state * GENERATOR_MULTIPLIER & GENERATOR_MASK;
    return *state;
}

/* Returns the state after `steps` numbers from `seed`. */
static inline uint64_t generator_after(uint64_t seed, uint64_t steps)
{
    uint64_t power = GENERATOR_MULTIPLIER;

    for (; steps; steps >>= 1) {
        if (steps & 1)
            seed = seed * power & GENERATOR_MASK;
        power = power * power & GENERATOR_MASK;
    }
    return seed;
}

#endif /* MPI_BENCH_GENERATOR_H */
