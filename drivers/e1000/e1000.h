/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * e1000.h: Intel's gigabit Ethernet controllers, from the 82540 to the I350: one driver, registered with the
 * network through net/device.h.
 *
 * There are three generations: E1000_FIRST (82540, 82545); E1000_EXPRESS (82574), in which each cause has its
 * message; E1000_ADVANCED (82576, I210, I350), with descriptors and causes of another form. One ring sends,
 * one receives. Their buffers are never exchanged: frames are copied.
 */
#ifndef TACET_E1000_H
#define TACET_E1000_H

#include "drivers/pci/pci.h"
#include "drivers/e1000/registers.h"
#include "net/device.h"

extern const struct pci_driver e1000_driver;

/* ---- For the files of the driver ---- */

#define RECEIVE_COUNT     128 /* descriptors; powers of two */
#define SEND_COUNT        32
#define BUFFER_BYTES      2048
#define RECEIVE_TAIL_STEP 16 /* buffers that are returned to the device in one go, at most */
#define GROUPS_MAX        32
#define RECEIVE_SKIPS_MAX RECEIVE_COUNT /* buffers with damaged frames, dropped by one call at most */

struct e1000 {
    struct network_device device;
    struct pci_function *function;
    enum e1000_generation { E1000_FIRST, E1000_EXPRESS, E1000_ADVANCED } generation;
    volatile uint8_t *registers;
    struct descriptor *received, *sent;
    uint8_t *receive_buffers, *send_buffers;
    uint32_t receive_next;  /* the next descriptor to read, free-running */
    uint32_t receive_tail;  /* the device owns the buffers below this one, free-running */
    bool receive_partial;   /* a frame of several buffers is being dropped */
    bool receive_offered;   /* the frame at receive_next has been checked; it has */
    uint32_t receive_bytes; /* this number of bytes */
    uint32_t send_next;     /* the next descriptor to fill; free-running */
    uint32_t send_oldest;   /* the oldest descriptor that has not been reported sent; free-running */
    bool has_interrupt;     /* interrupts are enabled */
    unsigned group_count;
    uint8_t groups[GROUPS_MAX][ETHERNET_ADDRESS_BYTES];
    uint32_t services; /* calls of e1000_service, which reads statistics in some of them */
};

uint32_t e1000_read(const struct e1000 *nic, unsigned at);
void e1000_write(const struct e1000 *nic, unsigned at, uint32_t value);

/* Returns whether there is something to receive (ring.c). */
bool received_is_due(const struct e1000 *nic);
/* Sets up both rings, gives the device the receive buffers, and starts both. */
void rings_start(struct e1000 *nic);
bool e1000_send(struct network_device *device, const struct frame_part *parts, unsigned part_count);
const void *e1000_receive(struct network_device *device, uint32_t *bytes);
void e1000_receive_done(struct network_device *device);

#endif
