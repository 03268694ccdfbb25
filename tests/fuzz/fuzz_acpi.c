/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_acpi.c: the input is the only readable physical memory and begins with the RSDP. Wrong checksums would
 * stop nearly every mutation, so the checksums of the RSDP and of all tables are corrected before parsing.
 */
#include "arch/acpi.h"
#include "fuzz.h"
#include "simulated_memory.h"

static void seal(uint8_t *at, size_t place, size_t bytes)
{
    uint8_t sum = 0;

    at[place] = 0;
    for (size_t i = 0; i < bytes; i++)
        sum = (uint8_t)(sum + at[i]);
    at[place] = (uint8_t)-sum;
}

/* Corrects the checksums of the RSDP, and of a table at every place that has a table's signature. */
static void seal_tables(uint8_t *memory, size_t bytes)
{
    static const char *const signatures[] = { "DSDT", "SSDT", "FACP", "APIC", "HPET",
                                              "SPCR", "SRAT", "RSDT", "XSDT" };

    for (size_t at = 0; at + 36 <= bytes; at += 4) {
        uint32_t length;

        memcpy(&length, memory + at + 4, sizeof(length));
        for (size_t i = 0; i < sizeof(signatures) / sizeof(signatures[0]); i++) {
            if (memcmp(memory + at, signatures[i], 4) == 0 && length >= 36 && length <= bytes - at)
                seal(memory + at, 9, length);
        }
    }
    if (bytes >= 20)
        seal(memory, 8, 20);
    if (bytes >= 36)
        seal(memory, 32, 36);
}

static void promise_facts(const struct acpi_facts *facts)
{
    PROMISE(facts->cpu_count <= ACPI_CPUS_MAX);
    PROMISE(facts->cpus_dropped == 0 || facts->cpu_count == ACPI_CPUS_MAX);
    for (unsigned i = 0; i < facts->cpu_count; i++) {
        PROMISE(facts->apic_ids[i] != UINT32_MAX);
        for (unsigned j = 0; j < i; j++)
            PROMISE(facts->apic_ids[i] != facts->apic_ids[j]);
    }
    PROMISE(facts->numa_range_count <= ACPI_NUMA_RANGES_MAX);
    for (unsigned i = 0; i < facts->numa_range_count; i++) {
        PROMISE(facts->numa_ranges[i].range.bytes > 0);
        PROMISE(facts->numa_ranges[i].range.bytes <= UINT64_MAX - facts->numa_ranges[i].range.base);
    }
    PROMISE(facts->soft_off_type_a <= 7 && facts->soft_off_type_b <= 7);
    PROMISE(facts->soft_off_known || (facts->soft_off_type_a == 0 && facts->soft_off_type_b == 0));
    PROMISE(!facts->hardware_reduced || !(facts->pm1a_control_port | facts->pm_timer_port));
    PROMISE(facts->hardware_reduced || !(facts->sleep_control.address | facts->sleep_status.address));
    PROMISE(!facts->reset.is_port || facts->reset.address <= 0xffff);
    PROMISE(!facts->sleep_control.is_port || facts->sleep_control.address <= 0xffff);
    PROMISE(!facts->sleep_status.is_port || facts->sleep_status.address <= 0xffff);
    PROMISE(!facts->pm_timer_32_bits || facts->pm_timer_port);
    PROMISE(facts->serial_port <= 0xfff8 && facts->serial_line <= ACPI_ISA_LINES);
    PROMISE(facts->serial_speed == 0 || (facts->serial_port && 115200 % facts->serial_speed == 0));
    PROMISE(!facts->smi_command_port || facts->acpi_enable_command);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct boot_info info;
    static struct acpi_facts facts;
    struct message why = { "" };

    if (bytes == 0)
        return 0;
    uint8_t *copy = malloc(bytes);
    memcpy(copy, data, bytes);
    seal_tables(copy, bytes);
    struct simulated_memory memory = { SIMULATED_BASE, bytes, copy };

    info.rsdp = SIMULATED_BASE;
    info.efi = true; /* no search of the BIOS area, which cannot be read here */
    if (acpi_parse(&info, simulated_read, &memory, &facts, &why) == 0)
        promise_facts(&facts);
    else
        PROMISE(why.text[0] != '\0');
    free(copy);
    return 0;
}
