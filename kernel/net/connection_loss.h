/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * connection_loss.h: segments that a peer misses, by its selective acknowledgements [RFC 2018; RFC 6675].
 */
#ifndef TACET_CONNECTION_LOSS_H
#define TACET_CONNECTION_LOSS_H

#include <stdint.h>

struct pbuf;
struct tcp_pcb;

/* Bytes that a segment says have come above those that it, or one before it, acknowledges; before tcp_input
 * has it. */
uint32_t segment_selected_bytes(const struct pbuf *packet, uint32_t acknowledged);

/* Sends the first segment again that is not acknowledged, if so many bytes above it say that it is lost. Once
 * until it is acknowledged, as lwIP does by its own count. After tcp_input. */
void connection_loss_repair(struct tcp_pcb *pcb, uint32_t selected_bytes);

#endif
