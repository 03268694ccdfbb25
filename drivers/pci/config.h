/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config.h: registers of PCI's configuration space, for the files of drivers/pci alone.
 *
 * Sources: PCI Local Bus Specification 3.0 §6.1 (header), §6.8 (MSI, MSI-X), PCI Express Base Specification
 * 3.0 §7.8; PCI Code and ID Assignment Specification 1.3 §1 (classes).
 */
#ifndef TACET_PCI_CONFIG_H
#define TACET_PCI_CONFIG_H

#include <stdint.h>

#define PCI_COMMAND             0x04 /* command in the lower half, status in the upper */
#define PCI_COMMAND_MEMORY      (1U << 1)
#define PCI_COMMAND_MASTER      (1U << 2)
#define PCI_COMMAND_NO_LINE     (1U << 10)
#define PCI_STATUS_CAPABILITIES (1U << 20)
#define PCI_CLASS               0x08 /* from bit 8 on: interface, subclass, class */
#define PCI_CLASS_NETWORK       0x02
#define PCI_CLASS_DISPLAY       0x03
#define PCI_CLASS_BRIDGE        0x06
#define PCI_CLASS_IOMMU         0x0806
#define PCI_HEADER              0x0c /* its type in bits 22:16 */
#define PCI_HEADER_BRIDGE       1
#define PCI_HEADER_FUNCTIONS    (1U << 23)
#define PCI_BAR(number)         (0x10 + 4 * (number))
#define PCI_BARS                6
#define PCI_BRIDGE_BUSES        0x18
#define PCI_CAPABILITIES        0x34
#define PCI_CAPABILITIES_MAX    48

#define PCI_MESSAGE           0x05 /* MSI */
#define PCI_MESSAGE_ENABLE    (1U << 16)
#define PCI_MESSAGE_COUNT     (7U << 20)
#define PCI_MESSAGE_WIDE      (1U << 23) /* its address has 64 bits */
#define PCI_EXPRESS           0x10
#define PCI_EXPRESS_STATUS    0x08 /* the device's status is in the upper half */
#define PCI_EXPRESS_PENDING   (1U << 21)
#define PCI_TABLE             0x11 /* MSI-X */
#define PCI_TABLE_ENABLE      (1U << 31)
#define PCI_TABLE_MASK        (1U << 30)
#define PCI_TABLE_PLACE       0x04
#define PCI_TABLE_ENTRY_BYTES 16

/* Returns where a capability's registers begin; 0 if the function does not have it. */
unsigned pci_capability(uint32_t address, uint8_t id);

/* Changes flags of the command register. */
void pci_command_set(uint32_t address, uint32_t clear, uint32_t set);

#endif
