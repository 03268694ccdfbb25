/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loopback.c: see interface.h. The queue is bounded: a packet that finds it full is lost, as on any network.
 */
#include "lwip/ip.h"
#include "lwip/netif.h"
#include "net/interface.h"
#include "net/lwip_hooks.h"
#include "net/memory.h"

#define QUEUE_PACKETS_MAX 512

struct netif loopback_interface;
uint64_t loopback_packets, loopback_bytes, loopback_dropped;
unsigned loopback_sent;

static struct pbuf *first, **last = &first; /* linked by `next`, because each is in one piece */
static unsigned queued;

err_t network_loop_output(struct netif *interface, struct pbuf *packet)
{
    struct pbuf *copy = queued < QUEUE_PACKETS_MAX ? interface_packet(packet->tot_len) : NULL;

    (void)interface; /* which interface has the address does not matter */
    if (!copy) {
        loopback_dropped++;
        return ERR_MEM;
    }
    pbuf_copy(copy, packet);
    loopback_packets++;
    loopback_bytes += copy->tot_len;
    *last = copy;
    last = &copy->next;
    queued++;
    loopback_sent++;
    return ERR_OK;
}

static err_t output(struct netif *interface, struct pbuf *packet, const ip4_addr_t *address)
{
    (void)address; /* the route has led here */
    return network_loop_output(interface, packet);
}

/* Returns whether packets are queued. Also without the lock: a CPU that has queued a packet serves it
 * itself. */
bool loopback_pending(void)
{
    return __atomic_load_n(&first, __ATOMIC_RELAXED) != NULL;
}

bool loopback_receive(void)
{
    struct pbuf *packet = first;

    if (!packet)
        return false;
    first = packet->next;
    packet->next = NULL;
    if (!first)
        last = &first;
    queued--;
    network_account_use(network_account_own(NETWORK_STRANGERS));
    if (loopback_interface.input(packet, &loopback_interface) != ERR_OK)
        pbuf_free(packet);
    network_account_use(NULL);
    return true;
}

static err_t initialise(struct netif *interface)
{
    interface->name[0] = 'l';
    interface->name[1] = 'o';
    interface->output = output;
    interface->mtu = 1500;
    interface->flags = NETIF_FLAG_LINK_UP | NETIF_FLAG_IGMP;
    NETIF_SET_CHECKSUM_CTRL(interface, NETIF_CHECKSUM_DISABLE_ALL); /* packets stay in memory */
    return ERR_OK;
}

void loopback_start(void)
{
    const ip4_addr_t address = { PP_HTONL(IPADDR_LOOPBACK) }, mask = { PP_HTONL(IP_CLASSA_NET) };

    netif_add(&loopback_interface, &address, &mask, IP4_ADDR_ANY4, NULL, initialise, ip_input);
    netif_set_up(&loopback_interface);
}
