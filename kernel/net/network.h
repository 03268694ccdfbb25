/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * network.h: which CPU works for the network, and its one lock.
 *
 * The stack (lwIP, NO_SYS) has no thread of its own. A thread in a network call polls the devices. A CPU
 * that idles may take their interrupts. A CPU that computes never does, except for heartbeats (beat_wire.h):
 * before the last idle CPU returns to a program it masks the devices and flushes that by a read.
 *
 * The lock guards the devices, lwIP and all connections. It is held for at most one frame or one segment:
 * nothing under it copies from or to a program, computes the checksum of a program's bytes, or goes through
 * all connections, which are found in trees. Threads that a frame has made ready are woken after the lock is
 * released (network_notify).
 *
 *      network_poll();                         frames that have come already
 *      network_lock();                         or NETWORK_GUARD(), to the end of the block
 *      … lwIP, a connection …
 *      network_unlock();                       wakes those that network_notify named, then sends what is owed
 *      network_wait(event_of(object), deadline)    until something has changed there
 */
#ifndef TACET_NETWORK_H
#define TACET_NETWORK_H

#include "lib/command_line.h"
#include "lib/format.h"
#include "process/event.h"
#include <stdbool.h>
#include <stdint.h>

struct process;

/* Applies the network's options and starts the stack on the devices that drivers have registered. Called by
 * init/, on the first CPU, before programs, once the node's accounts have memory (memory.h). Without a device
 * there is loopback alone. -EINVAL with `why`. */
int network_start(const struct command_line *line, struct message *why);

/* Returns whether there is any device besides loopback. */
bool network_has_device(void);

void network_lock(void);
void network_unlock(void);

static inline __attribute__((always_inline)) void network_guard_end(const bool *is_locked)
{
    (void)is_locked; /* the guard only marks the block */
    network_unlock();
}

/* Takes the lock, and releases it at the end of the enclosing block, as SPIN_GUARD does. No program's memory
 * is copied with the lock: stream_move.c releases it around each copy. */
#define NETWORK_GUARD()                                                                  \
    const bool network_guard __attribute__((cleanup(network_guard_end), unused)) = true; \
    network_lock()

/* Releases the lock, and does nothing else. For a holder that has sent nothing by lwIP and has not called
 * network_notify. */
void network_unlock_alone(void);

/* Lets other CPUs have the lock first, if they wait. Called between two pieces of work for which one call
 * takes it. */
void network_give_way(void);

/* Receives what the devices have, at most a bounded number of frames, taking the lock for each. Without the
 * lock. Returns true if something was received. */
bool network_poll(void);

/* Waits as event_wait does, for what the network changes; polls if no idle CPU would be interrupted. Returns
 * 0, -EINTR, or -ETIMEDOUT from the deadline on. No lock may be held. */
int network_wait(uint64_t kinds, uint64_t deadline_ns);

/* Sends at most `lines` lines of the console (netconsole.h), if the lock is free, or in a panic. */
void network_send_console(unsigned lines);

/* Wakes, once the lock is released, threads of a process that wait for events of these kinds. With the
 * lock. */
void network_notify(struct process *process, uint64_t kinds);

/* Has stream_watch_hook (stream.h) called once the lock is released. With the lock. */
void network_watched(void);

/* Drops what the network has of processes, after all of them have ended, and before their memory is used
 * again. Without the lock, on one CPU, while the others idle. */
void network_processes_drop(void);

/* Handles an interrupt of a device on this CPU, which idles. */
void network_interrupt(void);

#endif
