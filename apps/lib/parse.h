/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * parse.h: option values of the benchmarks. Every parser answers NULL when it understood the text, and else a
 * short phrase that says what would be right, ready to be printed after "ftq: -q 5parsecs: "; nothing is
 * written then. Pure; no allocation.
 */
#ifndef PARSE_H
#define PARSE_H

#include <stddef.h>
#include <stdint.h>

/* A whole number in `minimum` .. `maximum`, decimal. */
const char *parse_count(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *value);

/* A positive decimal number such as 2.6; at most `maximum`. */
const char *parse_positive(const char *text, double maximum, double *value);

/* A time, `1ms`, `500us`, `2s`, `250000ns` or `250000` (ns); whole number of ns in 1 ns .. one hour. */
const char *parse_time_ns(const char *text, uint64_t *time_ns);

/* The same, up to PARSE_DAYS_MAX days: for how long something goes on. */
#define PARSE_DAYS_MAX 30
const char *parse_duration_ns(const char *text, uint64_t *time_ns);

/* Times with commas, as parse_time_ns() takes them, into `times_ns` (room for `room`) and `*count`. */
const char *parse_time_list(const char *text, uint64_t *times_ns, size_t room, size_t *count);

/* Whole numbers in `minimum` .. `maximum` with commas. */
const char *parse_count_list(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *values,
                             size_t room, size_t *count);

/*
 * A CPU list as Linux writes it, `0,2-3`: numbers and ranges, each CPU once, in the order given.
 * Fills `cpus` (room for `room`) and `*count`.
 */
const char *parse_cpu_list(const char *text, uint32_t *cpus, size_t room, size_t *count);

#endif /* PARSE_H */
