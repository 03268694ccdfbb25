/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pci.h: the functions on PCI buses: silence at boot, drivers, and what a driver needs of its function.
 *
 * pci_quiesce runs before any memory is given out: it walks the buses and takes bus mastering, messages and
 * the interrupt line from every endpoint, so that a device which firmware has left running writes nowhere any
 * more. Bridges keep theirs, and so do displays, whose picture may lie in memory. Network controllers are
 * remembered. pci_start hands each of these to the driver that knows its number; what no driver knows is
 * named on the console. All of it runs on the first CPU, but pci_interrupt_enable and pci_interrupt_disable,
 * which any CPU calls, with the network's lock.
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
    char place[PCI_PLACE_BYTES]; /* "00:03.0", with "0001:" before it on another segment than the first */
    /* How it interrupts, found by pci_interrupt_find. */
    enum pci_interrupt {
        PCI_INTERRUPT_NONE,
        PCI_INTERRUPT_TABLE,
        PCI_INTERRUPT_MESSAGE,
        PCI_INTERRUPT_LINE
    } interrupt;
    uint8_t capability;        /* of MSI-X (the table), or MSI (the message) */
    volatile uint32_t *vector; /* the first entry of MSI-X's table */
    uint32_t line;             /* arch_line_find */
    uint32_t cpu;              /* whom it interrupts, once enabled */
};

struct pci_driver {
    /* Whether the driver knows the device. */
    bool (*match)(uint16_t vendor, uint16_t device);
    uint64_t pool_bytes; /* of memory that each device takes (arch_dma_allocate) */
    /* Once for each device. Says on the console why, where it cannot. */
    void (*start)(struct pci_function *function);
};

/* Drivers stand in a section of the image: const struct pci_driver PCI_DRIVER name = { … }. Aligned, so that
 * they follow each other as in an array. */
#define PCI_DRIVER __attribute__((section(".pci_drivers"), aligned(8)))

/* The steps of the boot, in this order; see arch.h. */
void pci_quiesce(void);
uint64_t pci_pool_bytes(void);
void pci_start(void);

/* ---- For drivers ---- */

/* The first `bytes` bytes that base address register `bar` names, mapped; NULL where it names no memory, less
 * memory, or memory that cannot be reached. The function answers in memory from then on. */
volatile void *pci_bar_map(const struct pci_function *function, unsigned bar, uint64_t bytes);

/* Whether the function may read and write memory. */
void pci_bus_master(const struct pci_function *function, bool on);

/* Finds how the function can interrupt: by MSI-X, else by MSI, else by a line that arch_line_find has seen it
 * raise by `raise`. */
void pci_interrupt_find(struct pci_function *function, void (*raise)(void *context, bool on), void *context);

/* From now on it interrupts that CPU (network_device_interrupt), by its first message. False where it cannot.
 * pci_interrupt_disable: the way is closed; flushed by a read. */
bool pci_interrupt_enable(struct pci_function *function, unsigned cpu);
void pci_interrupt_disable(struct pci_function *function);

const char *pci_interrupt_name(const struct pci_function *function);

#endif
