/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * faults.h: what the tests of faults on every architecture share: a handler notes and jumps back, and TRY
 * prints which signal came, and its code.
 */
#ifndef FAULTS_H
#define FAULTS_H

#include <setjmp.h>
#include <signal.h>
#include <string.h>

static sigjmp_buf back;
static siginfo_t reported;

#define TRY(name, ...)                                                     \
    do {                                                                   \
        memset(&reported, 0, sizeof(reported));                            \
        if (sigsetjmp(back, 1) == 0) {                                     \
            __VA_ARGS__;                                                   \
        }                                                                  \
        result(name, reported.si_signo * 100 + (reported.si_code & 0xff)); \
    } while (0)

#endif
