/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * service_window.h: for a while the service's threads come before the ranks': the forced switch of [Betti09
 * §III], by which the daemons of all nodes run at the same time instead of one here, one there
 * (docs/nettick.md).
 *
 * A CPU's window lifts those threads of the service that are ready on that CPU as it begins, and the one that
 * runs there, whatever their policy: also those that sleep until a time that has come, which else nobody
 * would have been disturbed for. Nobody is lifted later. A thread that blocks gives the CPU back at once;
 * woken before the end of the window it goes on, on any CPU that it may run on. At the end all are what they
 * were.
 *
 * The end is sharp, for which the CPU's own device interrupts it, also where its threads have blocked before.
 */
#ifndef TACET_SERVICE_WINDOW_H
#define TACET_SERVICE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

/* Begins this CPU's window; one that is open ends then, if that is later. False: none is, and nobody is
 * ready. In an interrupt, interrupts off, no locks held. */
bool service_window_begin(uint64_t window_ns);

#endif
