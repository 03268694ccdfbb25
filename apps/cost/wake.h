/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wake.h: the cost to wake a thread that waits on another CPU.
 */
#ifndef COST_WAKE_H
#define COST_WAKE_H

#include <stdint.h>

/* Measures the ticks from before the waker's call of futex(FUTEX_WAKE) to after the waiter's return from
 * FUTEX_WAIT: the smallest and the median. The two threads are on different CPUs.
 *
 * Under QEMU's icount all CPUs share one clock and take turns: a tick is an instruction of any of them. The
 * waker gives up its turn (PAUSE) as soon as its call has returned. So the figure is the instructions of
 * both, one after the other: call, interrupt to the other CPU, return; waking up, return. On hardware the two
 * run at the same time, and the waker's return does not count.
 *
 * Returns 0, or -errno: -ENODEV if there is only one CPU. */
int wake_measure(uint64_t *minimum_ticks, uint64_t *median_ticks);

#endif
