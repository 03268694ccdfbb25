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
#include <stdbool.h>
#include <stdint.h>

struct process;

/* Applies the network's options and starts the stack on the devices that drivers have registered. Called by
 * init/, on the first CPU, before programs, once the node's accounts have memory (memory.h). Without a device
 * there is loopback alone. -EINVAL with `why`. */
int network_start(const struct command_line *line, struct message *why);

/* Returns whether there is any device besides loopback. */
bool network_has_device(void);

/* Writes the node's id for tickets (docs/jobs.md): the Ethernet address of the card for beats, else of the
 * network's, as 12 hexadecimal digits and a NUL. There must be a device. */
#define NETWORK_NODE_ID_BYTES 13
void network_node_id(char id[NETWORK_NODE_ID_BYTES]);

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
 * 0, -EINTR, or -EAGAIN from the deadline on. No lock may be held. */
int network_wait(uint64_t kinds, uint64_t deadline_ns);

/* Sends at most `lines` lines of the console (below), if the lock is free, or in a panic. */
void network_send_console(unsigned lines);

/* Wakes, once the lock is released, threads of a process that wait for events of these kinds. The caller
 * holds the lock. */
void network_notify(struct process *process, uint64_t kinds);

/* Has stream_watch_hook (stream.h) called once the lock is released. The caller holds the lock. */
void network_watched(void);

/* ---- Which CPU works while no thread is in a network call: idle.c ----
 *
 * One CPU that idles, the keeper, takes the device's interrupts, or polls the device every POLL_NS if that
 * has none. Before it runs a program it masks the device, flushes that by a read, and accepts interrupts in
 * flight; then another idle CPU becomes the keeper. While no CPU idles, none is interrupted, except for
 * heartbeats if these come by the same device (beat_wire.h). A timer polls then, every POLL_NS, only if
 * threads wait for the network because others have their CPUs. */

/* Starts interrupts, once the device has its address: idle CPUs take them, and CPU 0 if heartbeats come by
 * the device. -ENODEV with `why` if these cannot interrupt. */
int idle_device_start(struct message *why);

/* Makes a CPU poll the network soon when it idles, for work that no other event announces. The first without
 * the network's lock, the second with it. */
void idle_look_soon(void);
void idle_look_soon_locked(void);

/* Returns whether this CPU is the keeper; idle_has_keeper returns whether any CPU is. */
bool idle_keeps_here(void);
bool idle_has_keeper(void);

/* Begins a thread's wait for what the network changes; idle_wait_end ends it. */
void idle_wait_begin(void);
void idle_wait_end(void);

/* /proc/tacet/network: how often a CPU became the keeper, and how often a timer polled. */
struct idle_counts {
    unsigned long kept, polled;
};
extern struct idle_counts idle_counts;

/* ---- Time for the small protocols of lwIP (ARP, DHCP, IGMP, IP fragments): protocol_timers.c ----
 *
 * Each has a function that must be called in fixed steps while something is pending. A smart timer is armed
 * for that long and no longer, and not for what can be found out later: ages of ARP entries are added when
 * the table is used again. TCP's timers are in connection_timer.c. Functions need the network's lock, except
 * sys_now, and unless said otherwise. */

/* Returns lwIP's clock: ms since boot, modulo 2^32. */
uint32_t sys_now(void);

/* Returns a number that cannot be guessed: for ports, transaction numbers, initial sequence numbers. */
uint32_t network_random(void);

/* Notes that ARP has asked for an address; protocol_timers_igmp, that a group may have to be reported. When
 * the network is unlocked, protocol_timers_update arms a timer for these. */
void protocol_timers_arp(void);
void protocol_timers_igmp(void);
void protocol_timers_update(void);

/* Does what is due, at most a bounded number of steps. Without the lock. */
void protocol_timers_run(void);

/* ---- `netconsole=ADDRESS[:PORT]`: netconsole.c ----
 *
 * Sends the console's lines as UDP datagrams, one a line, as Linux's netconsole does. They wait in a ring,
 * which the CPU that prints fills under the console's lock. A holder of the network's lock empties it: the
 * CPU that prints, if that lock is free at once, else the lock's holder before it releases it. No CPU waits.
 * A CPU that panics sends without the lock. Frames are made by hand and go straight to the driver, because
 * lwIP may be what has failed. */

/* Reads the option, and keeps the console's lines from now on. Called after console_configure. -EINVAL with
 * `why`. */
int netconsole_configure(const struct command_line *line, struct message *why);

/* Asks for the receiver's hardware address, once the node has its own address, and sends what has been kept.
 * Without the network's lock, before programs. */
void netconsole_start(void);

/* Sends the oldest line. Returns false if there is none, or if it cannot be sent now. With the network's
 * lock, or in a panic. */
bool netconsole_send(void);

/* Lines, or parts of long ones, that found the ring full. */
extern uint64_t netconsole_dropped;

/* ---- Start and end ---- */

/* Drops what the network has of processes, after all of them have ended, and before their memory is used
 * again. Without the lock, on one CPU, while the others idle. */
void network_processes_drop(void);

/* Adds what programs read of the network, after network_start, when the tree has all that the archives bring:
 * /etc/resolv.conf, /etc/hosts and /etc/hostname, unless the archives bring them; /proc/net/dev and route, in
 * Linux's formats (proc(5)); /proc/tacet/network. -ENOMEM with `why`. network_files.c */
struct tree;
int network_files_add(struct tree *tree, struct message *why);

#endif
