/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device.c: see device.h. Owns the list of devices, which is complete before the network starts and does not
 * change any more. A trial of the devices (init/) takes their interrupts itself.
 */
#include "net/device.h"
#include "net/network.h"

static struct network_device *devices[NETWORK_DEVICES_MAX];
static unsigned device_count;

void (*network_device_trial)(void);

bool network_device_register(struct network_device *device)
{
    if (device_count == NETWORK_DEVICES_MAX)
        return false;
    devices[device_count++] = device;
    return true;
}

unsigned network_device_count(void)
{
    return device_count;
}

struct network_device *network_device_at(unsigned index)
{
    return index < device_count ? devices[index] : NULL;
}

void network_device_interrupt(void)
{
    if (network_device_trial)
        network_device_trial();
    else
        network_interrupt();
}
