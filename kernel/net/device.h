/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device.h: network devices: what a driver provides, and all that a driver knows of the network. Drivers may
 * use this header, debug/, smp/, lib/ and the architecture's contract.
 *
 * Every operation is called by any CPU, interrupts off, with the network's lock held (network.h), or, for a
 * card for heartbeats alone, with that card's (beat_wire.c). None waits, and each does a bounded amount of
 * work. Frames are Ethernet's: from the destination's address on, without the checksum (FCS), 14 to
 * ETHERNET_FRAME_BYTES_MAX bytes. What a device says, lengths above all, is not trusted: the driver counts an
 * impossible frame as an error and drops it.
 */
#ifndef TACET_NETWORK_DEVICE_H
#define TACET_NETWORK_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#define ETHERNET_ADDRESS_BYTES   6
#define ETHERNET_HEADER_BYTES    14
#define ETHERNET_FRAME_BYTES_MAX 1514
#define NETWORK_DEVICES_MAX      8
#define NETWORK_INTERVAL_NS_MAX  5000000

struct network_device;

/* A piece of a frame to send. */
struct frame_part {
    const void *bytes;
    uint32_t count;
};

struct network_device_operations {
    /* Takes a copy of the frame into the ring of frames to send. Returns false if the ring is full: then
     * nothing was taken. */
    bool (*send)(struct network_device *device, const struct frame_part *parts, unsigned part_count);
    /* Returns the oldest frame received, which stays in the ring's memory until receive_done; NULL if there
     * is none. Several calls without receive_done return the same one. */
    const void *(*receive)(struct network_device *device, uint32_t *bytes);
    void (*receive_done)(struct network_device *device);
    /* Has the device interrupt this CPU when it has received a frame or its link changes; at once if that has
     * happened already. Returns false if it cannot: then a CPU that idles polls. */
    bool (*interrupt_enable)(struct network_device *device, unsigned cpu);
    /* Masks the device and flushes that by a read: after it returns the device raises no new interrupt. */
    void (*interrupt_disable)(struct network_device *device);
    /* Sets the shortest time from one interrupt to the next, at most NETWORK_INTERVAL_NS_MAX; 0: any. */
    void (*interrupt_interval)(struct network_device *device, uint32_t interval_ns);
    /* Acknowledges interrupts; notices changes of the link. Also called now and then by CPUs that poll. */
    void (*service)(struct network_device *device);
    /* Begins to receive frames to this multicast group, or stops that. */
    void (*multicast)(struct network_device *device, const uint8_t group[ETHERNET_ADDRESS_BYTES], bool on);
};

struct network_device_counts {
    uint64_t received_frames, received_bytes, sent_frames, sent_bytes;
    uint64_t receive_errors, receive_missed; /* frames dropped: damaged or absurd; for lack of room */
    uint64_t interrupts, link_changes;
};

struct network_device {
    const struct network_device_operations *operations;
    const char *model; /* "82540EM" */
    char place[16];    /* where it is, for people: "00:03.0" */
    uint8_t address[ETHERNET_ADDRESS_BYTES];
    bool link;           /* up, as last seen by the driver */
    uint32_t speed_mbit; /* while the link is up; 0: unknown */
    struct network_device_counts counts;
    void *driver; /* the driver's own */
};

/* Registers a device that a driver has found, and that lives as long as the node does. Called before the
 * network starts. Returns false if there are NETWORK_DEVICES_MAX already. */
bool network_device_register(struct network_device *device);

extern struct network_device *network_devices[NETWORK_DEVICES_MAX];
extern unsigned network_device_count;

/* Finds the device that the value of an option names, by its hardware address or its place. -EINVAL with
 * `why`. */
struct message;
int network_device_find(const char *option, const char *name, struct network_device **out,
                        struct message *why);

/* Handles an interrupt of a device, or of several that share it, on this CPU: polls the network if the CPU
 * idles, unless beat_wire_interrupt has handled the interrupt. network.c */
void network_device_interrupt(void);

#endif
