/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * function.c: what a driver needs of its function: its registers in memory, bus mastering, interrupts
 * (pci.h). Only its driver uses a function.
 *
 * Of MSI-X the first entry of the table is used, and that entry's mask: the device's own mask does not
 * suffice, as QEMU's 82574L sends a message that it has held back even after that has been set. Of MSI there
 * is one message, which the device's own mask stops. A message reaches CPUs with an APIC id below 255
 * (arch_message_interrupt).
 */
#include "drivers/pci/pci.h"
#include "drivers/pci/config.h"
#include "arch.h"
#include "arch/io.h"

#define BAR_IS_PORT   1U
#define BAR_KIND      (3U << 1)
#define BAR_WIDE      (2U << 1)
#define BAR_FLAGS     0xfU
#define ENTRY_ADDRESS 0 /* words of an entry of MSI-X's table */
#define ENTRY_HIGH    1
#define ENTRY_DATA    2
#define ENTRY_CONTROL 3
#define ENTRY_MASKED  1U
#define CPU_NONE      UINT32_MAX

/* Returns the address that a base address register names, 0 if none; *bytes is the size there. Leaves the
 * function's memory decoding off. */
static uint64_t bar_read(uint32_t address, unsigned bar, uint64_t *bytes)
{
    const uint32_t low = arch_pci_read(address, PCI_BAR(bar));
    const bool is_wide = (low & BAR_KIND) == BAR_WIDE;

    *bytes = 0;
    if (low & BAR_IS_PORT || bar + is_wide >= PCI_BARS)
        return 0;
    const uint32_t high = is_wide ? arch_pci_read(address, PCI_BAR(bar + 1)) : 0;

    pci_command_set(address, PCI_COMMAND_MEMORY, 0);
    arch_pci_write(address, PCI_BAR(bar), UINT32_MAX);
    *bytes = ~(uint64_t)(arch_pci_read(address, PCI_BAR(bar)) & ~BAR_FLAGS) + 1;
    *bytes &= UINT32_MAX; /* a size of 4 GiB or more, which no controller has, becomes 0 */
    arch_pci_write(address, PCI_BAR(bar), low);
    return (uint64_t)high << 32 | (low & ~BAR_FLAGS);
}

volatile void *pci_bar_map(const struct pci_function *function, unsigned bar, uint64_t offset, uint64_t bytes)
{
    const uint32_t address = function->address;
    uint64_t size;
    const uint64_t base = bar < PCI_BARS ? bar_read(address, bar, &size) : 0;

    if (!base || offset > size || size - offset < bytes)
        return NULL;
    pci_command_set(address, 0, PCI_COMMAND_MEMORY);
    return arch_device_map(base + offset, bytes);
}

void pci_bus_master(const struct pci_function *function, bool on)
{
    pci_command_set(function->address, on ? 0 : PCI_COMMAND_MASTER, on ? PCI_COMMAND_MASTER : 0);
}

static bool table_find(struct pci_function *function)
{
    const unsigned at = pci_capability(function->address, PCI_TABLE);
    const uint32_t place = at ? arch_pci_read(function->address, at + PCI_TABLE_PLACE) : 0;

    if (!at)
        return false;
    function->vector = pci_bar_map(function, place & 7, place & ~7U, PCI_TABLE_ENTRY_BYTES);
    if (!function->vector)
        return false;
    function->capability = (uint8_t)at;
    mmio_write32(&function->vector[ENTRY_CONTROL], ENTRY_MASKED);
    arch_pci_write(function->address, at,
                   (arch_pci_read(function->address, at) & ~PCI_TABLE_MASK) | PCI_TABLE_ENABLE);
    function->interrupt = PCI_INTERRUPT_TABLE;
    return true;
}

void pci_interrupt_find(struct pci_function *function, void (*raise)(void *context, bool on), void *context)
{
    uint64_t message;
    uint32_t data;

    function->interrupt = PCI_INTERRUPT_NONE;
    function->cpu = CPU_NONE;
    if (arch_message_interrupt(0, &message, &data)) {
        if (table_find(function))
            return;
        function->capability = (uint8_t)pci_capability(function->address, PCI_MESSAGE);
        if (function->capability) {
            function->interrupt = PCI_INTERRUPT_MESSAGE;
            return;
        }
    }
    pci_command_set(function->address, PCI_COMMAND_NO_LINE, 0);
    function->line = arch_line_find(raise, context);
    if (function->line != ARCH_LINE_NONE)
        function->interrupt = PCI_INTERRUPT_LINE;
    else
        pci_command_set(function->address, 0, PCI_COMMAND_NO_LINE);
}

static void table_route(const struct pci_function *function, uint64_t message, uint32_t data)
{
    mmio_write32(&function->vector[ENTRY_ADDRESS], (uint32_t)message);
    mmio_write32(&function->vector[ENTRY_HIGH], (uint32_t)(message >> 32));
    mmio_write32(&function->vector[ENTRY_DATA], data);
}

static void message_route(const struct pci_function *function, uint64_t message, uint32_t data)
{
    const uint32_t address = function->address, control = arch_pci_read(address, function->capability);
    const unsigned at = function->capability, is_wide = !!(control & PCI_MESSAGE_WIDE);

    arch_pci_write(address, at, control & ~PCI_MESSAGE_ENABLE);
    arch_pci_write(address, at + 4, (uint32_t)message);
    if (is_wide)
        arch_pci_write(address, at + 8, (uint32_t)(message >> 32));
    arch_pci_write(address, at + 8 + 4 * is_wide, data);
    arch_pci_write(address, at, (control & ~PCI_MESSAGE_COUNT) | PCI_MESSAGE_ENABLE);
}

static bool interrupt_route(const struct pci_function *function, unsigned cpu)
{
    uint64_t message;
    uint32_t data;

    if (function->interrupt == PCI_INTERRUPT_LINE)
        return arch_line_route(function->line, cpu);
    if (function->interrupt == PCI_INTERRUPT_NONE || !arch_message_interrupt(cpu, &message, &data))
        return false;
    if (function->interrupt == PCI_INTERRUPT_TABLE)
        table_route(function, message, data);
    else
        message_route(function, message, data);
    return true;
}

bool pci_interrupt_enable(struct pci_function *function, unsigned cpu)
{
    if (function->cpu != cpu) {
        if (!interrupt_route(function, cpu))
            return false;
        function->cpu = cpu;
    }
    if (function->interrupt == PCI_INTERRUPT_TABLE)
        mmio_write32(&function->vector[ENTRY_CONTROL], 0);
    return true;
}

void pci_interrupt_disable(struct pci_function *function)
{
    if (function->interrupt != PCI_INTERRUPT_TABLE)
        return;
    mmio_write32(&function->vector[ENTRY_CONTROL], ENTRY_MASKED);
    mmio_read32(&function->vector[ENTRY_CONTROL]);
}

const char *pci_interrupt_name(const struct pci_function *function)
{
    static const char *const names[] = { [PCI_INTERRUPT_NONE] = "polled",
                                         [PCI_INTERRUPT_TABLE] = "MSI-X",
                                         [PCI_INTERRUPT_MESSAGE] = "MSI",
                                         [PCI_INTERRUPT_LINE] = "line" };

    return names[function->interrupt];
}
