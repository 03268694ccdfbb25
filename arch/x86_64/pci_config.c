/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pci_config.c: PCI's configuration space: in memory if ACPI's MCFG says so (ECAM), else by the ports of
 * the PC, which reach the first 256 bytes of each function of the first segment.
 *
 * The first segment is taken from memory only if both ways show the same, or the ports show nothing: some
 * firmware is wrong about it. Before the final map, what lies above 4 GiB cannot be reached; then a page of
 * the device window moves to each function. Interrupts off; callers serialise their calls.
 *
 * Sources: PCI Local Bus Specification 3.0 §3.2.2.3.2 (ports); PCI Express Base Specification 3.0 §7.2.2
 * (ECAM); PCI Firmware Specification 3.2 §4.1.2 (MCFG).
 */
#include "arch.h"
#include "arch/io.h"
#include "arch/page_table.h"
#include "arch/setup.h"

#define PORT_SELECT    0xcf8
#define PORT_DATA      0xcfc
#define SELECT_ENABLE  (1U << 31)
#define PORT_BYTES     256
#define FUNCTION_SHIFT 12 /* of ECAM: 4 KiB a function */
#define BUS_SHIFT      20
#define CONFIG_NONE    UINT32_MAX

static struct arch_pci_segment found[ACPI_PCI_SEGMENTS_MAX + 1];
static bool first_in_memory; /* the first segment is read in memory */

static uint32_t port_select(uint32_t function, unsigned offset)
{
    return SELECT_ENABLE | (function & 0xffff) << 8 | (offset & 0xfc);
}

static uint32_t port_read(uint32_t function, unsigned offset)
{
    io_write32(PORT_SELECT, port_select(function, offset));
    return io_read32(PORT_DATA);
}

static bool ports_answer(void)
{
    io_write32(PORT_SELECT, SELECT_ENABLE);
    return io_read32(PORT_SELECT) == SELECT_ENABLE;
}

static const struct acpi_pci_segment *segment_of(uint32_t function)
{
    const uint8_t bus = (uint8_t)(function >> 8);

    for (unsigned i = 0; i < acpi.pci_segment_count; i++)
        if (acpi.pci_segments[i].number == function >> 16 && bus >= acpi.pci_segments[i].bus_first &&
            bus <= acpi.pci_segments[i].bus_last)
            return &acpi.pci_segments[i];
    return NULL;
}

static bool is_reachable(const struct acpi_pci_segment *segment)
{
    const uint64_t limit = kernel_root() ? ARCH_ADDRESS_LIMIT : ARCH_EARLY_LIMIT;

    return segment->address < limit && limit - segment->address >= (segment->bus_last + 1ULL) << BUS_SHIFT;
}

static volatile void *memory_register(uint32_t function, unsigned offset)
{
    const struct acpi_pci_segment *segment = segment_of(function);

    return segment && is_reachable(segment)
               ? device_at(segment->address + ((uint64_t)(uint16_t)function << FUNCTION_SHIFT) + offset)
               : NULL;
}

unsigned arch_pci_segments(const struct arch_pci_segment **segments)
{
    const bool ports = ports_answer();
    unsigned count = 0;

    first_in_memory = false;
    for (unsigned i = 0; i < acpi.pci_segment_count; i++) {
        const struct acpi_pci_segment *segment = &acpi.pci_segments[i];
        const uint32_t first = (uint32_t)segment->number << 16 | (uint32_t)segment->bus_first << 8;

        if (!is_reachable(segment))
            continue;
        if (segment->number == 0) {
            const uint32_t by_ports = ports ? port_read(first, 0) : CONFIG_NONE;

            if (by_ports != CONFIG_NONE && by_ports != mmio_read32(memory_register(first, 0)))
                continue;
            first_in_memory = true;
        }
        found[count++] =
            (struct arch_pci_segment){ segment->number, segment->bus_first, segment->bus_last, true };
    }
    if (ports && !first_in_memory)
        found[count++] = (struct arch_pci_segment){ 0, 0, UINT8_MAX, false };
    *segments = found;
    return count;
}

uint32_t arch_pci_read(uint32_t function, unsigned offset)
{
    if (first_in_memory || function >> 16) {
        const volatile void *at = memory_register(function, offset);

        return at ? mmio_read32(at) : CONFIG_NONE;
    }
    return offset < PORT_BYTES ? port_read(function, offset) : CONFIG_NONE;
}

void arch_pci_write(uint32_t function, unsigned offset, uint32_t value)
{
    if (function >> 16 || first_in_memory) {
        volatile void *at = memory_register(function, offset);

        if (at)
            mmio_write32(at, value);
    } else if (offset < PORT_BYTES) {
        io_write32(PORT_SELECT, port_select(function, offset));
        io_write32(PORT_DATA, value);
    }
}
