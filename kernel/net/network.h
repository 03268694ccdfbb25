/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * network.h: who works for the network, and its one lock.
 *
 * The stack (lwIP, NO_SYS) has no thread of its own. Whoever is in a network call polls the devices; a CPU
 * that has nobody to run may take their interrupts; a CPU that computes never does: before the last idle CPU
 * returns to a program it masks the devices and flushes that by a read.
 *
 * The lock guards the devices, lwIP and all connections. It is held for at most one frame or one segment:
 * nothing under it copies from or to a program, computes the checksum of a program's bytes, or goes through
 * all connections. Connections are found by hash. Threads that have become ready through a frame are woken
 * after the lock is released (network_notify).
 *
 *      network_poll();                         frames that have come already
 *      network_lock();                         or NETWORK_GUARD(), to the end of the block
 *      … lwIP, a connection …
 *      network_unlock();                       sends what is owed, then wakes whom network_notify named
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

/* Applies the network's options and starts the stack on the devices that drivers have registered: init/, on
 * the first CPU, before programs, once its accounts have memory (memory.h). Without a device there is
 * loopback alone. -EINVAL with `why`. */
int network_start(const struct command_line *line, struct message *why);

/* Whether there is any device beside loopback. */
bool network_has_device(void);

void network_lock(void);
void network_unlock(void);

static inline __attribute__((always_inline)) void network_guard_end(const bool *is_locked)
{
    (void)is_locked; /* the guard's name is all that it needs */
    network_unlock();
}

/* Takes the lock, and releases it where the enclosing block ends, as SPIN_GUARD does. No program's memory is
 * copied with the lock: stream_move.c releases it around each copy. */
#define NETWORK_GUARD()                                                                  \
    const bool network_guard __attribute__((cleanup(network_guard_end), unused)) = true; \
    network_lock()

/* Releases the lock, and does nothing else. For a holder that has sent nothing by lwIP and has not called
 * network_notify. */
void network_unlock_alone(void);

/* Between two pieces of work for which one call takes the lock: others have it first, if they wait. */
void network_give_way(void);

/* Receives what the devices have, at most a bounded number of frames, each with the lock held for itself.
 * Without the lock. True: something was received. */
bool network_poll(void);

/* event_wait for what the network changes; polls where no idle CPU would be interrupted. 0, -EINTR, or
 * -ETIMEDOUT from the deadline on. No lock may be held. */
int network_wait(uint64_t kinds, uint64_t deadline_ns);

/* Sends what the console has for netconsole.h, at most so many lines: if the lock is free, or in a panic. */
void network_send_console(unsigned lines);

/* With the lock: wakes, once it is released, threads of a process that wait for events of these kinds. */
void network_notify(struct process *process, uint64_t kinds);

/* With the lock: calls stream_watch_hook (stream.h) once it is released. */
void network_watched(void);

/* All processes have ended, and their memory is to be used anew: drops what the network has of it. Without
 * the lock, on one CPU, while the others idle. */
void network_processes_drop(void);

/* A device has interrupted this CPU, which idles. */
void network_interrupt(void);

#endif
