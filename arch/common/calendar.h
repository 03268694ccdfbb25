/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * calendar.h: what a battery clock shows, in seconds. Portable C.
 */
#ifndef ARCH_CALENDAR_H
#define ARCH_CALENDAR_H

#include <stdint.h>

/* A moment by the Gregorian calendar, in UTC; months and days are counted from 1. */
struct calendar_time {
    unsigned year, month, day, hour, minute, second;
};

/* Returns the days from 1970-01-01 to the given date, for years from 1970 on. Years are counted from March,
 * so that a leap day is the last of its year; five months from March or August on have 153 days. */
static inline uint64_t days_since_1970(unsigned year, unsigned month, unsigned day)
{
    uint64_t years = year - (month <= 2), months = (month + 9) % 12;
    const uint64_t until_1970 = 719469; /* the same sum for 1970-01-01 */

    return years * 365 + years / 4 - years / 100 + years / 400 + (months * 153 + 2) / 5 + day - until_1970;
}

/* Returns seconds since 1970; 0 for an invalid time: a clock that does not exist may show anything. */
static inline uint64_t calendar_seconds(const struct calendar_time *at)
{
    if (at->year < 1970 || at->year > 9999 || at->month < 1 || at->month > 12 || at->day < 1 ||
        at->day > 31 || at->hour > 23 || at->minute > 59 || at->second > 59)
        return 0;
    return days_since_1970(at->year, at->month, at->day) * 86400 + at->hour * 3600ULL + at->minute * 60ULL +
           at->second;
}

#endif
