/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * network.c: what drivers call of network.h, until the stack is there.
 */
#include "net/network.h"
#include "net/device.h"

void network_interrupt(void)
{
    for (unsigned i = 0; i < network_device_count(); i++) {
        struct network_device *device = network_device_at(i);

        device->operations->interrupt_disable(device);
    }
}
