/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * network_files.c: see network.h. The files in /etc are written at boot and do not change: a lease that
 * brings another name server later is not seen.
 */
#include "net/network.h"
#include "fs/etc.h"
#include "fs/proc/proc.h"
#include "lib/errno.h"
#include "lib/file_mode.h"
#include "lwip/igmp.h"
#include "net/address.h"
#include "net/datagram.h"
#include "net/device.h"
#include "net/interface.h"
#include "net/interface_facts.h"
#include "net/memory.h"
#include "net/inet.h"

#define ROUTE_UP      1
#define ROUTE_GATEWAY 2
#define ROUTE_HOST    4

/* ---- /etc ---- */

static char resolv_conf[512], hosts[256], hostname[HOST_NAME_BYTES + 1] = "tacet\n";

static void resolv_conf_write(void)
{
    char text[ADDRESS_TEXT_BYTES];
    size_t used = 0;

    for (unsigned i = 0; i < NAME_SERVERS_MAX; i++)
        if (node_facts.name_servers[i])
            used += format_text(resolv_conf + used, sizeof(resolv_conf) - used, "nameserver %s\n",
                                address_text(node_facts.name_servers[i], text));
    if (node_facts.search[0])
        format_text(resolv_conf + used, sizeof(resolv_conf) - used, "search %s\n", node_facts.search);
}

static void hosts_write(void)
{
    uint32_t address = netif_ip4_addr(&ethernet_interface)->addr;
    size_t used = format_text(hosts, sizeof(hosts), "127.0.0.1 localhost\n");
    char text[ADDRESS_TEXT_BYTES];

    format_text(hosts + used, sizeof(hosts) - used, "%s %s",
                address ? address_text(address, text) : "127.0.0.1", hostname);
}

/* ---- /proc ---- */

static void dev_line(struct file *file, const char *name, const struct network_device_counts *counts,
                     uint64_t receive_dropped, uint64_t send_dropped)
{
    text_add(file,
             "%6s: %7lu %7lu %4lu %4lu    0     0          0         0 %8lu %7lu    0 %4lu    0     0       0"
             "          0\n",
             name, counts->received_bytes, counts->received_frames, counts->receive_errors, receive_dropped,
             counts->sent_bytes, counts->sent_frames, send_dropped);
}

static void dev_text(struct file *file)
{
    const struct network_device_counts loopback = {
        .received_bytes = loopback_bytes,
        .received_frames = loopback_packets,
        .sent_bytes = loopback_bytes,
        .sent_frames = loopback_packets,
    };

    text_add(file,
             "Inter-|   Receive                                                |  Transmit\n"
             " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop "
             "fifo colls carrier compressed\n");
    dev_line(file, "lo", &loopback, loopback_dropped, 0);
    if (network_device)
        dev_line(file, "eth0", &network_device->counts,
                 network_device->counts.receive_missed + interface_receive_dropped, interface_send_dropped);
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

/* Writes an interface's groups, with Linux's columns. Timers and reports, lwIP's own matter, are 0. */
static void groups_add(struct file *file, const struct netif *interface, unsigned index, const char *name)
{
    uint32_t groups[NODE_MEMBERSHIPS_MAX + 1]; /* that of all hosts, too */
    uint8_t users[NODE_MEMBERSHIPS_MAX + 1];
    unsigned count = 0;

    network_lock();
    for (const struct igmp_group *group = netif_igmp_data(interface); group; group = group->next) {
        groups[count] = group->group_address.addr;
        users[count++] = group->use;
    }
    network_unlock();
    text_add(file, "%u\t%s: %5u      V2\n", index, name, count);
    for (unsigned i = 0; i < count; i++)
        text_add(file, "\t\t\t\t%08X %5u 0:00000000\t\t0\n", groups[i], users[i]);
}

static void igmp_text(struct file *file)
{
    text_add(file, "Idx\tDevice    : Count Querier\tGroup    Users Timer\tReporter\n");
    groups_add(file, &loopback_interface, 1, "lo        ");
    if (network_device)
        groups_add(file, &ethernet_interface, 2, "eth0      ");
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

/* ---- /sys/class/net ---- */

/* A row's `of`. The first four are numbers. */
enum { IF_CARRIER, IF_INDEX, IF_KIND, IF_MTU, IF_ADDRESS, IF_FLAGS, IF_STATE };

/* Writes a fact of the interface whose name the directory has. */
static void interface_text(struct file *file)
{
    static const char *const states[] = { "down\n", "up\n", "unknown\n" }; /* as loopback's on Linux */
    const bool is_loopback = file->inode->name->directory->name->name[0] == 'l';
    const unsigned of = ((const struct proc_file *)file->inode->data)->of;
    struct interface_facts facts = { .name = "" };

    interface_facts(is_loopback ? 1 : 2, &facts);
    const uint32_t has_carrier = (facts.flags & IFF_LOWER_UP) != 0;
    const uint32_t numbers[] = { has_carrier, facts.index, facts.kind, facts.mtu };
    if (of <= IF_MTU)
        text_add(file, "%u\n", numbers[of]);
    else if (of == IF_FLAGS)
        text_add(file, "%#x\n", facts.flags);
    else if (of == IF_STATE)
        text_add(file, "%s", states[is_loopback ? 2 : has_carrier]);
    for (unsigned i = 0; of == IF_ADDRESS && i < sizeof(facts.hardware); i++)
        text_add(file, "%02x%s", facts.hardware[i], i + 1 < sizeof(facts.hardware) ? ":" : "\n");
}

static const struct proc_file interface_files[] = {
    { "address", .make = interface_text, .of = IF_ADDRESS },
    { "carrier", .make = interface_text, .of = IF_CARRIER },
    { "flags", .make = interface_text, .of = IF_FLAGS },
    { "ifindex", .make = interface_text, .of = IF_INDEX },
    { "mtu", .make = interface_text, .of = IF_MTU },
    { "operstate", .make = interface_text, .of = IF_STATE },
    { "type", .make = interface_text, .of = IF_KIND },
    { NULL },
};

static int interfaces_add(struct tree *tree, struct message *why)
{
    struct inode *all = tree_add(tree, "/sys/class/net", S_IFDIR | 0555, NULL, 0, why);
    struct interface_facts facts;

    for (unsigned index = 1; all && interface_facts(index, &facts); index++)
        if (!proc_directory_add(tree, all, facts.name, interface_files, why))
            return -ENOMEM;
    return all ? 0 : -ENOMEM;
}

/* ---- All of them ---- */

static const struct proc_file files[] = {
    { "/proc/net/dev", .make = dev_text },
    { "/proc/net/igmp", .make = igmp_text },
    { "/proc/net/route", .make = route_text },
    { "/proc/sys/kernel/hostname", .text = hostname },
    { "/proc/sys/net/core/somaxconn", .text = "4096\n" }, /* STREAM_BACKLOG_MAX */
    { "/proc/sys/net/ipv4/ip_local_port_range", .text = "32768\t60999\n" },
    { "/proc/tacet/network", .make = counts_text },
    { NULL },
};

int network_files_add(struct tree *tree, struct message *why)
{
    if (node_facts.name[0])
        format_text(hostname, sizeof(hostname), "%s\n", node_facts.name);
    resolv_conf_write();
    hosts_write();
    if ((resolv_conf[0] && etc_file_add(tree, "/etc/resolv.conf", resolv_conf, why)) ||
        etc_file_add(tree, "/etc/hosts", hosts, why) || etc_file_add(tree, "/etc/hostname", hostname, why))
        return -ENOMEM;
    return proc_files_add(tree, tree->root, files, why) ? interfaces_add(tree, why) : -ENOMEM;
}
