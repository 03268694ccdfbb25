/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wire.h: what the network costs: a datagram there and back, and a KiB of a TCP stream in either direction.
 *
 * The peer is on another machine, so that the program has to wait for it. It waits by a loop in user mode
 * whose own instructions are known and are taken off. Whatever else is executed until the answer is in the
 * program's hands counts, interrupts included; so the figures of systems that receive in an interrupt and of
 * those that receive in the call can be compared. Ticks are instructions under QEMU's icount (cost.c).
 *
 * The peer: echoes datagrams that come to its UDP port; to its TCP port of the same number comes a 64-bit
 * little-endian number, of the bytes that it has to send, and then a stream to discard.
 */
#ifndef COST_WIRE_H
#define COST_WIRE_H

#include <stdint.h>

struct wire_costs {
    uint64_t echo_min_ticks, echo_median_ticks; /* of a datagram of 64 bytes: sendto and recv */
    uint64_t send_kib_ticks;                    /* of a KiB that is sent, acknowledgements included */
    uint64_t receive_kib_ticks;
};

/* `peer` is ADDRESS:PORT, in numbers. 0, or -errno: -EINVAL where it is not, -ETIMEDOUT where nobody
 * answers. */
int wire_measure(const char *peer, struct wire_costs *costs);

#endif
