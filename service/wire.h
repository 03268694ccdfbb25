/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wire.h: beats onto an Ethernet interface, and from it: a packet socket (packet(7)), which wants
 * CAP_NET_RAW.
 */
#ifndef TACET_SERVICE_WIRE_H
#define TACET_SERVICE_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct wire {
    int socket;
    int index; /* of the interface */
    uint8_t address[6];
};

/* Opens the interface of this name. 0, or -1 with errno and what failed in *what. */
int wire_open(struct wire *wire, const char *interface, const char **what);

/* Broadcasts a payload. 0, or -1 with errno; it never waits. */
int wire_send(const struct wire *wire, const uint8_t *payload, size_t bytes);

/* From now on wire_receive gets frames of the beats' EtherType. 0, or -1 with errno. */
int wire_listen(const struct wire *wire);

/* Waits for a frame: the bytes of its payload, and when the system took it from the interface
 * (CLOCK_REALTIME, ns since 1970); -1 with errno, EINTR among them. */
ssize_t wire_receive(const struct wire *wire, uint8_t *payload, size_t room, uint64_t *arrived_ns);

#endif
