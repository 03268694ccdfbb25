/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * start.c: from entry.S to kernel_start(): what the firmware says of the machine becomes a struct boot_info.
 * Runs once, on the first CPU, in real mode, interrupts off.
 */
#include "arch.h"
#include "arch/cpu.h"
#include "arch/firmware.h"
#include "arch/setup.h"
#include "arch/trap.h"
#include "debug/console.h"
#include "debug/stop.h"
#include "lib/boot_info.h"
#include "lib/bytes.h"
#include "lib/format.h"
#include "lib/kstring.h"
#include "mm/page.h"

struct cpu boot_cpu __attribute__((aligned(CPU_PAGE_BYTES), section(".bss.boot_cpu")));

static struct boot_info boot;

/* ---- The hypervisor's terminal ---- */

static void terminal_write(struct console_device *device, const char *text, size_t bytes)
{
    for (size_t part; bytes; text += part, bytes -= part) {
        char words[16] = { 0 };

        part = smaller(bytes, sizeof(words));
        memcpy(words, text, part);
        console_serve();
        while (hypercall(H_PUT_TERM_CHAR, device->address, part, load_be64(words), load_be64(words + 8),
                         NULL) == H_BUSY)
            arch_pause();
    }
}

static struct console_device terminal = { .name = "hvc0", .is_default = true, .write = terminal_write };

/* ---- The tree ---- */

static uint64_t property_number(firmware_node node, const char *name, uint64_t otherwise)
{
    uint8_t bytes[8];

    switch (firmware_property(node, name, bytes, sizeof(bytes))) {
    case 4:
        return load_be32(bytes);
    case 8:
        return load_be64(bytes);
    default:
        return otherwise;
    }
}

static bool is_type(firmware_node node, const char *type)
{
    char text[16] = "";
    const int bytes = firmware_property(node, "device_type", text, sizeof(text) - 1);

    return bytes > 0 && strcmp(text, type) == 0;
}

static void memory_read(void)
{
    for (firmware_node node = firmware_child(firmware_find("/")); node; node = firmware_peer(node)) {
        uint8_t cells[16 * 16];
        int bytes;

        if (!is_type(node, "memory") || (bytes = firmware_property(node, "reg", cells, sizeof(cells))) < 16)
            continue;
        for (int at = 0; at + 16 <= (int)smaller((uint64_t)bytes, sizeof(cells)); at += 16)
            boot_info_add_range(&boot, load_be64(cells + at), load_be64(cells + at + 8), true);
    }
}

struct machine_facts machine = { .decrementer_bits = 32 };

static void cpu_read(void)
{
    for (firmware_node node = firmware_child(firmware_find("/cpus")); node; node = firmware_peer(node)) {
        if (!is_type(node, "cpu"))
            continue;
        machine.timebase_hz = property_number(node, "timebase-frequency", 0);
        machine.decrementer_bits = (uint32_t)property_number(node, "ibm,dec-bits", 32);
        machine.version = (uint32_t)property_number(node, "cpu-version", 0);
        return;
    }
}

/* RTAS gets memory of its own below 4 GiB, which nobody else has. */
static void rtas_read(void)
{
    static uint8_t memory[CPU_PAGE_BYTES] __attribute__((aligned(CPU_PAGE_BYTES)));
    const firmware_node node = firmware_find("/rtas");

    machine.rtas_bytes = (uint32_t)property_number(node, "rtas-size", 0);
    if (!machine.rtas_bytes || machine.rtas_bytes > sizeof(memory))
        return;
    machine.rtas_base = (uint32_t)arch_physical_of(memory);
    machine.rtas = firmware_rtas_start(machine.rtas_base);
    machine.power_off = (uint32_t)property_number(node, "power-off", UINT32_MAX);
    machine.reboot = (uint32_t)property_number(node, "system-reboot", UINT32_MAX);
}

_Noreturn void arch_start(uint64_t initrd, uint64_t initrd_bytes, uint64_t firmware);
_Noreturn void arch_start(uint64_t initrd, uint64_t initrd_bytes, uint64_t firmware)
{
    boot_ticks = cpu_ticks();
    cpu_initialise(&boot_cpu, 0);
    console_register(&terminal);
    boot.protocol = "Open Firmware";
    firmware_start(firmware);
    const int negotiated = firmware_negotiate();
    const firmware_node chosen = firmware_find("/chosen");

    firmware_property(chosen, "bootargs", boot.command_line, sizeof(boot.command_line) - 1);
    const uint64_t from = property_number(chosen, "linux,initrd-start", initrd);
    const uint64_t to = property_number(chosen, "linux,initrd-end", initrd + initrd_bytes);
    if (to > from)
        boot_info_add_module(&boot, from, to - from, "", 0);
    memory_read();
    cpu_read();
    rtas_read();
    firmware_quiesce();
    hypercall(H_SET_MODE, 1, LITTLE_ENDIAN_MODE, 0, 0, NULL);
    vectors_install();
    if (negotiated)
        node_stop(STOP_BAD_INPUT, "the firmware has not agreed to radix tables (%d)", negotiated);
    kernel_start(&boot);
}

void arch_initialise(const struct boot_info *info)
{
    (void)info;
    decrementer_initialise();
}

void arch_cpu_describe(char *text, size_t bytes)
{
    format_text(text, bytes, "POWER9, version %08x, time base %lu MHz, decrementer of %u bits",
                machine.version, machine.timebase_hz / 1000000, machine.decrementer_bits);
}
