/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * events.h: one pass of a loop that waits for many things. Before each pass every part says anew what it
 * waits for; so nothing has to be taken back. A callback may close what another one of the same pass waits
 * for: it has to bear being called for nothing, which reads and writes that never wait do.
 */
#ifndef TACET_SERVICE_EVENTS_H
#define TACET_SERVICE_EVENTS_H

#include <stdint.h>

#define EVENTS_MAX 4096

/* In this pass `ready` is called where the descriptor can do one of these (poll(2)), or has failed. */
void events_watch(int descriptor, short wanted, void (*ready)(void *of), void *of);

/* The pass waits no longer than until then, by events_now_ns. */
void events_at(uint64_t when_ns);

/* The pass: waits, calls those that are ready, and forgets all. */
void events_wait(void);

/* CLOCK_MONOTONIC. */
uint64_t events_now_ns(void);

#endif
