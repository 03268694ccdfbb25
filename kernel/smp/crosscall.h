/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crosscall.h: runs a function on other CPUs, by IPI, and waits until they have: for TLB shootdowns, for
 * cancelling a timer in another CPU's queue, for a change that every CPU has to follow.
 *
 * The only thing on Tacet for which one CPU waits for another. A CPU serves the calls of others when an IPI
 * interrupts it or ends its arch_cpu_idle, and while it spins for a lock or for its own call; so two CPUs
 * that call each other both proceed, and so does a caller that holds the lock for which the other one spins.
 * Parked CPUs serve them, too.
 */
#ifndef TACET_CROSSCALL_H
#define TACET_CROSSCALL_H

#include "smp/cpu_mask.h"

/* Runs `function(context)` on each CPU of the set but this one, there with interrupts off, and returns when
 * all have. The set may change meanwhile; it is copied first. May be called with locks held that the function
 * does not take. */
void crosscall(const struct cpu_mask *cpus, void (*function)(void *context), void *context);

/* Runs a function here, and then likewise on all other CPUs that run. */
void crosscall_all(void (*function)(void));

/* Serves pending calls of other CPUs. Entry point of the architecture (an IPI has come); called also wherever
 * a CPU spins. Cheap if there is nothing. */
void crosscall_serve(void);

#endif
