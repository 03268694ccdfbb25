/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * interface_facts.h: what programs ask about the node's interfaces: by ioctl on any socket (SIOCGIF*; man 7
 * netdevice), or by netlink (netlink.c). Numbers and flags are Linux's.
 */
#ifndef TACET_INTERFACE_FACTS_H
#define TACET_INTERFACE_FACTS_H

#include <stdbool.h>
#include <stdint.h>

enum interface_flags {
    IFF_UP = 0x1,
    IFF_BROADCAST = 0x2,
    IFF_LOOPBACK = 0x8,
    IFF_RUNNING = 0x40,
    IFF_MULTICAST = 0x1000,
    IFF_LOWER_UP = 0x10000,
};

struct interface_facts {
    const char *name;
    unsigned index;
    uint16_t kind; /* Linux's ARPHRD_* */
    uint32_t flags, mtu;
    uint32_t address, mask; /* in network byte order; 0: none */
    uint8_t hardware[6];
};

/* Answers SIOCGIF*, by ioctl on a socket of any family. Returns -ENOTTY for any other request. */
long interface_control(uint32_t request, uint64_t argument);

/* Describes the interface with this index: 1 is loopback, 2 the network device. Returns false if there is
 * none. */
bool interface_facts(unsigned index, struct interface_facts *out);

/* Describes the interface of this name. */
bool interface_facts_named(const char *name, struct interface_facts *out);

#endif
