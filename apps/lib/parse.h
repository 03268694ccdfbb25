/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * parse.h: option values of the benchmarks. Every parser returns NULL if it understands the text. Otherwise
 * it writes nothing, and returns a short phrase that says which values are right, to print after a beginning
 * such as "ftq: -q 5parsecs: ". Pure; no allocation.
 */
#ifndef PARSE_H
#define PARSE_H

#include <stddef.h>
#include <stdint.h>

/* Reads a decimal whole number in `minimum` .. `maximum`. */
const char *parse_count(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *value);

/* Reads a positive decimal number such as 2.6; at most `maximum`. */
const char *parse_positive(const char *text, double maximum, double *value);

/* Reads a time such as `1ms`, `500us`, `2s`, `250000ns` or `250000` (ns), in 1 ns .. one hour. */
const char *parse_time_ns(const char *text, uint64_t *time_ns);

/* Reads a duration: a time as above, up to PARSE_DAYS_MAX days. */
#define PARSE_DAYS_MAX 30
const char *parse_duration_ns(const char *text, uint64_t *time_ns);

/* Reads times as parse_time_ns() takes them, separated by commas, into `times_ns` (room for `room`) and
 * `*count`. */
const char *parse_time_list(const char *text, uint64_t *times_ns, size_t room, size_t *count);

/* Reads whole numbers in `minimum` .. `maximum`, separated by commas. */
const char *parse_count_list(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *values,
                             size_t room, size_t *count);

/*
 * Reads a CPU list as Linux writes it, `0,2-3`: numbers and ranges, each CPU once, in the order given.
 * Fills `cpus` (room for `room`) and `*count`.
 */
const char *parse_cpu_list(const char *text, uint32_t *cpus, size_t room, size_t *count);

#endif /* PARSE_H */
