/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crosscall.h: lets other CPUs run a function, and waits until they have: to make them forget pages, to take
 * back a timer of theirs.
 *
 * The only thing on Tacet for which one CPU waits for another. A CPU serves the calls of others when it is
 * interrupted, when it waits (arch_cpu_idle), and while it spins for a lock or for its own call; so two CPUs
 * that call each other both get on, and so does a caller that holds the lock which the other one wants.
 */
#ifndef TACET_CROSSCALL_H
#define TACET_CROSSCALL_H

#include <stdint.h>

/* Runs `function(context)` on each CPU of the mask (bit = CPU's number; this CPU's own bit is ignored), there
 * with interrupts off, and returns when all have. It may be called with locks held that the function does not
 * take. The CPUs must not be parked. */
void crosscall(uint64_t cpus, void (*function)(void *context), void *context);

/* Runs what others ask of this CPU. Called wherever a CPU waits; cheap where there is nothing. */
void crosscall_serve(void);

#endif
