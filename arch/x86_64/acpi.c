/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * acpi.c: the few facts that the kernel takes from ACPI tables (arch/acpi.h).
 *
 * From the RSDP to the XSDT (or RSDT) to the FADT, MADT, SPCR and HPET table, each checked by length and
 * checksum. The byte code of the DSDT is not run: \_S5 is found as the encoding of `Name (_S5_, Package () {
 * small integer, small integer, … })`, which is how firmware writes it. Source: ACPI Specification 6.5 §5.2
 * (tables), §4.8.3 (PM1 control, PM timer, sleep registers, reset register), §7.4.2 (_S5), §5.2.16 (SRAT),
 * §20.2 (byte code); PCI Firmware Specification 3.2 §4.1.2 (MCFG); Microsoft, "Serial Port Console
 * Redirection Table". Portable C; runs once, on the boot CPU; owns nothing.
 */
#include "arch/acpi.h"
#include "lib/kstring.h"

#define RSDP_BYTES_OLD  20
#define RSDP_BYTES      36
#define HEADER_BYTES    36
#define TABLE_BYTES_MAX (16u << 20)
#define TABLES_MAX      1024
#define BIOS_AREA       0xe0000ull
#define BIOS_AREA_BYTES 0x20000ull
#define SPACE_MEMORY    0
#define SPACE_IO        1
#define PORT_MAX        0xffffu
#define FADT_HW_REDUCED (1u << 20)
#define FADT_TIMER_32   (1u << 8)
#define FADT_RESET      (1u << 10)
#define MADT_ENTRIES    44
#define CPU_ENABLED     1
#define SRAT_ENTRIES    48
#define SRAT_ENABLED    1
#define SPCR_BASE       40
#define MCFG_ENTRIES    44
#define MCFG_ENTRY      16 /* bytes */
#define SPCR_8259       1  /* its interrupt has an ISA line */
#define SLEEP_TYPE_MAX  7  /* three bits of the PM1 control register */

/* Byte code. */
#define AML_ONE     0x01
#define AML_NAME    0x08
#define AML_BYTE    0x0a
#define AML_WORD    0x0b
#define AML_DWORD   0x0c
#define AML_PACKAGE 0x12

/* A table with its header; all `bytes` of it can be read and sum to zero. */
struct table {
    const struct physical_memory *memory;
    const uint8_t *at;
    uint32_t bytes;
};

/* ---- tables ---- */

/* Loads a number of up to 8 bytes. */
static uint64_t load_bytes(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;

    memcpy(&value, at, bytes);
    return value;
}

static bool sums_to_zero(const uint8_t *at, uint32_t bytes)
{
    uint8_t sum = 0;

    for (uint32_t i = 0; i < bytes; i++)
        sum = (uint8_t)(sum + at[i]);
    return sum == 0;
}

/* Opens a table. Returns false if there is no valid table of that signature at `address`. */
static bool table_open(const struct physical_memory *memory, uint64_t address, const char *signature,
                       struct table *out)
{
    const uint8_t *header = address ? memory_at(memory, address, HEADER_BYTES) : NULL;

    if (!header || memcmp(header, signature, 4) != 0)
        return false;
    out->memory = memory;
    out->bytes = load_le32(header + 4);
    if (out->bytes < HEADER_BYTES || out->bytes > TABLE_BYTES_MAX)
        return false;
    out->at = memory_at(memory, address, out->bytes);
    return out->at && sums_to_zero(out->at, out->bytes);
}

/* Returns a field. Later revisions have longer tables: a field above a table's end is zero. */
static uint64_t field(const struct table *table, uint32_t offset, unsigned bytes)
{
    return offset + bytes <= table->bytes ? load_bytes(table->at + offset, bytes) : 0;
}

static uint8_t field8(const struct table *table, uint32_t offset)
{
    return (uint8_t)field(table, offset, 1);
}

static uint32_t field32(const struct table *table, uint32_t offset)
{
    return (uint32_t)field(table, offset, 4);
}

/* ---- the root ---- */

/* Copies the RSDP at `address`; what an old one lacks is zero. */
static bool rsdp_read(const struct physical_memory *memory, uint64_t address, uint8_t *rsdp)
{
    uint32_t bytes = RSDP_BYTES;
    const uint8_t *at = memory_at(memory, address, bytes);

    if (!at) {
        bytes = RSDP_BYTES_OLD;
        at = memory_at(memory, address, bytes);
    }
    if (!at || memcmp(at, "RSD PTR ", 8) != 0 || !sums_to_zero(at, RSDP_BYTES_OLD))
        return false;
    memcpy(rsdp, at, bytes);
    memset(rsdp + bytes, 0, RSDP_BYTES - bytes);
    return true;
}

static bool rsdp_find(const struct boot_info *info, const struct physical_memory *memory, uint8_t *rsdp)
{
    if (info->rsdp && rsdp_read(memory, info->rsdp, rsdp))
        return true;
    /* If no boot loader has named it: a BIOS has it on a 16-byte boundary of its read-only area. */
    for (uint64_t at = BIOS_AREA; !info->efi && at < BIOS_AREA + BIOS_AREA_BYTES; at += 16)
        if (rsdp_read(memory, at, rsdp))
            return true;
    return false;
}

/* Opens the XSDT, else the RSDT, and gets the size of its entries. */
static bool root_open(const struct physical_memory *memory, const uint8_t *rsdp, struct table *root,
                      unsigned *entry_bytes)
{
    bool extended = rsdp[15] >= 2 && sums_to_zero(rsdp, RSDP_BYTES);

    *entry_bytes = 8;
    if (extended && table_open(memory, load_le64(rsdp + 24), "XSDT", root))
        return true;
    *entry_bytes = 4;
    return table_open(memory, load_le32(rsdp + 16), "RSDT", root);
}

/* ---- \_S5 ---- */

/* Reads a small integer at *at, which is moved past it; -1 if there is none. */
static int aml_small_integer(const uint8_t **at, const uint8_t *end)
{
    static const uint8_t operand_bytes[] = { [AML_BYTE] = 1, [AML_WORD] = 2, [AML_DWORD] = 4 };

    if (*at == end)
        return -1;
    uint8_t code = *(*at)++;
    if (code <= AML_ONE)
        return code; /* these two stand for themselves */
    unsigned bytes = code < sizeof(operand_bytes) ? operand_bytes[code] : 0;
    if (bytes == 0 || (size_t)(end - *at) < bytes)
        return -1;
    uint64_t value = load_bytes(*at, bytes);
    *at += bytes;
    return value <= SLEEP_TYPE_MAX ? (int)value : -1;
}

/* Finds the end of a package whose length is at *at, which is moved past the length; NULL if it does not
 * fit. Its lead byte counts the bytes that follow it in bits 7-6; without any, the length is in bits 5-0,
 * else it begins in bits 3-0. */
static const uint8_t *aml_package_end(const uint8_t **at, const uint8_t *end)
{
    const uint8_t *start = *at;

    if (start == end)
        return NULL;
    unsigned more = *start >> 6;
    uint32_t length = more ? *start & 0x0fu : *start & 0x3fu;
    if ((size_t)(end - start) <= more)
        return NULL;
    for (unsigned i = 0; i < more; i++)
        length |= (uint32_t)start[1 + i] << (4 + 8 * i);
    *at = start + 1 + more;
    return length > more && length <= (size_t)(end - start) ? start + length : NULL;
}

/* Returns whether there is a Name operator for \_S5 at `at`; *package is then where its package begins. */
static bool is_soft_off_name(const uint8_t *at, const uint8_t *end, const uint8_t **package)
{
    if (at == end || *at++ != AML_NAME)
        return false;
    if (at < end && *at == '\\')
        at++;
    if (end - at < 5 || memcmp(at, "_S5_", 4) != 0 || at[4] != AML_PACKAGE)
        return false;
    *package = at + 5;
    return true;
}

static bool read_soft_off(const uint8_t *at, const uint8_t *end, struct acpi_facts *out)
{
    const uint8_t *package_end = aml_package_end(&at, end);

    if (!package_end || at == package_end || *at++ < 2)
        return false;
    int type_a = aml_small_integer(&at, package_end);
    int type_b = type_a < 0 ? -1 : aml_small_integer(&at, package_end);
    if (type_b < 0)
        return false;
    out->soft_off_type_a = (uint8_t)type_a;
    out->soft_off_type_b = (uint8_t)type_b;
    return true;
}

/* Takes the first \_S5 of a DSDT or an SSDT, unless one is known. */
static void take_soft_off(const struct table *table, struct acpi_facts *out)
{
    const uint8_t *end = table->at + table->bytes, *package;

    for (const uint8_t *at = table->at + HEADER_BYTES; at < end && !out->soft_off_known; at++)
        out->soft_off_known = is_soft_off_name(at, end, &package) && read_soft_off(package, end, out);
}

/* ---- FADT, MADT ---- */

/* Returns a port by its newer description at `extended`, else by the older one at `old`; 0 if neither names
 * one.
 */
static uint16_t fadt_port(const struct table *fadt, uint32_t old, uint32_t extended)
{
    uint64_t port = field(fadt, extended + 4, 8);

    if (field8(fadt, extended) != SPACE_IO || port == 0 || port > PORT_MAX)
        port = field32(fadt, old);
    return port <= PORT_MAX ? (uint16_t)port : 0;
}

/* Returns the register that a generic address describes: in memory or a port, reachable by one byte. */
static struct acpi_register fadt_register(const struct table *fadt, uint32_t offset)
{
    struct acpi_register at = { field8(fadt, offset) == SPACE_IO, field(fadt, offset + 4, 8) };
    bool known = at.is_port ? at.address <= PORT_MAX : field8(fadt, offset) == SPACE_MEMORY;

    return known ? at : (struct acpi_register){ 0 };
}

static void take_fadt(const struct table *fadt, struct acpi_facts *out)
{
    uint32_t flags = field32(fadt, 112), smi_command = field32(fadt, 48);
    struct table dsdt;

    if (table_open(fadt->memory, field(fadt, 140, 8), "DSDT", &dsdt) ||
        table_open(fadt->memory, field32(fadt, 40), "DSDT", &dsdt))
        take_soft_off(&dsdt, out);
    if (flags & FADT_RESET) {
        out->reset = fadt_register(fadt, 116);
        out->reset_value = field8(fadt, 128);
    }
    out->hardware_reduced = flags & FADT_HW_REDUCED;
    if (out->hardware_reduced) { /* such a machine has none of the ports */
        out->sleep_control = fadt_register(fadt, 244);
        out->sleep_status = fadt_register(fadt, 256);
        return;
    }
    out->pm1a_control_port = fadt_port(fadt, 64, 172);
    out->pm1b_control_port = fadt_port(fadt, 68, 184);
    out->acpi_enable_command = field8(fadt, 52);
    if (smi_command <= PORT_MAX && out->acpi_enable_command)
        out->smi_command_port = (uint16_t)smi_command;
    if (field8(fadt, 91) != 4)
        return; /* the timer's length: four bytes, or there is none */
    out->pm_timer_port = fadt_port(fadt, 76, 208);
    out->pm_timer_32_bits = out->pm_timer_port && (flags & FADT_TIMER_32);
}

unsigned acpi_cpu_find(const struct acpi_facts *facts, uint32_t apic_id)
{
    unsigned cpu = 0;

    while (cpu < facts->cpu_count && facts->apic_ids[cpu] != apic_id)
        cpu++;
    return cpu;
}

/* Adds a CPU. Some firmware lists a CPU both by its APIC and by its x2APIC number. A CPU beyond those that
 * are kept counts each time. */
static void add_cpu(struct acpi_facts *out, uint32_t apic_id)
{
    if (acpi_cpu_find(out, apic_id) < out->cpu_count)
        return;
    if (out->cpu_count == ACPI_CPUS_MAX) {
        out->cpus_dropped++;
        return;
    }
    out->domains[out->cpu_count] = NUMA_DOMAIN_NONE;
    out->apic_ids[out->cpu_count++] = apic_id;
}

static void take_madt_entry(const struct table *madt, const uint8_t *entry, unsigned bytes,
                            struct acpi_facts *out)
{
    (void)madt; /* of no use to these entries */
    switch (entry[0]) {
    case 0: /* local APIC; number 255 addresses all */
        if (bytes >= 8 && (load_le32(entry + 4) & CPU_ENABLED) && entry[3] != 0xff)
            add_cpu(out, entry[3]);
        return;
    case 1: /* I/O APIC */
        if (bytes >= 12 && out->io_apic_count < ACPI_IO_APICS_MAX)
            out->io_apics[out->io_apic_count++] =
                (struct acpi_io_apic){ load_le32(entry + 4), load_le32(entry + 8) };
        return;
    case 2: /* interrupt source override */
        if (bytes >= 10 && entry[2] == 0 && entry[3] < ACPI_ISA_LINES)
            out->isa_lines[entry[3]] =
                (struct acpi_isa_line){ true, (entry[8] & 3) == 3, (entry[8] >> 2 & 3) == 3,
                                        load_le32(entry + 4) };
        return;
    case 9: /* local x2APIC */
        if (bytes >= 16 && (load_le32(entry + 8) & CPU_ENABLED) && load_le32(entry + 4) != UINT32_MAX)
            add_cpu(out, load_le32(entry + 4));
        return;
    }
}

/* ---- SRAT ---- */

static void set_domain(struct acpi_facts *out, uint32_t apic_id, uint32_t domain)
{
    unsigned cpu = acpi_cpu_find(out, apic_id);

    if (cpu < out->cpu_count && out->domains[cpu] == NUMA_DOMAIN_NONE)
        out->domains[cpu] = domain;
}

static void add_numa_range(struct acpi_facts *out, uint64_t base, uint64_t bytes, uint32_t domain)
{
    if (bytes && bytes <= UINT64_MAX - base && out->numa_range_count < ACPI_NUMA_RANGES_MAX)
        out->numa_ranges[out->numa_range_count++] = (struct numa_range){ { base, bytes }, domain };
}

static void take_srat_entry(const struct table *srat, const uint8_t *entry, unsigned bytes,
                            struct acpi_facts *out)
{
    uint32_t domain_mask = field8(srat, 8) < 2 ? 0xff : UINT32_MAX; /* the first revision had eight bits */

    switch (entry[0]) {
    case 0: /* local APIC; the number of its domain is in two parts */
        if (bytes >= 16 && (load_le32(entry + 4) & SRAT_ENABLED))
            set_domain(out, entry[3], (entry[2] | (load_le32(entry + 8) & ~0xffu)) & domain_mask);
        return;
    case 1: /* memory */
        if (bytes >= 40 && (load_le32(entry + 28) & SRAT_ENABLED))
            add_numa_range(out, load_le64(entry + 8), load_le64(entry + 16),
                           load_le32(entry + 2) & domain_mask);
        return;
    case 2: /* local x2APIC */
        if (bytes >= 24 && (load_le32(entry + 12) & SRAT_ENABLED))
            set_domain(out, load_le32(entry + 8), load_le32(entry + 4));
        return;
    }
}

/* ---- SPCR ---- */

static void take_spcr(const struct table *spcr, struct acpi_facts *out)
{
    static const uint32_t speeds[] = { [3] = 9600, [4] = 19200, [6] = 57600, [7] = 115200 };
    const uint8_t kind = field8(spcr, 36), speed = field8(spcr, 58), line = field8(spcr, 53);
    const uint64_t port = field(spcr, SPCR_BASE + 4, 8);

    out->serial_line = ACPI_ISA_LINES;
    if (kind > 1 && kind != 0x12)
        return; /* no 16550 */
    if (field8(spcr, SPCR_BASE) != SPACE_IO || port == 0 || port > PORT_MAX - 7)
        return;
    out->serial_port = (uint16_t)port;
    out->serial_speed = speed < sizeof(speeds) / sizeof(speeds[0]) ? speeds[speed] : 0;
    if (field8(spcr, 52) & SPCR_8259 && line < ACPI_ISA_LINES)
        out->serial_line = line;
}

/* ---- MCFG ---- */

static void take_mcfg(const struct table *mcfg, struct acpi_facts *out)
{
    for (uint32_t at = MCFG_ENTRIES; at + MCFG_ENTRY <= mcfg->bytes; at += MCFG_ENTRY) {
        const struct acpi_pci_segment segment = { .address = field(mcfg, at, 8),
                                                  .number = (uint16_t)field(mcfg, at + 8, 2),
                                                  .bus_first = field8(mcfg, at + 10),
                                                  .bus_last = field8(mcfg, at + 11) };

        if (segment.address && segment.bus_first <= segment.bus_last &&
            out->pci_segment_count < ACPI_PCI_SEGMENTS_MAX)
            out->pci_segments[out->pci_segment_count++] = segment;
    }
}

/* ---- All of them ---- */

static void take_hpet(const struct table *hpet, struct acpi_facts *out)
{
    if (field8(hpet, 40) == SPACE_MEMORY)
        out->hpet_address = field(hpet, 44, 8);
}

/* In the order in which they are taken: the SRAT's CPUs are those of the MADT, an SSDT's \_S5 comes after the
 * DSDT's. Of a table that is a list, each entry is taken. */
static const struct kind {
    const char *signature;
    void (*take)(const struct table *table, struct acpi_facts *out);
    void (*take_entry)(const struct table *table, const uint8_t *entry, unsigned bytes,
                       struct acpi_facts *out);
    uint32_t entries; /* where the list begins */
    bool has_many;    /* all valid tables of the kind are taken, else the first one */
} kinds[] = {
    { "FACP", .take = take_fadt },
    { "HPET", .take = take_hpet },
    { "APIC", .take_entry = take_madt_entry, .entries = MADT_ENTRIES },
    { "MCFG", .take = take_mcfg },
    { "SPCR", .take = take_spcr },
    { "SRAT", .take_entry = take_srat_entry, .entries = SRAT_ENTRIES },
    { "SSDT", .take = take_soft_off, .has_many = true },
};

/* Takes a table, or its entries, each with its type and its length in front. */
static void take_table(const struct kind *kind, const struct table *table, struct acpi_facts *out)
{
    if (kind->take)
        kind->take(table, out);
    for (uint32_t offset = kind->entries, bytes; kind->take_entry && offset + 2 <= table->bytes;
         offset += bytes) {
        bytes = table->at[offset + 1];
        if (bytes < 2 || bytes > table->bytes - offset)
            return;
        kind->take_entry(table, table->at + offset, bytes, out);
    }
}

static void take_kind(const struct kind *kind, const struct table *root, unsigned entry_bytes,
                      struct acpi_facts *out)
{
    unsigned count = (root->bytes - HEADER_BYTES) / entry_bytes;
    struct table table;

    for (unsigned i = 0; i < count && i < TABLES_MAX; i++) {
        const uint8_t *entry = root->at + HEADER_BYTES + (size_t)i * entry_bytes;

        if (!table_open(root->memory, load_bytes(entry, entry_bytes), kind->signature, &table))
            continue;
        take_table(kind, &table, out);
        if (!kind->has_many || out->soft_off_known)
            return;
    }
}

int acpi_parse(const struct boot_info *info, physical_reader *read, void *context, struct acpi_facts *out,
               struct message *why)
{
    const struct physical_memory memory = { read, context };
    unsigned entry_bytes;
    uint8_t rsdp[RSDP_BYTES];
    struct table root;

    memset(out, 0, sizeof(*out));
    if (!rsdp_find(info, &memory, rsdp))
        return message_set(why, -EINVAL, "acpi: no valid root pointer (RSDP); the loader names 0x%lx",
                           info->rsdp);
    if (!root_open(&memory, rsdp, &root, &entry_bytes))
        return message_set(why, -EINVAL, "acpi: neither an XSDT at 0x%lx nor an RSDT at 0x%x is valid",
                           load_le64(rsdp + 24), load_le32(rsdp + 16));
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        take_kind(&kinds[i], &root, entry_bytes, out);
    return 0;
}
