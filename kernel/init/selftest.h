/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * selftest.h: `selftest=network` on the command line tries the network's cards instead of running a program.
 */
#ifndef TACET_SELFTEST_H
#define TACET_SELFTEST_H

#include <stdbool.h>

/* `selftest=network`, or `selftest=network-polled` without interrupts: does what a peer on the wire orders,
 * frame by frame, without the stack, until that orders the end. */
_Noreturn void selftest_network(bool interrupts);

#endif
