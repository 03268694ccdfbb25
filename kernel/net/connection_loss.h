/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * connection_loss.h: finds segments that a peer misses, by its selective acknowledgements [RFC 2018; RFC
 * 6675].
 */
#ifndef TACET_CONNECTION_LOSS_H
#define TACET_CONNECTION_LOSS_H

#include <stdint.h>

struct pbuf;
struct tcp_pcb;

/* Returns how many bytes a segment reports received above those that it, or an earlier one, acknowledges.
 * Called before tcp_input. */
uint32_t segment_selected_bytes(const struct pbuf *packet, uint32_t acknowledged);

/* Sends the first unacknowledged segment again, if `selected_bytes` above it say that it is lost; only once
 * until it is acknowledged, as lwIP does by its own count. Called after tcp_input. */
void connection_loss_repair(struct tcp_pcb *pcb, uint32_t selected_bytes);

#endif
