/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * registers.h: registers and descriptors of Intel's gigabit controllers, for the files of drivers/e1000 and
 * for the model of the device in its test.
 *
 * Sources: Intel, "PCI/PCI-X Family of Gigabit Ethernet Controllers Software Developer's Manual" (82540,
 * 82545) §3 (descriptors), §13 (registers); "82574 GbE Controller Family Datasheet" §7.1.4, §7.2 (rings),
 * §10.2; "82576EB Gigabit Ethernet Controller Datasheet" §7.1.4, §7.2.2 (advanced descriptors), §8.
 */
#ifndef TACET_E1000_REGISTERS_H
#define TACET_E1000_REGISTERS_H

#include <stdint.h>

enum {
    REG_CONTROL = 0x0000,
    REG_STATUS = 0x0008,
    REG_EEPROM = 0x0010,
    REG_CONTROL_EXTENDED = 0x0018,
    REG_PHY = 0x0020,
    REG_CAUSE = 0x00c0,
    REG_INTERVAL = 0x00c4, /* the shortest time between two interrupts */
    REG_CAUSE_SET = 0x00c8,
    REG_MASK_SET = 0x00d0,
    REG_MASK_CLEAR = 0x00d8,
    REG_VECTORS = 0x00e4,          /* 82574: which cause sends which message */
    REG_INTERVAL_EXPRESS = 0x00e8, /* 82574: the same for the first message */
    REG_RECEIVE = 0x0100,
    REG_SEND = 0x0400,
    REG_SEND_GAP = 0x0410,
    REG_VECTOR_CAUSE_SET = 0x1520, /* this and the next three: 82576 and later, one bit for each message */
    REG_VECTOR_MASK_SET = 0x1524,
    REG_VECTOR_MASK_CLEAR = 0x1528,
    REG_VECTOR_CAUSE = 0x1580,
    REG_VECTOR_MODE = 0x1514,
    REG_INTERVAL_ADVANCED = 0x1680, /* 82576 and later: for the first message */
    REG_VECTOR_QUEUE = 0x1700,
    REG_VECTOR_OTHER = 0x1740,
    REG_RECEIVE_RING = 0x2800,
    REG_SEND_RING = 0x3800,
    REG_CRC_ERRORS = 0x4000,
    REG_MISSED = 0x4010,
    REG_LENGTH_ERRORS = 0x4040,
    REG_MULTICAST = 0x5200,
    REG_ADDRESS_LOW = 0x5400,
    REG_ADDRESS_HIGH = 0x5404,
    REG_WAKE = 0x5800,
    REG_RECEIVE_RING_ADVANCED = 0xc000, /* 82576 and later, of queue 0 */
    REG_SEND_RING_ADVANCED = 0xe000,
    REG_BYTES = 0x10000 /* size of the registers that are used */
};

/* Offsets from a ring's first register. */
enum {
    RING_BASE_LOW = 0x00,
    RING_BASE_HIGH = 0x04,
    RING_BYTES = 0x08,
    RING_SPLIT = 0x0c, /* receive; 82576 and later */
    RING_HEAD = 0x10,
    RING_TAIL = 0x18,
    RING_CONTROL = 0x28
};

#define CONTROL_DETECT_SPEED   (1U << 5)
#define CONTROL_LINK_UP        (1U << 6)
#define CONTROL_RESET          (1U << 26)
#define EXTENDED_DRIVER_LOADED (1U << 28)
#define STATUS_LINK_UP         (1U << 1)
#define STATUS_SPEED_SHIFT     6
#define EEPROM_READ_DONE       (1U << 9)

/* Commands to the PHY with the number 1, by IEEE 802.3's registers [802.3 §22.2.4.1]. */
#define PHY_NEGOTIATE (1U << 26 | 1U << 21 | 0U << 16 | 0x1200U) /* its control register: negotiate again */

#define CAUSE_LINK     (1U << 2)
#define CAUSE_OVERRUN  (1U << 6)
#define CAUSE_RECEIVED (1U << 7)
#define CAUSE_QUEUE    (1U << 20) /* 82574 with MSI-X */
#define CAUSE_OTHER    (1U << 24) /* 82574 with MSI-X */

#define INTERVAL_NS             256 /* 82540 to 82574: the unit of the register */
#define INTERVAL_ADVANCED_NS    1000
#define INTERVAL_ADVANCED_SHIFT 2

#define VECTORS_ALL_FIRST \
    0x00080888U /* receive queue 0, send queue 0 and other causes, each valid: message 0 */
#define VECTOR_FIRST_VALID 0x80U
#define MODE_MESSAGES      (1U << 4)
#define MODE_PENDING       (1U << 31)

#define RECEIVE_ENABLE        (1U << 1)
#define RECEIVE_ALL_MULTICAST (1U << 4)
#define RECEIVE_BROADCAST     (1U << 15)
#define RECEIVE_STRIP_CRC     (1U << 26)
#define SEND_ENABLE           (1U << 1)
#define SEND_PAD              (1U << 3)
#define SEND_COLLISION        (0x0fU << 4 | 0x40U << 12)
#define SEND_GAP_COPPER       (8U | 8U << 10 | 6U << 20)
#define SPLIT_ADVANCED        (1U << 25 | 2U)                  /* one buffer of 2 KiB for each frame */
#define RING_ENABLE           (1U << 25)                       /* 82576 and later */
#define RING_COUNT            (1U << 24 | 1U << 22 | 1U << 16) /* 82574: counts and reports each descriptor */

#define ADDRESS_VALID    (1U << 31)
#define MULTICAST_WORDS  128
#define MULTICAST_REG(i) (REG_MULTICAST + 4 * (i))

/* Sixteen bytes. What the device writes back for a received frame: in the older descriptors, the length in
 * the low half of the first word, status and errors in the second; in the advanced ones, status and errors in
 * the first word, the length in the low half of the second. */
struct descriptor {
    uint64_t address;
    uint32_t words[2];
};

#define DONE            (1U << 0) /* of both kinds, received and sent, in the word of the status */
#define FRAME_END       (1U << 1)
#define ERRORS          (0x97U << 8) /* CRC, symbol, sequence, carrier extension, receive */
#define ERRORS_ADVANCED (1U << 31)

#define COMMAND_SEND          (1U << 24 | 1U << 25 | 1U << 27) /* end of frame, add checksum, report */
#define COMMAND_ADVANCED      (1U << 29 | 3U << 20)
#define LENGTH_SHIFT_ADVANCED 14 /* in the second word */

#endif
