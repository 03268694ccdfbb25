/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * idle.h: which CPU works for the network while no thread is in a network call. One CPU that idles, the
 * keeper, takes the device's interrupts, or polls the device every POLL_NS if that has none. Before it runs a
 * program it masks the device, flushes that by a read, and accepts interrupts in flight; then another idle
 * CPU becomes the keeper. While no CPU idles, none is interrupted, except for heartbeats if these come by the
 * same device (beat_wire.h). A timer polls then, every POLL_NS, only if threads wait for the network because
 * others have their CPUs.
 */
#ifndef TACET_NETWORK_IDLE_H
#define TACET_NETWORK_IDLE_H

#include <stdbool.h>

void idle_start(void);

/* Starts interrupts, once the device has its address: idle CPUs take them, and CPU 0 if heartbeats come by
 * the device. -ENODEV with `why` if these cannot interrupt. */
struct message;
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

#endif
