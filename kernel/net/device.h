/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device.h: network devices: what a driver provides, and all that a driver knows of the network. Drivers may
 * use this header beside debug/, smp/, lib/ and the contract.
 *
 * Every operation is called with the network's lock held (network.h), interrupts off, by any CPU; none waits,
 * and each does a bounded amount of work. Frames are Ethernet's: from the destination's address on, without
 * the checksum (FCS), 14 to ETHERNET_FRAME_BYTES_MAX bytes. What a device says, lengths above all, is not
 * trusted: a frame that cannot be is counted as an error and dropped by the driver.
 */
#ifndef TACET_NETWORK_DEVICE_H
#define TACET_NETWORK_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ETHERNET_ADDRESS_BYTES   6
#define ETHERNET_HEADER_BYTES    14
#define ETHERNET_FRAME_BYTES_MAX 1514
#define NETWORK_DEVICES_MAX      8
#define NETWORK_INTERVAL_NS_MAX  5000000

struct network_device;

/* A frame that is sent is gathered from parts. */
struct frame_part {
    const void *bytes;
    uint32_t count;
};

struct network_device_operations {
    /* Takes a copy of the frame into the ring of what is to be sent. False: the ring is full, nothing was
     * taken. */
    bool (*send)(struct network_device *device, const struct frame_part *parts, unsigned part_count);
    /* The oldest frame received, in the ring's memory until receive_done; NULL: there is none. Several calls
     * without receive_done return the same one. */
    const void *(*receive)(struct network_device *device, uint32_t *bytes);
    void (*receive_done)(struct network_device *device);
    /* From now on the device interrupts this CPU when it has received a frame or its link changes: at once
     * where it has already. False where it can interrupt nobody: then whoever idles polls. */
    bool (*interrupt_enable)(struct network_device *device, unsigned cpu);
    /* Masks the device and flushes that by a read: after it returns the device raises no new interrupt. */
    void (*interrupt_disable)(struct network_device *device);
    /* From now on there is at least so long from one interrupt to the next; 0: it does not matter. At most
     * NETWORK_INTERVAL_NS_MAX. */
    void (*interrupt_interval)(struct network_device *device, uint32_t interval_ns);
    /* Acknowledges what has interrupted; notices changes of the link. Called by whoever polls, too, now and
     * then. */
    void (*service)(struct network_device *device);
    /* Takes frames to this multicast group, or not any more. */
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
    void *driver; /* its own */
};

/* A driver has found a device, which lives as long as the node does. Before the network starts; false where
 * there are NETWORK_DEVICES_MAX already. */
bool network_device_register(struct network_device *device);

unsigned network_device_count(void);
struct network_device *network_device_at(unsigned index);

/* The device that the value of an option names, by its hardware address or its place. -EINVAL with `why`. */
struct message;
int network_device_find(const char *option, const char *name, struct network_device **out,
                        struct message *why);

/* A device that has interrupted this CPU, or an interrupt that devices share. Calls network_interrupt. */
void network_device_interrupt(void);

#endif
