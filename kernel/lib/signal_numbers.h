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
    SIGNAL_BUS = 7,
    SIGNAL_FPE = 8,
    SIGNAL_KILL = 9,
    SIGNAL_SEGV = 11,
    SIGNAL_PIPE = 13,
    SIGNAL_ALRM = 14,
    SIGNAL_CHLD = 17,
    SIGNAL_CONT = 18,
    SIGNAL_STOP = 19,
    SIGNAL_TSTP = 20,
    SIGNAL_TTIN = 21,
    SIGNAL_TTOU = 22,
    SIGNAL_URG = 23,
    SIGNAL_XCPU = 24,
    SIGNAL_XFSZ = 25,
    SIGNAL_VTALRM = 26,
    SIGNAL_PROF = 27,
    SIGNAL_WINCH = 28,
    SIGNAL_REAL_TIME = 32, /* from here on they queue */
    SIGNAL_COUNT = 64,
};

/* Why a signal was sent: si_code. */
enum {
    SIGNAL_BY_USER = 0,
    SIGNAL_BY_KERNEL = 0x80,
    SIGNAL_BY_TIMER = -2,
    SIGNAL_BY_TKILL = -6,
    ILL_OPERATION = 1,
    ILL_OPERAND = 2,
    ILL_PRIVILEGED = 5,
    FPE_INTEGER_DIVIDE = 1,
    FPE_DIVIDE = 3,
    FPE_OVERFLOW = 4,
    FPE_UNDERFLOW = 5,
    FPE_INEXACT = 6,
    FPE_INVALID = 7,
    SEGV_NOT_MAPPED = 1,
    SEGV_NO_RIGHT = 2,
    SEGV_BOUND = 3,
    BUS_ALIGNMENT = 1,
    BUS_NO_MEMORY = 2,
    TRAP_BY_BREAKPOINT = 1,
    TRAP_BY_STEP = 2,
};

const char *signal_name(int signal);
bool signal_stops_by_default(int signal);

#endif
