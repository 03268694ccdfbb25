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
#include "drivers/pci/pci.h"
#include "drivers/screen/screen.h"
#include "drivers/uart/uart16550.h"
#include "drivers/vga/vga_text.h"
#include "lib/errno.h"
#include "debug/stop.h"

/* The PC's serial ports. */
static struct console_device serial_ports[] = {
    { .name = "com1", .address = 0x3f8, .line = 4, .is_default = true },
    { .name = "com2", .address = 0x2f8, .line = 3 },
    { .name = "com3", .address = 0x3e8, .line = 4 },
    { .name = "com4", .address = 0x2e8, .line = 3 },
    { .name = "spcr" } /* the firmware's console, if it is none of these */
};
#define COM_PORTS (sizeof(serial_ports) / sizeof(serial_ports[0]) - 1)

static struct boot_info boot;
struct acpi_facts acpi;

static const void *early_read(void *context, uint64_t address, uint64_t bytes)
{
    (void)context; /* there is one memory */
    if (address >= ARCH_EARLY_LIMIT || bytes > ARCH_EARLY_LIMIT - address)
        return NULL;
    return arch_physical(address);
}

/* Makes the firmware's serial console the kernel's, instead of com1. */
static void firmware_console_take(void)
{
    struct console_device *port = serial_ports;

    if (!acpi.serial_port)
        return;
    while (port < &serial_ports[COM_PORTS] && port->address != acpi.serial_port)
        port++;
    if (port == &serial_ports[COM_PORTS]) {
        port->address = acpi.serial_port;
        port->line = acpi.serial_line;
        uart_register(port);
    }
    if (!port->write) {
        kernel_print("acpi: the SPCR names a serial console at port %#x, and no port answers there\n",
                     acpi.serial_port);
        return;
    }
    port->speed_set(port, acpi.serial_speed ? acpi.serial_speed : port->firmware_speed);
    console_default_move(&serial_ports[0], port);
}

/* Registers a framebuffer that the loader has set up, else the text screen. */
static void screens_register(void)
{
    struct message why = { "" };
    uint64_t bytes;
    int error = screen_check(&boot, &bytes, &why);
    void *pixels = error ? NULL : frame_map(boot.framebuffer.address, bytes);

    if (pixels) {
        screen_register(&boot, pixels);
        return;
    }
    if (error == -ENODEV) {
        vga_text_register(&boot);
        return;
    }
    if (!error)
        message_set(&why, -EINVAL, "a framebuffer at 0x%lx, %lu bytes, is beyond what this CPU can map",
                    boot.framebuffer.address, bytes);
    kernel_print("screen: the boot loader names %s; nothing is shown there\n", why.text);
}

_Noreturn void arch_start(unsigned protocol, uint64_t information)
{
    struct message why = { "" };
    int error;

    cpu_initialise(&boot_cpu, 0);
    for (unsigned i = 0; i < COM_PORTS; i++)
        uart_register(&serial_ports[i]);

    if (protocol == BOOT_MULTIBOOT2)
        error = multiboot2_parse(information, early_read, NULL, &boot, &why);
    else if (protocol == BOOT_PVH)
        error = pvh_parse(information, early_read, NULL, &boot, &why);
    else
        error = message_set(&why, -EINVAL, "started by neither a multiboot2 nor a PVH loader");

    screens_register();
    if (!error && acpi_parse(&boot, early_read, NULL, &acpi, &why))
        kernel_print("%s; the node can't power itself off\n", why.text);
    pci_quiesce();
    firmware_console_take();
    if (error)
        node_stop(STOP_BAD_INPUT, "%s", why.text);
    kernel_start(&boot);
}

void arch_initialise(const struct boot_info *info)
{
    (void)info; /* devices are described by the ACPI facts */
    vector_state_report();
    machine_checks_enable();
    interrupts_silence();
    io_apics_silence();
    clock_initialise();
    pci_start();
}
