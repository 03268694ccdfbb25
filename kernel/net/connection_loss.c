/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * connection_loss.c: finds lost segments by the peer's selective acknowledgements. lwIP sends a segment again
 * after three acknowledgements that repeat the last one, or by its timer. A peer that takes many segments in
 * one go (Linux with GRO) acknowledges all of them only once; so a segment counts as lost, too, once more
 * than two full ones above it have come [RFC 6675 §4, IsLost]. lwIP asks peers for such options, but reads
 * none of them. Runs with the network's lock held, between connection_enter and connection_leave.
 */
#include "net/connection.h"
#include "net/size.h"
#include "lwip/priv/tcp_priv.h"

#define OPTION_SACK  5
#define BLOCKS_MAX   5 /* an option has 255 bytes, but the header 40 for all of them */
#define SEGMENTS_MAX 2 /* with no more above it, a segment may still be in flight [RFC 6675, DupThresh] */

int segment_selected_find(const struct pbuf *packet)
{
    const unsigned end = TCPH_HDRLEN_BYTES((const struct tcp_hdr *)packet->payload);
    unsigned at = TCP_HLEN;
    int found = 0;

    while (at < end) {
        const uint8_t kind = pbuf_get_at(packet, size_16(at));

        if (kind == LWIP_TCP_OPT_EOL)
            break;
        if (kind == LWIP_TCP_OPT_NOP) {
            at++;
            continue;
        }
        if (at + 1 == end)
            return -1;
        const uint8_t length = pbuf_get_at(packet, size_16(at + 1));
        if (length < 2) /* lwIP reads no further */
            break;
        if (kind == OPTION_SACK && at + length <= end)
            found = (int)at;
        at += length;
    }
    return found;
}

uint32_t segment_selected_bytes(const struct pbuf *packet, unsigned at, uint32_t acknowledged)
{
    const struct tcp_hdr *header = packet->payload;
    uint32_t blocks[BLOCKS_MAX][2], bytes = 0;
    const unsigned length = pbuf_get_at(packet, size_16(at + 1)) - 2U,
                   copied = pbuf_copy_partial(packet, blocks, size_16(length), size_16(at + 2));

    if (TCP_SEQ_GT(lwip_ntohl(header->ackno), acknowledged))
        acknowledged = lwip_ntohl(header->ackno);
    for (unsigned i = 0; i < copied / sizeof(blocks[0]); i++) {
        const uint32_t begin = lwip_ntohl(blocks[i][0]), end = lwip_ntohl(blocks[i][1]);

        /* Blocks below report duplicates, or are old. */
        if (TCP_SEQ_GT(begin, acknowledged) && TCP_SEQ_GT(end, begin))
            bytes += end - begin;
    }
    return bytes;
}

void connection_loss_repair(struct tcp_pcb *pcb, uint32_t selected_bytes)
{
    if (selected_bytes <= SEGMENTS_MAX * (uint32_t)pcb->mss || pcb->flags & (TF_INFR | TF_RTO) ||
        !pcb->unacked)
        return;
    tcp_rexmit_fast(pcb);
    tcp_output(pcb);
}
