/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pci.h: the functions on PCI buses: silencing them at boot, drivers, and what a driver needs of its
 * function.
 *
 * pci_quiesce runs before any memory is given out. It walks the buses, and turns off bus mastering, messages
 * and the interrupt line of every endpoint, so that a device that firmware has left running no longer writes
 * to memory. Bridges keep theirs, and so do displays, whose picture may lie in memory, and IOMMUs. Network
 * controllers are remembered. pci_start hands each of these to the driver that supports it, and names those
 * without a driver on the console. All of it runs on the first CPU, except pci_interrupt_enable and
 * pci_interrupt_disable, which any CPU calls with the network's lock held.
 *
 * Sources: PCI Local Bus Specification 3.0 §6 (configuration space), §6.8 (MSI, MSI-X); PCI Express Base
 * Specification 3.0 §7.
 */
#ifndef TACET_PCI_H
#define TACET_PCI_H

#include <stdbool.h>
#include <stdint.h>

#define PCI_PLACE_BYTES 16

struct pci_function {
    uint32_t address; /* segment << 16 | bus << 8 | device << 3 | function */
    uint16_t vendor, device;
    char place[PCI_PLACE_BYTES]; /* "00:03.0"; in a segment other than the first, "0001:" comes first */
    /* How it interrupts, found by pci_interrupt_find. */
    enum pci_interrupt {
        PCI_INTERRUPT_NONE,
        PCI_INTERRUPT_TABLE,
        PCI_INTERRUPT_MESSAGE,
        PCI_INTERRUPT_LINE
    } interrupt;
    uint8_t capability;        /* offset of the capability: MSI-X (the table) or MSI (the message) */
    volatile uint32_t *vector; /* the first entry of MSI-X's table */
    uint32_t line;             /* from arch_line_find */
    uint32_t cpu;              /* the CPU that it interrupts, once enabled */
};

struct pci_driver {
    /* Returns NULL unless the driver supports the device. */
    const void *(*match)(uint16_t vendor, uint16_t device);
    uint64_t pool_bytes; /* memory that each device takes (arch_dma_allocate) */
    /* Called once for each device. If it cannot start the device, it says on the console why. */
    void (*start)(struct pci_function *function);
};

/* Puts a driver into a section of the image: const struct pci_driver PCI_DRIVER name = { … }. Aligned, so
 * that they follow each other as in an array. */
#define PCI_DRIVER __attribute__((section(".pci_drivers"), aligned(8)))

/* Silences the endpoints; returns the memory that drivers need; starts the drivers. The boot calls them in
 * this order (arch.h). */
void pci_quiesce(void);
uint64_t pci_pool_bytes(void);
void pci_start(void);

/* ---- For drivers ---- */

/* Maps `bytes` bytes, from `offset` on, of what base address register `bar` names. Returns NULL if it names
 * no memory, less memory, or memory that cannot be reached. The function decodes memory from then on. */
volatile void *pci_bar_map(const struct pci_function *function, unsigned bar, uint64_t offset,
                           uint64_t bytes);

/* Lets the function read and write memory, or stops that. */
void pci_bus_master(const struct pci_function *function, bool on);

/* Finds how the function can interrupt: by MSI-X, else by MSI, else by a line that arch_line_find sees it
 * raise when `raise` is called. */
void pci_interrupt_find(struct pci_function *function, void (*raise)(void *context, bool on), void *context);

/* Makes the function interrupt `cpu` (network_device_interrupt), by its first message. Returns false if it
 * cannot. pci_interrupt_disable masks an MSI-X entry again, and flushes that by a read; with MSI or a line it
 * does nothing. */
bool pci_interrupt_enable(struct pci_function *function, unsigned cpu);
void pci_interrupt_disable(struct pci_function *function);

const char *pci_interrupt_name(const struct pci_function *function);

#endif
