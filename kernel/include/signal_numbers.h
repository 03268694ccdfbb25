/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * signal_numbers.h: Linux's signal numbers, the same on all architectures that Tacet runs on [man 7 signal].
 */
#ifndef TACET_SIGNAL_NUMBERS_H
#define TACET_SIGNAL_NUMBERS_H

#include <stdbool.h>

enum {
    SIGNAL_ILL = 4,
    SIGNAL_TRAP = 5,
    SIGNAL_ABRT = 6,
    SIGNAL_BUS = 7,
    SIGNAL_FPE = 8,
    SIGNAL_KILL = 9,
    SIGNAL_SEGV = 11,
    SIGNAL_PIPE = 13,
    SIGNAL_CHLD = 17,
    SIGNAL_CONT = 18,
    SIGNAL_STOP = 19,
    SIGNAL_URG = 23,
    SIGNAL_WINCH = 28,
    SIGNAL_COUNT = 64,
};

const char *signal_name(int signal);
bool signal_ignored_by_default(int signal);

#endif
