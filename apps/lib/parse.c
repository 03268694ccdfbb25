/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * parse.c: option values of the benchmarks: counts, times, CPU lists. Strict: a value is taken whole or
 * refused, because a benchmark that silently measures something else is worse than one that does not run.
 * Pure; no allocation.
 */
#include "parse.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads decimal digits at `*text` and moves past them; false if there are none or they exceed 64 bits. */
static bool digits_read(const char **text, uint64_t *value)
{
    const char *p = *text;
    uint64_t sum = 0;

    if (*p < '0' || *p > '9')
        return false;
    for (; *p >= '0' && *p <= '9'; p++) {
        if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_add_overflow(sum, (uint64_t)(*p - '0'), &sum))
            return false;
    }
    *text = p;
    *value = sum;
    return true;
}

const char *parse_count(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *value)
{
    static char right[96];
    uint64_t number;

    snprintf(right, sizeof right, "give a whole number from %llu to %llu", (unsigned long long)minimum,
             (unsigned long long)maximum);
    if (!digits_read(&text, &number) || *text || number < minimum || number > maximum)
        return right;
    *value = number;
    return NULL;
}

const char *parse_positive(const char *text, double maximum, double *value)
{
    static char right[96];
    char *end;
    double number;

    snprintf(right, sizeof right, "give a number above 0, at most %g, such as 2.6", maximum);
    if ((*text < '0' || *text > '9') && *text != '.')
        return right;
    number = strtod(text, &end);
    if (end == text || *end || !(number > 0) || number > maximum)
        return right;
    *value = number;
    return NULL;
}

/* Reads a time up to a comma or the end; false if there is none or it is out of range. */
static bool time_read(const char **text, uint64_t ns_max, uint64_t *time_ns)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = { { "", 1 }, { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };
    uint64_t number, ns;
    size_t letters;

    if (!digits_read(text, &number))
        return false;
    letters = strcspn(*text, ",");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strlen(units[i].name) != letters || strncmp(*text, units[i].name, letters))
            continue;
        if (__builtin_mul_overflow(number, units[i].ns, &ns) || ns == 0 || ns > ns_max)
            return false;
        *text += letters;
        *time_ns = ns;
        return true;
    }
    return false;
}

#define HOUR_NS UINT64_C(3600000000000)

const char *parse_time_ns(const char *text, uint64_t *time_ns)
{
    uint64_t ns;

    if (!time_read(&text, HOUR_NS, &ns) || *text)
        return "give a time from 1ns to 3600s as a whole number with ns, us, ms or s, such as 1ms";
    *time_ns = ns;
    return NULL;
}

const char *parse_duration_ns(const char *text, uint64_t *time_ns)
{
    uint64_t ns;

    if (!time_read(&text, PARSE_DAYS_MAX * 24 * HOUR_NS, &ns) || *text)
        return "give a time from 1ns to 2592000s (30 days) as a whole number with ns, us, ms or s, such as "
               "10s";
    *time_ns = ns;
    return NULL;
}

const char *parse_time_list(const char *text, uint64_t *times_ns, size_t room, size_t *count)
{
    static char right[112];
    size_t found = 0;

    snprintf(right, sizeof right, "give at most %zu times, 1ns to 3600s, with commas, such as 1us,10us,1ms",
             room);
    for (;; text++) {
        uint64_t ns;

        if (found == room || !time_read(&text, HOUR_NS, &ns))
            return right;
        times_ns[found++] = ns;
        if (!*text)
            break;
        if (*text != ',')
            return right;
    }
    *count = found;
    return NULL;
}

const char *parse_count_list(const char *text, uint64_t minimum, uint64_t maximum, uint64_t *values,
                             size_t room, size_t *count)
{
    static char right[128];
    size_t found = 0;

    snprintf(right, sizeof right, "give at most %zu whole numbers from %llu to %llu with commas", room,
             (unsigned long long)minimum, (unsigned long long)maximum);
    for (;; text++) {
        uint64_t number;

        if (found == room || !digits_read(&text, &number) || number < minimum || number > maximum)
            return right;
        values[found++] = number;
        if (!*text)
            break;
        if (*text != ',')
            return right;
    }
    *count = found;
    return NULL;
}

const char *parse_cpu_list(const char *text, uint32_t *cpus, size_t room, size_t *count)
{
    static const char right[] =
        "give CPU numbers and rising ranges with commas, each CPU once, such as 0,2-3";
    static char full[64];
    size_t found = 0;

    for (;;) {
        uint64_t first, last;

        if (!digits_read(&text, &first))
            return right;
        last = first;
        if (*text == '-') {
            text++;
            if (!digits_read(&text, &last))
                return right;
        }
        if (last < first || last > UINT16_MAX)
            return right;
        for (uint64_t cpu = first; cpu <= last; cpu++) {
            for (size_t i = 0; i < found; i++) {
                if (cpus[i] == cpu)
                    return right;
            }
            if (found == room) {
                snprintf(full, sizeof full, "give at most %zu CPUs", room);
                return full;
            }
            cpus[found++] = (uint32_t)cpu;
        }
        if (!*text)
            break;
        if (*text++ != ',')
            return right;
    }
    *count = found;
    return NULL;
}
