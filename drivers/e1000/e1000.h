/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * e1000.h: Intel's gigabit Ethernet controllers, from the 82540 to the I350: one driver, registered with the
 * network by net/device.h.
 */
#ifndef TACET_E1000_H
#define TACET_E1000_H

#include "drivers/pci/pci.h"

extern const struct pci_driver e1000_driver;

#endif
