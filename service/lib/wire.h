/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wire.h: sends and receives NETTICK frames on an Ethernet interface through a packet socket (packet(7)),
 * which needs CAP_NET_RAW.
 */
#ifndef TACET_SERVICE_WIRE_H
#define TACET_SERVICE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire {
    int socket;
    int index; /* the interface's index */
    uint8_t address[6];
};

/* Opens an interface by its name; wire_receive then gets frames of the beats' EtherType. 0, or -1 with errno,
 * and in *what the step that failed. */
int wire_open(struct wire *wire, const char *interface, const char **what);

/* Broadcasts a payload. 0, or -1 with errno. Never blocks. */
int wire_send(const struct wire *wire, const uint8_t *payload, size_t bytes);

/* Sends a payload to one address. 0, or -1 with errno. Never blocks. */
int wire_send_to(const struct wire *wire, const uint8_t to[6], const uint8_t *payload, size_t bytes);

struct wire_frame {
    uint8_t from[6];
    bool is_for_us;      /* to this interface, or broadcast; false if a switch has flooded it here */
    uint64_t arrived_ns; /* when the system took it from the interface (CLOCK_REALTIME, ns since 1970) */
    size_t bytes;        /* length of its payload */
    uint8_t payload[1500];
};

/* Receives a frame. 0, or -1 with errno (EAGAIN: none has come). Never blocks. */
int wire_receive(const struct wire *wire, struct wire_frame *frame);

/* Waits for a frame or a signal. */
void wire_wait(const struct wire *wire);

/* Returns the number of frames that the system has dropped for lack of room since the last call. */
uint64_t wire_dropped(const struct wire *wire);

#endif
