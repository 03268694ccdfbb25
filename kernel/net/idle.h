/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * idle.h: which CPU works for the network while nobody is in a network call. One CPU that idles, the keeper,
 * takes the device's interrupts, or looks at the device every POLL_NS where that has none. Before it runs a
 * program it masks the device, flushes that by a read, and lets in what is on its way; another idle CPU
 * becomes the keeper then. While none idles nobody is interrupted, but for heartbeats where these come by the
 * same device (beat_wire.h); only if threads wait for the network meanwhile, because others have their
 * CPUs, does a timer look for them, every POLL_NS.
 */
#ifndef TACET_NETWORK_IDLE_H
#define TACET_NETWORK_IDLE_H

#include <stdbool.h>

void idle_start(void);

/* Once the device has its address: idle CPUs take its interrupts, and CPU 0 where heartbeats come by it.
 * -ENODEV with `why` where these can interrupt nobody. */
struct message;
int idle_device_start(struct message *why);

/* Makes a CPU poll the network soon when it idles, for work that no other event announces. The first without
 * the network's lock, the second with it. */
void idle_look_soon(void);
void idle_look_soon_locked(void);

/* Whether this CPU is the keeper; whether any is. */
bool idle_keeps_here(void);
bool idle_has_keeper(void);

/* Around a thread's wait for what the network changes. */
void idle_wait_begin(void);
void idle_wait_end(void);

/* /proc/tacet/network: how often a CPU became the keeper, and how often a timer looked. */
struct idle_counts {
    unsigned long kept, polled;
};
extern struct idle_counts idle_counts;

#endif
