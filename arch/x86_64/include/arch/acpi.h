/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * acpi.h: the few facts that the kernel takes from ACPI tables: how to power off, where the PM timer and the
 * HPET are, which CPUs there are, which memory is near them. Portable C, host-tested and fuzzed; tables are
 * read once at boot. Source: ACPI Specification 6.5, §5.2 (tables), §4.8.3 (PM1 control, PM timer), §7.4.2
 * (_S5).
 */
#ifndef ARCH_ACPI_H
#define ARCH_ACPI_H

#include "arch/boot_protocol.h"
#include <stdbool.h>

#define ACPI_CPUS_MAX         1024
#define ACPI_IO_APICS_MAX     16
#define ACPI_ISA_LINES        16
#define ACPI_NUMA_RANGES_MAX  128
#define ACPI_PCI_SEGMENTS_MAX 16

struct acpi_facts {
    /* from the FADT */
    uint16_t pm1a_control_port, pm1b_control_port; /* 0: absent */
    uint16_t smi_command_port;                     /* 0: the machine is in ACPI mode already */
    uint8_t acpi_enable_command;
    uint16_t pm_timer_port; /* 0: absent; 3.579545 MHz */
    bool pm_timer_32_bits;
    bool hardware_reduced; /* none of the ports above; the next two switch the machine off */
    /* Of one byte each; address 0: absent. */
    struct acpi_register {
        bool is_port; /* an I/O port; else it is in memory */
        uint64_t address;
    } sleep_control, sleep_status, reset;
    uint8_t reset_value; /* value that resets the machine when it is written to `reset` */
    /* from the \_S5 package of the DSDT, else of an SSDT */
    bool soft_off_known;
    uint8_t soft_off_type_a, soft_off_type_b; /* SLP_TYPa, SLP_TYPb */
    /* from the SPCR: the firmware's serial console, of the 16550's kind */
    uint16_t serial_port;  /* 0: none, or not in port space */
    uint32_t serial_speed; /* baud; 0: as the firmware has left it */
    unsigned serial_line;  /* its ISA line; ACPI_ISA_LINES: none */
    /* from the HPET table */
    uint64_t hpet_address; /* 0: absent, or not in memory space */
    /* from the MCFG: where PCI's configuration space lies in memory, 1 MiB a bus, counted from bus 0 */
    struct acpi_pci_segment {
        uint64_t address;
        uint16_t number;
        uint8_t bus_first, bus_last;
    } pci_segments[ACPI_PCI_SEGMENTS_MAX];
    unsigned pci_segment_count;
    /* from the MADT */
    uint32_t apic_ids[ACPI_CPUS_MAX]; /* enabled CPUs (types 0 and 9), in table order, each once */
    unsigned cpu_count;
    unsigned cpus_dropped; /* beyond ACPI_CPUS_MAX; reported, never silently lost */
    struct acpi_io_apic {
        uint32_t address, first; /* number of its first input, in a sequence over the whole machine */
    } io_apics[ACPI_IO_APICS_MAX];
    unsigned io_apic_count;
    struct acpi_isa_line { /* as it leads to an input of an I/O APIC: else edge-triggered, active high, to its
                              own number */
        bool overridden, active_low, level;
        uint32_t input;
    } isa_lines[ACPI_ISA_LINES];
    /* from the SRAT */
    uint32_t domains[ACPI_CPUS_MAX]; /* proximity domain of each of apic_ids, or NUMA_DOMAIN_NONE */
    /* Enabled memory, in table order, as far as it fits; ranges may contain more than there is. */
    struct numa_range numa_ranges[ACPI_NUMA_RANGES_MAX];
    unsigned numa_range_count;
};

/* Fills *out from the tables below the RSDP: the one at info->rsdp if it is valid, else, unless UEFI
 * started the machine, the one found in the BIOS area. Tables with a wrong checksum or length are skipped;
 * what could not be found stays zero. Returns 0, or -EINVAL with `why` when there is no valid root at all. */
int acpi_parse(const struct boot_info *info, physical_reader *read, void *context, struct acpi_facts *out,
               struct message *why);

/* Returns where in apic_ids that number stands; cpu_count if it does not. */
unsigned acpi_cpu_find(const struct acpi_facts *facts, uint32_t apic_id);

#endif
