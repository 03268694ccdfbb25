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

struct cpu boot_cpu __attribute__((aligned(CPU_PAGE_BYTES), section(".bss.boot_cpu")));

static struct boot_info boot;

/* Starts RTAS, in memory of its own below 4 GiB. */
static void rtas_start(void)
{
    static uint8_t memory[CPU_PAGE_BYTES] __attribute__((aligned(CPU_PAGE_BYTES)));

    if (machine.rtas_bytes && machine.rtas_bytes <= sizeof(memory)) {
        machine.rtas_base = (uint32_t)arch_physical_of(memory);
        machine.rtas = firmware_rtas_start(machine.rtas_base);
    }
    if (!machine.rtas)
        kernel_print("rtas: the firmware starts none (%u bytes; 1 to %zu are expected): the node can't power "
                     "itself off, and has no battery clock\n",
                     machine.rtas_bytes, sizeof(memory));
}

static void dropped_report(void)
{
    if (machine.terminals_named > machine.terminal_count)
        kernel_print(
            "the firmware lists %u terminals, more than the %u that the kernel has; %u stay unused\n",
            machine.terminals_named, TERMINALS_MAX, machine.terminals_named - machine.terminal_count);
    if (machine.numa_ranges_dropped)
        kernel_print("memory: %u ranges of NUMA domains are more than the kernel keeps; it does not know "
                     "which CPUs are near them\n",
                     machine.numa_ranges_dropped);
}

static uint32_t cpu_version(void)
{
    uint32_t version;

    __asm__ volatile("mfspr %0, 287" : "=r"(version)); /* PVR */
    return version;
}

_Noreturn void arch_start(uint64_t initrd, uint64_t initrd_bytes, uint64_t firmware)
{
    struct message why = { "" };

    boot_ticks = cpu_ticks();
    cpu_initialise_first();
    terminals_begin();
    firmware_start(firmware);
    const int negotiated = firmware_negotiate();
    const int error = device_tree_read(&boot, initrd, initrd_bytes, &why);
    boot_cpu.numa_domain = machine_cpus[0].numa_domain;
    terminals_register();
    rtas_start();
    dropped_report();
    firmware_quiesce();
    hypercall(H_SET_MODE, 1, LITTLE_ENDIAN_MODE, 0, 0, NULL);
    vectors_install();
    if (negotiated)
        node_stop(STOP_BAD_INPUT,
                  "the firmware refuses radix tables (%d) on this CPU, version %08x: POWER9 is "
                  "needed (QEMU: -cpu power9, max-cpu-compat=power9)",
                  negotiated, cpu_version());
    if (error)
        node_stop(STOP_BAD_INPUT, "%s", why.text);
    kernel_start(&boot);
}

void arch_initialise(const struct boot_info *info)
{
    (void)info;
    decrementer_initialise();
    cpus_initialise(kernel_map_pool());
    cpu_facilities_initialise();
}

void arch_cpu_describe(char *text, size_t bytes)
{
    format_text(text, bytes, "POWER9, version %08x, time base %lu MHz, decrementer of %u bits",
                machine.version, machine.timebase_hz / 1000000, machine.decrementer_bits);
}
