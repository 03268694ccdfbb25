/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * connection_timer.h: when connections need time: connection.c's other half (connection.h). With the
 * network's lock held.
 */
#ifndef TACET_NETWORK_CONNECTION_TIMER_H
#define TACET_NETWORK_CONNECTION_TIMER_H

#include <stdbool.h>
#include <stdint.h>

struct connection;
struct process;
struct rank_timer;

/* The timer of a process's connections, NULL: the kernel's. NULL where there is no memory. */
struct rank_timer *rank_timer_of(struct process *process);

/* lwIP's clock. */
uint32_t connection_tick_now(void);

/* Adds what has passed since the last time to lwIP's counters of a connection. */
void connection_time_add(struct connection *connection);

/* Finds out anew when it is due, if ever, and arms its rank's timer for that. */
void connection_due_set(struct connection *connection);

/* Takes one connection that owes something, and sends that; whether there is any, without the lock. */
void connection_work_one(void);
bool connection_is_owing(void);

/* Ends a connection with a reset. */
void connection_abort(struct connection *connection);

/* Without the lock: processes have no connections any more, and their timers end. */
void connection_timers_drop(void);

/* Without the lock: serves what is due of all ranks, at the node's end, when no timers do. */
void connection_timers_serve(void);

#endif
