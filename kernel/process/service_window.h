/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * service_window.h: for a while the service's threads come before the ranks': the forced switch of [Betti09
 * §III], by which the daemons of all nodes run at the same time instead of one here, one there
 * (docs/nettick.md).
 *
 * A CPU's window lifts the threads of the service that are ready on that CPU when it begins, and the one that
 * runs there, whatever their policy. That includes threads that slept until a time that has come, but whose
 * timer was not to disturb any other thread. No thread is lifted later. A thread that blocks gives the CPU
 * back at once; if it is woken before the end of the window it goes on, on any CPU that it may run on. At the
 * end all have their former ranks.
 *
 * The end is exact: the CPU's own device interrupts it then, even if its lifted threads have blocked before.
 */
#ifndef TACET_SERVICE_WINDOW_H
#define TACET_SERVICE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

/* Begins this CPU's window, or moves the end of an open one to a later time. Returns false if none is open
 * and no thread of the service is ready. In an interrupt, interrupts off, no locks held. */
bool service_window_begin(uint64_t window_ns);

#endif
