/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wire.h: frames of NETTICK onto an Ethernet interface, and from it: a packet socket (packet(7)), which wants
 * CAP_NET_RAW.
 */
#ifndef TACET_SERVICE_WIRE_H
#define TACET_SERVICE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire {
    int socket;
    int index; /* of the interface */
    uint8_t address[6];
};

/* Opens the interface of this name: wire_receive gets frames of the beats' EtherType. 0, or -1 with errno and
 * what failed in *what. */
int wire_open(struct wire *wire, const char *interface, const char **what);

/* Broadcasts a payload. 0, or -1 with errno; it never waits. */
int wire_send(const struct wire *wire, const uint8_t *payload, size_t bytes);

/* The same, to one address. */
int wire_send_to(const struct wire *wire, const uint8_t to[6], const uint8_t *payload, size_t bytes);

struct wire_frame {
    uint8_t from[6];
    bool is_for_us;      /* to this interface, or to all; not what a switch has led here by mistake */
    uint64_t arrived_ns; /* when the system took it from the interface (CLOCK_REALTIME, ns since 1970) */
    size_t bytes;        /* of its payload */
    uint8_t payload[1500];
};

/* Takes a frame that has come; -1 with errno, EAGAIN where there is none. It never waits. */
int wire_receive(const struct wire *wire, struct wire_frame *frame);

/* Waits for a frame, or a signal. */
void wire_wait(const struct wire *wire);

/* How many frames the system had no room for since this was asked last. */
uint64_t wire_dropped(const struct wire *wire);

#endif
