/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wire.h: the cost of the network: a datagram's round trip, and a KiB of a TCP stream in either direction.
 *
 * The peer is on another machine, so the program has to wait for it. It waits in a loop in user mode; the
 * loop's own instructions are known and subtracted. Everything else that is executed until the program has
 * the answer counts, interrupts included. So systems that receive in an interrupt can be compared to those
 * that receive in the call. Ticks are instructions under QEMU's icount (cost.c).
 *
 * The peer echoes datagrams that come to its UDP port. On the TCP port of the same number it receives a
 * 64-bit little-endian number, the bytes that it should send, and then a stream to discard.
 */
#ifndef COST_WIRE_H
#define COST_WIRE_H

#include <stdint.h>

struct wire_costs {
    uint64_t echo_min_ticks, echo_median_ticks; /* of a datagram of 64 bytes: sendto and recv */
    uint64_t send_kib_ticks;                    /* of sending a KiB, acknowledgements included */
    uint64_t receive_kib_ticks;
};

/* Measures the costs. `peer` is a numeric ADDRESS:PORT. Returns 0, or -errno: -EINVAL if `peer` is malformed,
 * -ETIMEDOUT if no peer answers. */
int wire_measure(const char *peer, struct wire_costs *costs);

#endif
