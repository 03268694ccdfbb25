/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * network_files.c: see network.h. The files in /etc are written at boot and do not change: a lease that
 * brings another name server later is not seen.
 */
#include "net/network.h"
#include "fs/file.h"
#include "fs/proc/proc.h"
#include "lib/errno.h"
#include "lib/file_mode.h"
#include "lib/kstring.h"
#include "net/address.h"
#include "net/device.h"
#include "net/interface.h"
#include "net/memory.h"
#include "net/inet.h"

#define ROUTE_UP      1
#define ROUTE_GATEWAY 2
#define ROUTE_HOST    4

/* ---- /etc ---- */

static char resolv_conf[512], hosts[256], hostname[HOST_NAME_BYTES + 1];

static int file_add(struct tree *tree, const char *path, const char *text, struct message *why)
{
    struct path_lookup found;

    if (!text[0] || tree_find(tree, tree->root, path, TREE_FOLLOW, &found) == 0)
        return 0;
    return tree_add(tree, path, S_IFREG | 0644, text, strlen(text), why) ? 0 : -ENOMEM;
}

static void resolv_conf_write(void)
{
    char *to = resolv_conf;
    const char *end = resolv_conf + sizeof(resolv_conf);
    char text[ADDRESS_TEXT_BYTES];

    for (unsigned i = 0; i < NAME_SERVERS_MAX; i++)
        if (node_facts.name_servers[i])
            to += format_text(to, (size_t)(end - to), "nameserver %s\n",
                              address_text(node_facts.name_servers[i], text));
    if (node_facts.search[0])
        format_text(to, (size_t)(end - to), "search %s\n", node_facts.search);
}

static void hosts_write(void)
{
    uint32_t address = netif_ip4_addr(&ethernet_interface)->addr;
    size_t used = format_text(hosts, sizeof(hosts), "127.0.0.1 localhost\n");
    char text[ADDRESS_TEXT_BYTES];

    if (address && node_facts.name[0])
        format_text(hosts + used, sizeof(hosts) - used, "%s %s\n", address_text(address, text),
                    node_facts.name);
}

/* ---- /proc ---- */

static void dev_text(struct file *file)
{
    text_add(file,
             "Inter-|   Receive                                                |  Transmit\n"
             " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop "
             "fifo colls carrier compressed\n");
    text_add(file, "%6s: %7lu %7lu %4u %4lu %4u %5u %10u %9u %8lu %7lu %4u %4u %4u %5u %7u %10u\n", "lo",
             loopback_bytes, loopback_packets, 0, loopback_dropped, 0, 0, 0, 0, loopback_bytes,
             loopback_packets, 0, 0, 0, 0, 0, 0);
    if (!network_device)
        return;
    const struct network_device_counts *counts = &network_device->counts;
    text_add(file, "%6s: %7lu %7lu %4lu %4lu %4u %5u %10u %9u %8lu %7lu %4u %4lu %4u %5u %7u %10u\n", "eth0",
             counts->received_bytes, counts->received_frames, counts->receive_errors,
             counts->receive_missed + interface_receive_dropped, 0, 0, 0, 0, counts->sent_bytes,
             counts->sent_frames, 0, interface_send_dropped, 0, 0, 0, 0);
}

static void route_add(struct file *file, uint32_t net, uint32_t gateway, uint32_t mask)
{
    const unsigned flags = ROUTE_UP | (gateway ? ROUTE_GATEWAY : 0U) | (mask == UINT32_MAX ? ROUTE_HOST : 0U);

    text_add(file, "eth0\t%08X\t%08X\t%04X\t0\t0\t0\t%08X\t0\t0\t0\n", net, gateway, flags, mask);
}

static void route_text(struct file *file)
{
    uint32_t address = netif_ip4_addr(&ethernet_interface)->addr;
    uint32_t mask = netif_ip4_netmask(&ethernet_interface)->addr,
             gateway = netif_ip4_gw(&ethernet_interface)->addr;

    text_add(file, "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n");
    if (address && gateway && !node_facts.route_count)
        route_add(file, 0, gateway, 0);
    if (address)
        route_add(file, address & mask, 0, mask);
    for (unsigned i = 0; address && i < node_facts.route_count; i++)
        route_add(file, node_facts.routes[i].net, node_facts.routes[i].gateway, node_facts.routes[i].mask);
}

static void counts_text(struct file *file)
{
    static const char *const accounts[NETWORK_OWN] = { "kernel", "frames", "strangers", "visitors" };
    const struct network_device_counts none = { 0 },
                                       *counts = network_device ? &network_device->counts : &none;

    text_add(file, "device %s\nlink %u\nspeed_mbit %u\n", network_device ? network_device->model : "none",
             network_device && network_device->link, network_device ? network_device->speed_mbit : 0);
    text_add(file, "received_frames %lu\nreceived_bytes %lu\nsent_frames %lu\nsent_bytes %lu\n",
             counts->received_frames, counts->received_bytes, counts->sent_frames, counts->sent_bytes);
    text_add(file, "receive_errors %lu\nreceive_missed %lu\nreceive_dropped %lu\nsend_dropped %lu\n",
             counts->receive_errors, counts->receive_missed, interface_receive_dropped,
             interface_send_dropped);
    text_add(file, "interrupts %lu\nlink_changes %lu\nkept %lu\npolled %lu\n", counts->interrupts,
             counts->link_changes, idle_counts.kept, idle_counts.polled);
    text_add(file, "loopback_packets %lu\nloopback_dropped %lu\nnetconsole_dropped %lu\n", loopback_packets,
             loopback_dropped, netconsole_dropped);
    text_add(file, "messages_dropped %lu\n", inet_lines_dropped);
    for (unsigned which = 0; which < NETWORK_OWN; which++)
        text_add(file, "%s_bytes %lu\n", accounts[which],
                 network_account_bytes(network_account_own((enum network_own)which)));
}

static const struct proc_file files[] = {
    { "/proc/net/dev", .make = dev_text },
    { "/proc/net/route", .make = route_text },
    { "/proc/tacet/network", .make = counts_text },
    { NULL },
};

int network_files_add(struct tree *tree, struct message *why)
{
    resolv_conf_write();
    hosts_write();
    if (node_facts.name[0])
        format_text(hostname, sizeof(hostname), "%s\n", node_facts.name);
    if (file_add(tree, "/etc/resolv.conf", resolv_conf, why) || file_add(tree, "/etc/hosts", hosts, why) ||
        file_add(tree, "/etc/hostname", hostname, why))
        return -ENOMEM;
    return proc_files_add(tree, files, why);
}
