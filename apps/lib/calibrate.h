/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * calibrate.h: what one tick of the clock and one basic operation of this machine last, found out before a
 * measuring window opens. Spins; may call clock_gettime.
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
 * Ticks of cycles_now() in a nanosecond. On Tacet the kernel's own calibration, elsewhere measured against
 * CLOCK_MONOTONIC_RAW for about 100 ms. Answers 0 when there is no clock to measure against.
 */
double calibrate_ticks_per_ns(void);

/* The reading of CLOCK_MONOTONIC_RAW, ns, at the moment at which cycles_now() read `ticks`, by this rate. */
uint64_t calibrate_ns_of(uint64_t ticks, double ticks_per_ns);

/* The clock's grain from a few thousand reads back to back. */
struct clock_grain calibrate_clock_grain(void);

/* Ticks of one undisturbed basic operation: the smallest mean of many short runs of so many operations. */
#define CALIBRATE_OPERATIONS 2000
double calibrate_operation_ticks(void);

#endif /* CALIBRATE_H */
