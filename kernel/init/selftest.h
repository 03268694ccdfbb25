/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * selftest.h: trials that need the real clock event device and more timers than one program can ask for;
 * `selftest=timers` on the command line runs them instead of the program.
 */
#ifndef TACET_SELFTEST_H
#define TACET_SELFTEST_H

#include "mm/memplan.h"
#include <stdbool.h>

/* selftest_network.c: `selftest=network`, or `selftest=network-polled` without interrupts: does what a peer
 * on the wire orders, frame by frame, without the stack, until that orders the end. */
_Noreturn void selftest_network(bool interrupts);

/* Runs the trial `name` on this CPU, with `slice` as its memory, prints lines "selftest: key value" and ends
 * the node: status 0, or 1 where a promise was broken. Stops the node for an unknown name. */
_Noreturn void selftest_run(const char *name, const struct memory_slice *slice);

#endif
