/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * start.c: from entry.asm to kernel_start(): makes the CPU able to report faults, registers the consoles, and
 * parses the boot loader's information into a struct boot_info. Runs once, on the first CPU, with the early
 * map (physical memory below 4 GiB) and interrupts off.
 */
#include "arch.h"
#include "arch/boot_protocol.h"
#include "arch/local_apic.h"
#include "arch/setup.h"
#include "debug/console.h"
#include "drivers/uart/uart16550.h"
#include "drivers/vga/vga_text.h"
#include "lib/errno.h"
#include "lib/kstring.h"
#include "debug/stop.h"

/* The PC's serial ports. */
static struct console_device serial_ports[] = {
    { .name = "com1", .address = 0x3f8, .line = 4, .is_default = true },
    { .name = "com2", .address = 0x2f8, .line = 3 },
    { .name = "com3", .address = 0x3e8, .line = 4 },
    { .name = "com4", .address = 0x2e8, .line = 3 }
};

static struct boot_info boot;
static struct acpi_facts facts;

const struct acpi_facts *acpi_facts(void)
{
    return &facts;
}

static const void *early_read(void *context, uint64_t address, uint64_t bytes)
{
    (void)context; /* there is one memory */
    if (address >= arch_early_limit() || bytes > arch_early_limit() - address)
        return NULL;
    return arch_physical(address);
}

static volatile void *early_device(uint64_t address, uint64_t bytes)
{
    return address < arch_early_limit() && bytes <= arch_early_limit() - address ? arch_physical(address)
                                                                                 : NULL;
}

_Noreturn void arch_start(unsigned protocol, uint64_t information);
_Noreturn void arch_start(unsigned protocol, uint64_t information)
{
    struct message why = { "" };
    int error;

    cpu_initialise(&boot_cpu, 0);
    for (unsigned i = 0; i < sizeof(serial_ports) / sizeof(serial_ports[0]); i++)
        uart_register(&serial_ports[i]);

    if (protocol == BOOT_MULTIBOOT2)
        error = multiboot2_parse(information, early_read, NULL, &boot, &why);
    else if (protocol == BOOT_PVH)
        error = pvh_parse(information, early_read, NULL, &boot, &why);
    else
        error = message_set(&why, -EINVAL, "started by neither a multiboot2 nor a PVH loader");

    vga_text_register(&boot);
    if (!error && acpi_parse(&boot, early_read, NULL, &facts, &why))
        kernel_print("%s; the node can't power itself off\n", why.text);
    power_map(early_device);
    if (error)
        node_stop(STOP_BAD_INPUT, "%s", why.text);
    kernel_start(&boot);
}

void arch_initialise(const struct boot_info *info)
{
    (void)info; /* devices are described by the ACPI facts */
    power_map(device_map);
    vector_state_report();
    machine_checks_enable();
    interrupts_silence();
    io_apics_silence();
    clock_initialise();
}
