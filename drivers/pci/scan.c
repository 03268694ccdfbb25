/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scan.c: walks the buses, silences endpoints, and hands network controllers to their drivers (pci.h). Owns
 * the list of controllers. On the first CPU, interrupts off.
 *
 * A bus is walked if a bridge leads to it. If configuration space lies in memory, all buses that it has room
 * for are walked: a machine may have more host bridges than the first, and only byte code of the firmware
 * names those. A segment that the early map does not reach is walked again with the final map.
 */
#include "drivers/pci/pci.h"
#include "drivers/pci/config.h"
#include "arch.h"
#include "debug/console.h"
#include "lib/format.h"

#define BUSES         256
#define DEVICES       32
#define FUNCTIONS     8
#define CONTROLLERS   16 /* network controllers that are remembered */
#define SEGMENTS      32
#define PENDING_STEPS 1000

extern const struct pci_driver pci_drivers[], pci_drivers_end[]; /* link.ld */

static struct pci_function controllers[CONTROLLERS];
static unsigned controller_count, controllers_left;

static struct {
    uint16_t number;
    uint8_t bus_first;
} walked[SEGMENTS];
static unsigned walked_count;

unsigned pci_capability(uint32_t address, uint8_t id)
{
    if (!(arch_pci_read(address, PCI_COMMAND) & PCI_STATUS_CAPABILITIES))
        return 0;
    unsigned at = arch_pci_read(address, PCI_CAPABILITIES) & 0xfc;
    for (unsigned count = 0; at && count < PCI_CAPABILITIES_MAX; count++) {
        const uint32_t head = arch_pci_read(address, at);

        if ((head & 0xff) == id)
            return at;
        at = head >> 8 & 0xfc;
    }
    return 0;
}

void pci_command_set(uint32_t address, uint32_t clear, uint32_t set)
{
    const uint32_t command = arch_pci_read(address, PCI_COMMAND) & 0xffff; /* zeroes change no status */

    arch_pci_write(address, PCI_COMMAND, (command & ~clear) | set);
}

static void flag_clear(uint32_t address, unsigned at, uint32_t flag)
{
    const uint32_t value = arch_pci_read(address, at);

    if (value & flag)
        arch_pci_write(address, at, value & ~flag);
}

/* Stops a function's memory accesses and interrupts. Waits, a bounded time, for transactions that it has
 * begun. */
static void function_silence(uint32_t address)
{
    unsigned at;

    pci_command_set(address, PCI_COMMAND_MASTER, PCI_COMMAND_NO_LINE);
    if ((at = pci_capability(address, PCI_MESSAGE)))
        flag_clear(address, at, PCI_MESSAGE_ENABLE);
    if ((at = pci_capability(address, PCI_TABLE)))
        flag_clear(address, at, PCI_TABLE_ENABLE);
    if ((at = pci_capability(address, PCI_EXPRESS)))
        for (unsigned step = 0; step < PENDING_STEPS; step++)
            if (!(arch_pci_read(address, at + PCI_EXPRESS_STATUS) & PCI_EXPRESS_PENDING))
                break;
}

static void controller_add(uint32_t address, uint32_t id)
{
    if (controller_count == CONTROLLERS) {
        controllers_left++;
        return;
    }
    struct pci_function *function = &controllers[controller_count++];
    char segment[8] = "";

    function->address = address;
    function->vendor = (uint16_t)id;
    function->device = (uint16_t)(id >> 16);
    if (address >> 16)
        format_text(segment, sizeof(segment), "%04x:", address >> 16);
    format_text(function->place, sizeof(function->place), "%s%02x:%02x.%x", segment, address >> 8 & 0xff,
                address >> 3 & 31, address & 7);
}

/* Silences an endpoint, and remembers it if it is a network controller. Returns the bus on the other side if
 * the function is a bridge to one, else 0. */
static unsigned function_visit(uint32_t address, uint32_t id, uint32_t header)
{
    const uint32_t class = arch_pci_read(address, PCI_CLASS) >> 8;

    if ((header >> 16 & 0x7f) == PCI_HEADER_BRIDGE)
        return arch_pci_read(address, PCI_BRIDGE_BUSES) >> 8 & 0xff;
    if ((header >> 16 & 0x7f) || class >> 16 == PCI_CLASS_BRIDGE || class >> 16 == PCI_CLASS_DISPLAY ||
        class >> 8 == PCI_CLASS_IOMMU)
        return 0;
    function_silence(address);
    if (class >> 16 == PCI_CLASS_NETWORK)
        controller_add(address, id);
    return 0;
}

static void bus_walk(uint32_t bus, uint8_t *due)
{
    for (uint32_t device = 0; device < DEVICES; device++) {
        uint32_t functions = 1;

        for (uint32_t i = 0; i < functions; i++) {
            const uint32_t address = bus | device << 3 | i, id = arch_pci_read(address, 0);

            if ((id & 0xffff) == 0xffff || !id)
                continue;
            const uint32_t header = arch_pci_read(address, PCI_HEADER);
            if (i == 0 && header & PCI_HEADER_FUNCTIONS)
                functions = FUNCTIONS;
            due[function_visit(address, id, header)] |= 1;
        }
    }
}

enum { BUS_DUE = 1, BUS_WALKED = 2 };

static void segment_walk(const struct arch_pci_segment *segment)
{
    uint8_t due[BUSES] = { 0 };
    bool more = true;

    for (unsigned bus = segment->bus_first; bus <= segment->bus_last; bus++)
        due[bus] = segment->has_more || bus == segment->bus_first ? BUS_DUE : 0;
    while (more) {
        more = false;
        for (unsigned bus = segment->bus_first; bus <= segment->bus_last; bus++) {
            if (due[bus] != BUS_DUE)
                continue;
            due[bus] |= BUS_WALKED;
            bus_walk((uint32_t)segment->number << 16 | bus << 8, due);
            more = true;
        }
    }
}

static bool is_walked(const struct arch_pci_segment *segment)
{
    for (unsigned i = 0; i < walked_count; i++)
        if (walked[i].number == segment->number && walked[i].bus_first == segment->bus_first)
            return true;
    return false;
}

void pci_quiesce(void)
{
    const struct arch_pci_segment *segments;
    const unsigned count = arch_pci_segments(&segments);

    for (unsigned i = 0; i < count; i++) {
        if (is_walked(&segments[i]) || walked_count == SEGMENTS)
            continue;
        walked[walked_count].number = segments[i].number;
        walked[walked_count++].bus_first = segments[i].bus_first;
        segment_walk(&segments[i]);
    }
}

static const struct pci_driver *driver_find(const struct pci_function *function)
{
    for (const struct pci_driver *driver = pci_drivers; driver < pci_drivers_end; driver++)
        if (driver->match(function->vendor, function->device))
            return driver;
    return NULL;
}

uint64_t pci_pool_bytes(void)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < controller_count; i++) {
        const struct pci_driver *driver = driver_find(&controllers[i]);

        bytes += driver ? driver->pool_bytes : 0;
    }
    return bytes;
}

void pci_start(void)
{
    pci_quiesce(); /* segments that could not be reached before */
    for (unsigned i = 0; i < controller_count; i++) {
        struct pci_function *function = &controllers[i];
        const struct pci_driver *driver = driver_find(function);

        if (driver)
            driver->start(function);
        else
            kernel_print("network: the controller at %s, PCI id %04x:%04x, is not supported\n",
                         function->place, function->vendor, function->device);
    }
    if (controllers_left)
        kernel_print("network: %u controllers beyond the first %u are not used\n", controllers_left,
                     CONTROLLERS);
}
