/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device.c: see device.h. Owns the list of devices, which is complete before the network starts and does not
 * change afterwards.
 */
#include "net/device.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "net/address_option.h"

struct network_device *network_devices[NETWORK_DEVICES_MAX];
unsigned network_device_count;

bool network_device_register(struct network_device *device)
{
    if (network_device_count == NETWORK_DEVICES_MAX)
        return false;
    network_devices[network_device_count++] = device;
    return true;
}

int network_device_find(const char *option, const char *name, struct network_device **out,
                        struct message *why)
{
    uint8_t address[ETHERNET_ADDRESS_BYTES];
    bool by_address = hardware_address_parse(name, address);

    for (unsigned i = 0; i < network_device_count; i++)
        if (by_address ? memcmp(network_devices[i]->address, address, sizeof(address)) == 0
                       : strcmp(network_devices[i]->place, name) == 0) {
            *out = network_devices[i];
            return 0;
        }
    return message_set(why, -EINVAL,
                       "%s=%s: no such network device; name one by its address, as "
                       "52:54:00:12:34:56, or by its place, as 00:03.0",
                       option, name);
}
