/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * connection_loss.c: finds lost segments by the peer's selective acknowledgements. lwIP sends a segment again
 * after three acknowledgements that repeat the last one, or by its timer. A peer that takes many segments in
 * one go (Linux with GRO) acknowledges all of them only once; so a segment counts as lost, too, once more
 * than two full ones above it have come [RFC 6675 §4, IsLost]. lwIP asks peers for such options, but reads
 * none of them. Runs with the network's lock held, between connection_enter and connection_leave.
 */
#include "net/connection.h"
#include "lwip/priv/tcp_priv.h"

#define OPTION_END   0
#define OPTION_NONE  1
#define OPTION_SACK  5
#define BLOCK_BYTES  8
#define SEGMENTS_MAX 2 /* with no more above it, a segment may still be in flight [RFC 6675, DupThresh] */

static uint32_t number_at(const uint8_t *bytes)
{
    return lwip_ntohl((uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
                      (uint32_t)bytes[3] << 24);
}

/* Returns the bytes of these blocks above what is acknowledged. Blocks below report duplicates, or are
 * old. */
static uint32_t block_bytes(const uint8_t *blocks, unsigned length, uint32_t acknowledged)
{
    uint32_t bytes = 0;

    for (unsigned at = 0; at + BLOCK_BYTES <= length; at += BLOCK_BYTES) {
        uint32_t begin = number_at(blocks + at), end = number_at(blocks + at + 4);

        if (TCP_SEQ_GT(begin, acknowledged) && TCP_SEQ_GT(end, begin))
            bytes += end - begin;
    }
    return bytes;
}

uint32_t segment_selected_bytes(const struct pbuf *packet, uint32_t acknowledged)
{
    const struct tcp_hdr *header = packet->payload;
    const uint8_t *options = packet->payload;
    unsigned at = TCP_HLEN, end = TCPH_HDRLEN_BYTES(header), length = 0;

    if (end > packet->len)
        return 0;
    if (TCP_SEQ_GT(lwip_ntohl(header->ackno), acknowledged))
        acknowledged = lwip_ntohl(header->ackno);
    for (; at + 1 < end && options[at] != OPTION_END; at += length) {
        length = options[at] == OPTION_NONE ? 1 : options[at + 1];
        if (length == 0 || at + length > end)
            return 0;
        if (options[at] == OPTION_SACK && length > 2)
            return block_bytes(options + at + 2, length - 2, acknowledged);
    }
    return 0;
}

void connection_loss_repair(struct tcp_pcb *pcb, uint32_t selected_bytes)
{
    if (selected_bytes <= SEGMENTS_MAX * (uint32_t)pcb->mss || pcb->flags & (TF_INFR | TF_RTO) ||
        !pcb->unacked)
        return;
    tcp_rexmit_fast(pcb);
    tcp_output(pcb);
}
