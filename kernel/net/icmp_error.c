/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * icmp_error.c: errors that routers and peers report about packets of this node [RFC 792; RFC 1191]. Each
 * carries the beginning of the packet that has caused it, whose addresses and ports name its sender. A
 * datagram socket gets the error if it is connected, or asks for errors. A TCP connection gets it only while
 * it is being made, and if the packet's sequence number is one in flight: an established connection goes on
 * and retransmits. If a segment was too large for the path, the connection's segments become smaller. Runs
 * with the network's lock held.
 */
#include "lib/errno.h"
#include "net/datagram.h"
#include "net/size.h"
#include "net/stream_state.h"
#include "lwip/icmp.h"
#include "lwip/priv/tcp_priv.h"

#define SEGMENT_MIN       (552 - 40) /* smaller paths are not believed */
#define EMBEDDED_MIN      8          /* bytes after the embedded IP header */
#define CODE_PROTOCOL     2
#define CODE_PORT         3
#define CODE_FRAGMENT     4
#define ICMP_HEADER_BYTES 8

struct embedded {
    struct ip_hdr ip;
    uint8_t room[40]; /* IP's options */
    uint8_t next[EMBEDDED_MIN];
};

static int errno_of(unsigned type, unsigned code)
{
    static const uint8_t errors[] = {
        [0] = ENETUNREACH,          [CODE_PROTOCOL] = ECONNREFUSED,
        [CODE_PORT] = ECONNREFUSED, [CODE_FRAGMENT] = EMSGSIZE,
        [6] = ENETUNREACH,          [11] = ENETUNREACH,
    };
    const int error = type == ICMP_DUR && code < sizeof(errors) ? errors[code] : 0;

    return error ? -error : -EHOSTUNREACH;
}

static void segments_shrink(struct connection *connection, unsigned way_bytes)
{
    struct tcp_pcb *pcb = connection->pcb;
    unsigned segment = way_bytes > 40 + SEGMENT_MIN ? way_bytes - 40 : SEGMENT_MIN;

    if (pcb->state == LISTEN || segment >= pcb->mss)
        return;
    /* Segments in flight stay as they are: lwIP allows routers to fragment its packets. */
    connection_enter(connection);
    pcb->mss = size_16(segment);
    connection_push(connection);
    connection_leave(connection);
}

static void tcp_error(const struct connection_ends *ends, const struct tcp_hdr *header, unsigned type,
                      unsigned code, unsigned way_bytes)
{
    struct connection *connection = connection_find(ends);
    uint32_t sequence = lwip_ntohl(header->seqno);

    if (!connection || !connection->pcb)
        return;
    struct tcp_pcb *pcb = connection->pcb;
    if (TCP_SEQ_LT(sequence, pcb->lastack) || TCP_SEQ_GT(sequence, pcb->snd_nxt))
        return;
    if (type == ICMP_DUR && code == CODE_FRAGMENT) {
        segments_shrink(connection, way_bytes);
    } else if (pcb->state == SYN_SENT && type == ICMP_DUR) {
        stream_of(connection)->error = errno_of(type, code);
        connection_abort(connection, false);
    }
}

void icmp_error_input(const struct pbuf *packet, unsigned header_bytes)
{
    struct embedded embedded;
    struct icmp_echo_hdr icmp; /* its last word is the path's size, if a packet was too large */

    if (pbuf_copy_partial(packet, &icmp, sizeof(icmp), size_16(header_bytes)) < sizeof(icmp))
        return;
    unsigned type = ICMPH_TYPE(&icmp), code = ICMPH_CODE(&icmp);
    if (type != ICMP_DUR && type != ICMP_TE)
        return;
    u16_t got =
        pbuf_copy_partial(packet, &embedded, sizeof(embedded), size_16(header_bytes + ICMP_HEADER_BYTES));
    unsigned ip_bytes = got >= sizeof(embedded.ip) ? IPH_HL_BYTES(&embedded.ip) : 0;
    if (ip_bytes < sizeof(embedded.ip) || got < ip_bytes + EMBEDDED_MIN ||
        IPH_OFFSET(&embedded.ip) & PP_HTONS(IP_OFFMASK))
        return;
    const struct tcp_hdr *header = (const void *)((const uint8_t *)&embedded + ip_bytes); /* ports as UDP's */
    const struct connection_ends ends = { embedded.ip.src.addr, embedded.ip.dest.addr,
                                          lwip_ntohs(header->src), lwip_ntohs(header->dest) };
    if (IPH_PROTO(&embedded.ip) == IP_PROTO_UDP)
        datagram_error(&ends, errno_of(type, code));
    else if (IPH_PROTO(&embedded.ip) == IP_PROTO_TCP)
        tcp_error(&ends, header, type, code, lwip_ntohs(icmp.seqno));
}
