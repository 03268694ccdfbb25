/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * connection_timer.h: when connections are due: connection.c's other half (connection.h). With the network's
 * lock held.
 */
#ifndef TACET_NETWORK_CONNECTION_TIMER_H
#define TACET_NETWORK_CONNECTION_TIMER_H

#include <stdbool.h>
#include <stdint.h>

struct connection;
struct process;
struct rank_timer;

/* Returns the timer of a process's connections; for NULL, the kernel's. NULL if there is no memory. */
struct rank_timer *rank_timer_of(struct process *process);

/* Returns lwIP's clock, in steps of 100 ms. */
uint32_t connection_tick_now(void);

/* Adds to lwIP's counters of a connection the time since the last call. */
void connection_time_add(struct connection *connection);

/* Computes when the connection is due next, if ever, and arms its rank's timer for that. */
void connection_due_set(struct connection *connection);

/* Takes one connection that owes something, and sends that. connection_is_owing returns whether there is any,
 * without the lock. */
void connection_work_one(void);
bool connection_is_owing(void);

/* Ends a connection with a reset. */
void connection_abort(struct connection *connection);

/* Frees the timers of processes, which have no connections any longer. Without the lock. */
void connection_timers_drop(void);

/* Serves what is due for all ranks, at the node's end, when timers do not. Without the lock. */
void connection_timers_serve(void);

#endif
