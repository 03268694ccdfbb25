/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lwipopts.h: which parts of lwIP the kernel has, and how large they are (lwIP's opt.h lists all options).
 * NO_SYS: no thread of its own and no locks of its own; the network's lock (kernel/net/network.h) guards it.
 * Its timers are not compiled: kernel/net arms smart timers for what is due.
 */
#ifndef TACET_LWIPOPTS_H
#define TACET_LWIPOPTS_H

#define NO_SYS               1
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_TIMERS          0
#define LWIP_NETCONN         0
#define LWIP_SOCKET          0
#define LWIP_STATS           0

/* Memory: kernel/net/memory.h; requests that are too large fail there. */
#define MEM_ALIGNMENT            8
#define MEM_LIBC_MALLOC          1
#define MEMP_MEM_MALLOC          1
#define mem_clib_malloc          network_allocate
#define mem_clib_calloc          network_allocate_array
#define mem_clib_free            network_free
#define LWIP_SUPPORT_CUSTOM_PBUF 1

/* The frame's header and two bytes before it, so that addresses are aligned. */
#define ETH_PAD_SIZE      2
#define PBUF_LINK_HLEN    (14 + ETH_PAD_SIZE)
#define PBUF_POOL_BUFSIZE 1536

#define LWIP_IPV4                     1
#define LWIP_IPV6                     0
#define LWIP_ARP                      1
#define LWIP_ETHERNET                 1
#define LWIP_ICMP                     1
#define LWIP_BROADCAST_PING           0
#define LWIP_MULTICAST_PING           0
#define LWIP_IGMP                     1
#define LWIP_MULTICAST_TX_OPTIONS     1
#define LWIP_RAW                      1
#define LWIP_UDP                      1
#define LWIP_TCP                      1
#define LWIP_DNS                      0
#define LWIP_DHCP                     1
#define LWIP_DHCP_BOOTP_FILE          0
#define DHCP_DOES_ARP_CHECK           1
#define LWIP_DHCP_MAX_NTP_SERVERS     0
#define LWIP_AUTOIP                   0

/* Memory for ARP: entries of the table; packets that wait for each address. */
#define ARP_TABLE_SIZE                64
#define ARP_QUEUEING                  1
#define ARP_QUEUE_LEN                 8
#define ETHARP_SUPPORT_STATIC_ENTRIES 0
#define ETHARP_TABLE_MATCH_NETIF      1
#define MEMP_NUM_ARP_QUEUE            64

#define IP_FORWARD            0
#define IP_OPTIONS_ALLOWED    1
#define IP_REASSEMBLY         1
#define IP_FRAG               1
#define IP_REASS_MAX_PBUFS    48
#define IP_REASS_MAXAGE       15
#define IP_DEFAULT_TTL        64
#define IP_SOF_BROADCAST      1
#define IP_SOF_BROADCAST_RECV 1

#define LWIP_NETIF_HOSTNAME          1
#define LWIP_NETIF_LINK_CALLBACK     1
#define LWIP_NETIF_STATUS_CALLBACK   1
#define LWIP_NETIF_LOOPBACK          1 /* kernel/net/loopback.c */
#define LWIP_HAVE_LOOPIF             0
#define LWIP_NUM_NETIF_CLIENT_DATA   0
#define LWIP_CHECKSUM_CTRL_PER_NETIF 1
#define LWIP_CHECKSUM_ON_COPY        0
#define LWIP_CHKSUM                  checksum_add /* kernel/lib/checksum.c */
#define LWIP_CHKSUM_ALGORITHM        0

/* TCP: the window is a variable. kernel/net/connection.c sets it for the connection that it is about to pass
 * to lwIP. Bytes to be sent stay in the stream's queue; lwIP refers to them. The clock has steps of 100
 * ms. */
#ifndef connection_window /* init.c defines it as a number, for its #if */
extern unsigned connection_window;
#endif
#define TCP_MSS              1460
#define TCP_WND              connection_window
#define TCP_TMR_INTERVAL     50
#define TCP_MSL              30000UL
#define LWIP_WND_SCALE       1
#define TCP_RCV_SCALE        7
#define TCP_SND_BUF          (16 * 1024 * 1024)
#define TCP_SYNMAXRTX        12 /* kernel/net/stream.c gives up earlier */
#define TCP_SND_QUEUELEN     0xfff0
#define TCP_SNDLOWAT         (2 * TCP_MSS)
#define TCP_QUEUE_OOSEQ      1
#define TCP_OOSEQ_MAX_BYTES  65536
#define TCP_OOSEQ_MAX_PBUFS  64
#define LWIP_TCP_SACK_OUT    1
#define LWIP_TCP_TIMESTAMPS  0
#define LWIP_TCP_KEEPALIVE   1
#define TCP_LISTEN_BACKLOG   0
#define TCP_OVERSIZE         0
#define LWIP_CALLBACK_API    1
#define MEMP_NUM_TCP_PCB     65535
#define MEMP_NUM_TCP_SEG     65535
#define LWIP_HOOK_TCP_ISN(local, local_port, remote, remote_port) \
    connection_first_number((local)->addr, local_port, (remote)->addr, remote_port)
#define LWIP_DISABLE_TCP_SANITY_CHECKS  1
#define LWIP_DISABLE_MEMP_SANITY_CHECKS 1
#define CHECKSUM_GEN_IP                 1
#define CHECKSUM_CHECK_IP               1

#define SO_REUSE 0

/* kernel/net/interface.c: own addresses lead to loopback. */
#define LWIP_HOOK_FILENAME                           "net/lwip_hooks.h"
#define LWIP_HOOK_IP4_ROUTE_SRC(source, destination) network_ip_route(source, destination)

#define LWIP_HOOK_DHCP_APPEND_OPTIONS(interface, dhcp, state, message, type, count) \
    (*(count) = network_dhcp_request((message)->options, *(count)))
#define LWIP_HOOK_DHCP_PARSE_OPTION(interface, dhcp, state, message, type, number, bytes, packet, offset) \
    network_dhcp_option(type, number, bytes, packet, offset)

#endif
