/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * parse.h: option values of the benchmarks. Every parser answers NULL when it understood the text, and else a
 * short phrase that says what would be right, ready to stand behind "ftq: -q 5parsecs: "; nothing is written
 * then. Pure; no allocation.
 */
#ifndef PARSE_H
#define PARSE_H

#include <stddef.h>
#include <stdint.h>

/* A whole number in `least` .. `most`, decimal. */
const char *parse_count(const char *text, uint64_t least, uint64_t most, uint64_t *value);

/* A positive decimal number such as 2.6; at most `most`. */
const char *parse_positive(const char *text, double most, double *value);

/* A time, `1ms`, `500us`, `2s`, `250000ns` or `250000` (ns); whole number of ns in 1 ns .. one hour. */
const char *parse_time_ns(const char *text, uint64_t *time_ns);

/*
 * A CPU list as Linux writes it, `0,2-3`: numbers and ranges, each CPU once, in the order given.
 * Fills `cpus` (room for `room`) and `*count`.
 */
const char *parse_cpu_list(const char *text, uint32_t *cpus, size_t room, size_t *count);

#endif /* PARSE_H */
