/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * interface_facts.c: see interface_facts.h. Facts are read without the network's lock: each is a word.
 */
#include "net/interface_facts.h"
#include "arch.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "net/device.h"
#include "net/inet.h"
#include "net/interface.h"

#define KIND_ETHERNET 1
#define KIND_LOOPBACK 772
#define NAME_BYTES    16
#define REQUEST_BYTES 40 /* sizeof(struct ifreq) */
#define INTERFACES    2

enum interface_request {
    SIOCGIFNAME = 0x8910,
    SIOCGIFCONF = 0x8912,
    SIOCGIFFLAGS = 0x8913,
    SIOCGIFADDR = 0x8915,
    SIOCGIFBRDADDR = 0x8919,
    SIOCGIFNETMASK = 0x891b,
    SIOCGIFMETRIC = 0x891d,
    SIOCGIFMTU = 0x8921,
    SIOCGIFHWADDR = 0x8927,
    SIOCGIFINDEX = 0x8933,
    SIOCGIFTXQLEN = 0x8942,
};

/* Linux's struct ifreq. */
struct request {
    char name[NAME_BYTES];
    union {
        struct {
            uint16_t family, port;
            uint32_t address;
            uint8_t unused[8];
        } inet;
        struct {
            uint16_t kind;
            uint8_t address[6];
        } hardware;
        int16_t flags;
        int32_t number;
        uint8_t room[REQUEST_BYTES - NAME_BYTES];
    };
};

bool interface_facts(unsigned index, struct interface_facts *out)
{
    const struct netif *interface = index == 1 ? &loopback_interface : &ethernet_interface;

    if (index == 0 || index > INTERFACES || (index == 2 && !network_device))
        return false;
    *out = (struct interface_facts){
        .name = index == 1 ? "lo" : "eth0",
        .index = index,
        .kind = index == 1 ? KIND_LOOPBACK : KIND_ETHERNET,
        .flags = IFF_UP | (index == 1 ? IFF_LOOPBACK : IFF_BROADCAST | IFF_MULTICAST),
        .mtu = interface->mtu,
        .address = netif_ip4_addr(interface)->addr,
        .mask = netif_ip4_netmask(interface)->addr,
    };
    if (index == 1 || network_device->link)
        out->flags |= IFF_RUNNING | IFF_LOWER_UP;
    if (index == 2)
        memcpy(out->hardware, network_device->address, sizeof(out->hardware));
    return true;
}

static void address_set(struct request *request, uint32_t address)
{
    memset(request->room, 0, sizeof(request->room));
    request->inet.family = AF_INET;
    request->inet.address = address;
}

bool interface_facts_named(const char *name, struct interface_facts *facts)
{
    for (unsigned index = 1; interface_facts(index, facts); index++)
        if (strncmp(facts->name, name, NAME_BYTES) == 0)
            return true;
    return false;
}

/* Answers SIOCGIFCONF: a struct ifconf says how many bytes of struct ifreq to write, and where. */
static long list(uint64_t argument)
{
    struct {
        int32_t bytes, unused;
        uint64_t requests;
    } place;
    struct interface_facts facts;
    int32_t used = 0;

    if (user_read(&place, argument, sizeof(place)))
        return -EFAULT;
    for (unsigned index = 1; interface_facts(index, &facts); index++) {
        struct request request = { 0 };

        if (!facts.address)
            continue;
        memcpy(request.name, facts.name, strlen(facts.name));
        address_set(&request, facts.address);
        if (place.requests && place.bytes - used < (int32_t)REQUEST_BYTES)
            break;
        if (place.requests && user_write(place.requests + (uint64_t)used, &request, sizeof(request)))
            return -EFAULT;
        used += REQUEST_BYTES;
    }
    return user_write(argument, &used, sizeof(used));
}

static long answer(struct request *request, uint32_t number, const struct interface_facts *facts)
{
    const struct {
        uint32_t request;
        int32_t answer;
    } numbers[] = { { SIOCGIFMETRIC, 0 },
                    { SIOCGIFMTU, (int32_t)facts->mtu },
                    { SIOCGIFTXQLEN, 1000 },
                    { SIOCGIFINDEX, (int32_t)facts->index } };
    uint32_t address;

    for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (numbers[i].request == number) {
            request->number = numbers[i].answer;
            return 0;
        }
    switch (number) {
    case SIOCGIFNAME:
        memset(request->name, 0, sizeof(request->name));
        memcpy(request->name, facts->name, strlen(facts->name));
        return 0;
    case SIOCGIFFLAGS:
        request->flags = (int16_t)facts->flags;
        return 0;
    case SIOCGIFHWADDR:
        memset(request->room, 0, sizeof(request->room));
        request->hardware.kind = facts->kind;
        memcpy(request->hardware.address, facts->hardware, sizeof(facts->hardware));
        return 0;
    case SIOCGIFADDR:
        address = facts->address;
        break;
    case SIOCGIFBRDADDR:
        address = facts->flags & IFF_BROADCAST ? facts->address | ~facts->mask : 0;
        break;
    case SIOCGIFNETMASK:
        address = facts->mask;
        break;
    default:
        return -ENOTTY;
    }
    address_set(request, address);
    return facts->address ? 0 : -EADDRNOTAVAIL;
}

long interface_control(uint32_t number, uint64_t argument)
{
    struct interface_facts facts;
    struct request request;
    long error;

    if (number == SIOCGIFCONF)
        return list(argument);
    if (number < SIOCGIFNAME || number > SIOCGIFTXQLEN) /* all of these have a struct ifreq */
        return -ENOTTY;
    if (user_read(&request, argument, sizeof(request)))
        return -EFAULT;
    if (number == SIOCGIFNAME ? !interface_facts((unsigned)request.number, &facts)
                              : !interface_facts_named(request.name, &facts))
        return -ENODEV;
    error = answer(&request, number, &facts);
    return error ? error : user_write(argument, &request, sizeof(request));
}
