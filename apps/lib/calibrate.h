/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * calibrate.h: measures, before a measuring window opens, how long a tick of the clock and a basic operation
 * of this machine last. Spins; may call clock_gettime.
 */
#ifndef CALIBRATE_H
#define CALIBRATE_H

#include <stdint.h>

/* The clock's resolution. */
struct clock_grain {
    uint64_t step_ticks; /* smallest increase seen between two reads */
    uint64_t read_ticks; /* median increase between two reads back to back: what a read costs */
};

/*
 * Returns the ticks of cycles_now() in a nanosecond: on Tacet from the kernel's calibration, elsewhere
 * measured against CLOCK_MONOTONIC_RAW for about 100 ms. Returns 0 if the system has no such clock.
 */
double calibrate_ticks_per_ns(void);

/* Returns what CLOCK_MONOTONIC_RAW showed, in ns, when cycles_now() returned `ticks`, by this rate. */
uint64_t calibrate_ns_of(uint64_t ticks, double ticks_per_ns);

/* Measures the clock's grain with a few thousand reads back to back. */
struct clock_grain calibrate_clock_grain(void);

/* Returns the ticks of one undisturbed basic operation: the smallest mean of many short runs of this number
 * of operations. */
#define CALIBRATE_OPERATIONS 2000
double calibrate_operation_ticks(void);

#endif /* CALIBRATE_H */
