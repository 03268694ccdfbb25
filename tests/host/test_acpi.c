/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_acpi.c: tables as firmware lays them out, old and new ones, and broken ones.
 */
#include "arch/acpi.h"
#include "check.h"
#include "lib/errno.h"
#include "simulated_memory.h"

/* Offsets of the tables in the memory. */
#define RSDP_AT 0x000
#define RSDT_AT 0x100
#define XSDT_AT 0x200
#define FADT_AT 0x300
#define HPET_AT 0x500
#define DSDT_AT 0x1000
#define SSDT_AT 0x2000
#define SRAT_AT 0x3000
#define MADT_AT 0x4000 /* and from here on room for 2,000 CPUs */

static uint8_t bytes[SIMULATED_BYTES];
static struct simulated_memory memory = { SIMULATED_BASE, sizeof(bytes), bytes };
static struct boot_info info;
static struct acpi_facts facts;
static struct message why;

/* Makes bytes [at, at + length) sum to zero by the byte at `at + place`. */
static void seal_bytes(unsigned at, unsigned place, unsigned length)
{
    uint8_t sum = 0;

    bytes[at + place] = 0;
    for (unsigned i = 0; i < length; i++)
        sum = (uint8_t)(sum + bytes[at + i]);
    bytes[at + place] = (uint8_t)-sum;
}

static void seal(unsigned at)
{
    uint32_t length;

    memcpy(&length, bytes + at + 4, 4);
    seal_bytes(at, 9, length);
}

static void table(unsigned at, const char *signature, uint32_t length)
{
    memcpy(bytes + at, signature, 4);
    store(bytes + at + 4, length, 4);
    seal(at);
}

static void seal_rsdp(void)
{
    seal_bytes(RSDP_AT, 8, 20);
    seal_bytes(RSDP_AT, 32, 36);
}

/* \_S5 = Package () { 5, 7, 0, 0 } */
static const uint8_t soft_off[] = { 0x08, '_',  'S',  '5',  '_',  0x12, 0x08,
                                    0x04, 0x0a, 0x05, 0x0a, 0x07, 0x00, 0x00 };

static void put_code(unsigned at, const char *signature, const uint8_t *code, unsigned length)
{
    memset(bytes + at, 0, 0x400);
    memcpy(bytes + at + 100, code, length);
    table(at, signature, 100 + length);
}

static void gas(unsigned at, uint8_t space, uint64_t address)
{
    bytes[at] = space;
    bytes[at + 1] = 32;
    store(bytes + at + 4, address, 8);
}

static void begin(void)
{
    memset(bytes, 0, sizeof(bytes));
    memset(&info, 0, sizeof(info));
    info.rsdp = SIMULATED_BASE + RSDP_AT;

    memcpy(bytes + RSDP_AT, "RSD PTR ", 8);
    bytes[RSDP_AT + 15] = 2;
    store(bytes + RSDP_AT + 16, SIMULATED_BASE + RSDT_AT, 4);
    store(bytes + RSDP_AT + 20, 36, 4);
    store(bytes + RSDP_AT + 24, SIMULATED_BASE + XSDT_AT, 8);
    seal_rsdp();

    static const unsigned tables[] = { FADT_AT, MADT_AT, HPET_AT };
    for (unsigned i = 0; i < 3; i++) {
        store(bytes + RSDT_AT + 36 + i * 4, SIMULATED_BASE + tables[i], 4);
        store(bytes + XSDT_AT + 36 + i * 8, SIMULATED_BASE + tables[i], 8);
    }
    table(RSDT_AT, "RSDT", 36 + 12);
    table(XSDT_AT, "XSDT", 36 + 24);

    store(bytes + FADT_AT + 40, SIMULATED_BASE + DSDT_AT, 4);
    store(bytes + FADT_AT + 48, 0xb2, 4);
    bytes[FADT_AT + 52] = 0xf1;
    store(bytes + FADT_AT + 64, 0x604, 4);
    store(bytes + FADT_AT + 76, 0x608, 4);
    bytes[FADT_AT + 91] = 4;
    store(bytes + FADT_AT + 112, 1 << 8, 4);
    table(FADT_AT, "FACP", 116);

    bytes[HPET_AT + 40] = 0;
    store(bytes + HPET_AT + 44, 0xfed00000, 8);
    table(HPET_AT, "HPET", 56);

    store(bytes + MADT_AT + 36, 0xfee00000, 4);
    store(bytes + MADT_AT + 40, 1, 4);
    table(MADT_AT, "APIC", 44);
    put_code(DSDT_AT, "DSDT", soft_off, sizeof(soft_off));
}

static uint8_t *madt_entry(uint8_t type, uint8_t length)
{
    uint32_t used;

    memcpy(&used, bytes + MADT_AT + 4, 4);
    uint8_t *entry = bytes + MADT_AT + used;
    entry[0] = type;
    entry[1] = length;
    store(bytes + MADT_AT + 4, used + length, 4);
    return entry;
}

static void madt_apic(uint8_t id, uint32_t flags)
{
    uint8_t *entry = madt_entry(0, 8);

    entry[3] = id;
    store(entry + 4, flags, 4);
    seal(MADT_AT);
}

static void madt_x2apic(uint32_t id, uint32_t flags)
{
    uint8_t *entry = madt_entry(9, 16);

    store(entry + 4, id, 4);
    store(entry + 8, flags, 4);
    seal(MADT_AT);
}

static void srat_begin(uint8_t revision)
{
    store(bytes + XSDT_AT + 36 + 24, SIMULATED_BASE + SRAT_AT, 8);
    table(XSDT_AT, "XSDT", 36 + 32);
    bytes[SRAT_AT + 8] = revision;
    table(SRAT_AT, "SRAT", 48);
}

static uint8_t *srat_entry(uint8_t type, uint8_t length)
{
    uint32_t used;

    memcpy(&used, bytes + SRAT_AT + 4, 4);
    uint8_t *entry = bytes + SRAT_AT + used;
    entry[0] = type;
    entry[1] = length;
    store(bytes + SRAT_AT + 4, used + length, 4);
    return entry;
}

static void srat_apic(uint8_t id, uint32_t domain, uint32_t flags)
{
    uint8_t *entry = srat_entry(0, 16);

    entry[2] = (uint8_t)domain;
    entry[3] = id;
    store(entry + 4, flags, 4);
    store(entry + 9, domain >> 8, 3);
    seal(SRAT_AT);
}

static void srat_x2apic(uint32_t id, uint32_t domain, uint32_t flags)
{
    uint8_t *entry = srat_entry(2, 24);

    store(entry + 4, domain, 4);
    store(entry + 8, id, 4);
    store(entry + 12, flags, 4);
    seal(SRAT_AT);
}

static void srat_memory(uint64_t base, uint64_t length, uint32_t domain, uint32_t flags)
{
    uint8_t *entry = srat_entry(1, 40);

    store(entry + 2, domain, 4);
    store(entry + 8, base, 8);
    store(entry + 16, length, 8);
    store(entry + 28, flags, 4);
    seal(SRAT_AT);
}

static int parse(void)
{
    return acpi_parse(&info, simulated_read, &memory, &facts, &why);
}

TEST(all_facts_of_an_ordinary_machine_are_found)
{
    begin();
    madt_apic(0, 1);
    madt_apic(1, 1);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(facts.pm1a_control_port, 0x604);
    CHECK_EQUAL(facts.pm1b_control_port, 0);
    CHECK_EQUAL(facts.smi_command_port, 0xb2);
    CHECK_EQUAL(facts.acpi_enable_command, 0xf1);
    CHECK_EQUAL(facts.pm_timer_port, 0x608);
    CHECK(facts.pm_timer_32_bits);
    CHECK(facts.soft_off_known);
    CHECK_EQUAL(facts.soft_off_type_a, 5);
    CHECK_EQUAL(facts.soft_off_type_b, 7);
    CHECK_EQUAL(facts.hpet_address, 0xfed00000);
    CHECK_EQUAL(facts.cpu_count, 2);
    CHECK_EQUAL(facts.apic_ids[1], 1);
}

TEST(old_root_leads_through_the_rsdt)
{
    begin();
    bytes[RSDP_AT + 15] = 0;
    store(bytes + RSDP_AT + 24, 0, 8);
    seal_rsdp();
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(facts.pm_timer_port, 0x608);
}

TEST(broken_xsdt_falls_back_to_the_rsdt)
{
    begin();
    bytes[XSDT_AT + 40] ^= 1;
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(facts.pm_timer_port, 0x608);
    begin();
    bytes[RSDP_AT + 32] ^= 1;
    memset(bytes + XSDT_AT, 0, 36);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(facts.pm_timer_port, 0x608);
}

TEST(xsdt_wins_over_the_rsdt)
{
    begin();
    memset(bytes + RSDT_AT, 0, 36);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(facts.pm_timer_port, 0x608);
}

TEST(root_pointer_is_searched_in_the_bios_area_but_not_under_uefi)
{
    struct simulated_memory bios = { 0xe0000, 0x20000, NULL };
    static uint8_t area[0x20000];

    memset(area, 0, sizeof(area));
    bios.data = area;
    begin();
    memcpy(area + 0x1f2d0, bytes + RSDP_AT, 36);
    info.rsdp = 0;
    CHECK_EQUAL(acpi_parse(&info, simulated_read, &bios, &facts, &why), -EINVAL);
    CHECK_CONTAINS(why.text, "neither an XSDT at 0x10200 nor an RSDT at 0x10100");
    info.efi = true;
    CHECK_EQUAL(acpi_parse(&info, simulated_read, &bios, &facts, &why), -EINVAL);
    CHECK_CONTAINS(why.text, "no valid root pointer");
}

TEST(broken_roots_are_refused)
{
    begin();
    bytes[RSDP_AT + 8] ^= 1;
    CHECK_EQUAL(parse(), -EINVAL);
    CHECK_CONTAINS(why.text, "root pointer");
    begin();
    info.rsdp = UINT64_MAX - 3;
    CHECK_EQUAL(parse(), -EINVAL);
    begin();
    bytes[RSDT_AT + 9] ^= 1;
    bytes[XSDT_AT + 9] ^= 1;
    CHECK_EQUAL(parse(), -EINVAL);
    CHECK_CONTAINS(why.text, "neither");
}

TEST(broken_tables_are_skipped)
{
    begin();
    bytes[HPET_AT + 9] ^= 1;
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(facts.hpet_address, 0);
    CHECK_EQUAL(facts.pm_timer_port, 0x608);
    static const uint32_t lengths[] = { 0, 35, 0xffff, 0xffffffff };
    for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        begin();
        store(bytes + HPET_AT + 4, lengths[i], 4);
        CHECK_EQUAL(parse(), 0);
        CHECK_EQUAL(facts.hpet_address, 0);
    }
}

static void begin_long_fadt(void)
{
    begin();
    store(bytes + FADT_AT + 4, 244, 4);
}

TEST(newer_fields_win_when_they_name_ports)
{
    begin_long_fadt();
    gas(FADT_AT + 172, 1, 0x1804);
    gas(FADT_AT + 184, 1, 0x1904);
    gas(FADT_AT + 208, 1, 0x1808);
    seal(FADT_AT);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(facts.pm1a_control_port, 0x1804);
    CHECK_EQUAL(facts.pm1b_control_port, 0x1904);
    CHECK_EQUAL(facts.pm_timer_port, 0x1808);
    gas(FADT_AT + 172, 0, 0x1804);
    gas(FADT_AT + 208, 1, 0x12345);
    seal(FADT_AT);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(facts.pm1a_control_port, 0x604);
    CHECK_EQUAL(facts.pm_timer_port, 0x608);
}

TEST(newer_dsdt_pointer_wins_when_it_is_valid)
{
    static const uint8_t other[] = { 0x08, '_', 'S', '5', '_', 0x12, 0x04, 0x02, 0x01, 0x00 };

    begin_long_fadt();
    put_code(SSDT_AT, "DSDT", other, sizeof(other));
    store(bytes + FADT_AT + 140, SIMULATED_BASE + SSDT_AT, 8);
    seal(FADT_AT);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(facts.soft_off_type_a, 1);
    CHECK_EQUAL(facts.soft_off_type_b, 0);
    bytes[SSDT_AT + 9] ^= 1;
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(facts.soft_off_type_a, 5);
}

TEST(fields_beyond_a_short_fadt_are_absent)
{
    begin();
    gas(FADT_AT + 172, 1, 0x1804);
    table(FADT_AT, "FACP", 72);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(facts.pm1a_control_port, 0x604);
    CHECK_EQUAL(facts.pm_timer_port, 0);
    table(FADT_AT, "FACP", 36);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(facts.pm1a_control_port, 0);
    CHECK(!facts.soft_off_known);
}

TEST(machines_without_fixed_hardware_have_no_ports)
{
    begin();
    store(bytes + FADT_AT + 112, 1 << 20, 4);
    seal(FADT_AT);
    CHECK_EQUAL(parse(), 0);
    CHECK(facts.hardware_reduced);
    CHECK_EQUAL(facts.pm1a_control_port, 0);
    CHECK_EQUAL(facts.pm_timer_port, 0);
    CHECK_EQUAL(facts.smi_command_port, 0);
    CHECK_EQUAL(facts.sleep_control.address, 0); /* the table is too short for it */
}

TEST(machines_without_fixed_hardware_have_sleep_registers)
{
    begin();
    store(bytes + FADT_AT + 112, 1 << 20 | 1 << 10, 4);
    gas(FADT_AT + 116, 1, 0xcf9);
    bytes[FADT_AT + 128] = 6;
    gas(FADT_AT + 244, 0, 0x1fea00000);
    gas(FADT_AT + 256, 1, 0x405);
    table(FADT_AT, "FACP", 276);
    CHECK_EQUAL(parse(), 0);
    CHECK(!facts.sleep_control.is_port && facts.sleep_control.address == 0x1fea00000);
    CHECK(facts.sleep_status.is_port && facts.sleep_status.address == 0x405);
    CHECK(facts.reset.is_port && facts.reset.address == 0xcf9 && facts.reset_value == 6);
    CHECK_EQUAL(facts.soft_off_type_a, 5);
    gas(FADT_AT + 116, 2, 0xcf9);   /* of a PCI device */
    gas(FADT_AT + 244, 1, 0x10404); /* no such port */
    gas(FADT_AT + 256, 10, 0x405);
    seal(FADT_AT);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(facts.reset.address, 0);
    CHECK_EQUAL(facts.sleep_control.address, 0);
    CHECK_EQUAL(facts.sleep_status.address, 0);
    store(bytes + FADT_AT + 112, 0, 4); /* neither promised */
    gas(FADT_AT + 116, 1, 0xcf9);
    seal(FADT_AT);
    CHECK_EQUAL(parse(), 0);
    CHECK(!facts.hardware_reduced && facts.reset.address == 0);
}

TEST(absent_timer_and_mode_switch_are_absent)
{
    begin();
    bytes[FADT_AT + 91] = 0;
    bytes[FADT_AT + 52] = 0;
    seal(FADT_AT);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(facts.pm_timer_port, 0);
    CHECK(!facts.pm_timer_32_bits);
    CHECK_EQUAL(facts.smi_command_port, 0);
}

TEST(soft_off_is_read_in_every_encoding_of_small_integers)
{
    static const struct {
        uint8_t code[24];
        unsigned length;
        int type_a, type_b;
    } packages[] = {
        { { 0x08, '\\', '_', 'S', '5', '_', 0x12, 0x06, 0x04, 0x00, 0x01, 0x00, 0x00 }, 13, 0, 1 },
        { { 0x08, '_', 'S', '5', '_', 0x12, 0x07, 0x02, 0x0b, 0x03, 0x00, 0x0a, 0x04 }, 13, 3, 4 },
        { { 0x08, '_', 'S', '5', '_', 0x12, 0x07, 0x02, 0x0b, 0x03, 0x00, 0x0a, 0x04 }, 12, -1, -1 },
        { { 0x08, '_', 'S', '5', '_', 0x12, 0x40, 0x01, 0x02, 0x01 }, 10, -1, -1 },
        { { 0x08, '_', 'S', '5', '_', 0x12, 0x09, 0x02, 0x0c, 0x06, 0, 0, 0, 0x0a, 0x02 }, 15, 6, 2 },
        { { 0x08, '_', 'S', '5', '_', 0x12, 0x47, 0x00, 0x02, 0x0b, 0x03, 0x00, 0x01 }, 13, 3, 1 },
        { { 0x08, '_', 'S', '5', '_', 0x12, 0x06, 0x01, 0x0a, 0x05, 0x0a, 0x05 }, 12, -1, -1 },
        { { 0x08, '_', 'S', '5', '_', 0x12, 0x06, 0x02, 0x0a, 0x08, 0x0a, 0x05 }, 12, -1, -1 },
        { { 0x08, '_', 'S', '5', '_', 0x12, 0x04, 0x02, 0xff, 0x00 }, 10, -1, -1 },
        { { 0x08, '_', 'S', '5', '_', 0x12, 0x03, 0x02, 0x00, 0x00 }, 10, -1, -1 },
        { { 0x08, '_', 'S', '5', '_', 0x12, 0x00, 0x02, 0x00, 0x00 }, 10, -1, -1 },
        { { 0x10, '_', 'S', '5', '_', 0x12, 0x04, 0x02, 0x00, 0x00 }, 10, -1, -1 },
        { { 0x08, '_', 'S', '5', '_', 0x13, 0x04, 0x02, 0x00, 0x00 }, 10, -1, -1 },
        { { 0x08, '_', 'S', '5', '_', 0x12, 0x3f, 0x02, 0x00, 0x00 }, 10, -1, -1 },
    };

    for (unsigned i = 0; i < sizeof(packages) / sizeof(packages[0]); i++) {
        begin();
        put_code(DSDT_AT, "DSDT", packages[i].code, packages[i].length);
        CHECK_EQUAL(parse(), 0);
        if (!CHECK_EQUAL(facts.soft_off_known, packages[i].type_a >= 0))
            fprintf(stderr, "    package %u\n", i);
        CHECK_EQUAL(facts.soft_off_type_a, packages[i].type_a < 0 ? 0 : packages[i].type_a);
        CHECK_EQUAL(facts.soft_off_type_b, packages[i].type_b < 0 ? 0 : packages[i].type_b);
    }
}

TEST(search_goes_on_behind_what_only_looks_like_soft_off)
{
    uint8_t code[64] = { 0x08, '_', 'S', '5', '_', 0x12, 0x3f };

    memcpy(code + 20, soft_off, sizeof(soft_off));
    begin();
    put_code(DSDT_AT, "DSDT", code, 20 + sizeof(soft_off));
    CHECK_EQUAL(parse(), 0);
    CHECK(facts.soft_off_known);
    CHECK_EQUAL(facts.soft_off_type_a, 5);
}

TEST(soft_off_in_an_ssdt_is_found)
{
    begin();
    put_code(DSDT_AT, "DSDT", soft_off, 3);
    put_code(SSDT_AT, "SSDT", soft_off, sizeof(soft_off));
    store(bytes + XSDT_AT + 36 + 24, SIMULATED_BASE + SSDT_AT, 8);
    table(XSDT_AT, "XSDT", 36 + 32);
    CHECK_EQUAL(parse(), 0);
    CHECK(facts.soft_off_known);
    CHECK_EQUAL(facts.soft_off_type_b, 7);
}

TEST(only_enabled_cpus_are_taken_each_once)
{
    begin();
    madt_apic(0, 1);
    madt_apic(2, 0);
    madt_apic(4, 3);
    madt_apic(255, 1);
    madt_x2apic(4, 1);
    madt_x2apic(300, 1);
    madt_x2apic(301, 2);
    madt_x2apic(UINT32_MAX, 1);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(facts.cpu_count, 3);
    CHECK_EQUAL(facts.apic_ids[0], 0);
    CHECK_EQUAL(facts.apic_ids[1], 4);
    CHECK_EQUAL(facts.apic_ids[2], 300);
}

TEST(cpus_beyond_the_table_are_counted)
{
    begin();
    for (unsigned i = 0; i < 2000; i++)
        madt_x2apic(i * 2, 1);
    srat_begin(3);
    srat_x2apic(ACPI_CPUS_MAX * 2 - 2, 4, 1); /* the last that is kept, the first that is not */
    srat_x2apic(ACPI_CPUS_MAX * 2, 5, 1);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(facts.cpu_count, ACPI_CPUS_MAX);
    CHECK_EQUAL(facts.cpus_dropped, 2000 - ACPI_CPUS_MAX);
    CHECK_EQUAL(facts.apic_ids[ACPI_CPUS_MAX - 1], ACPI_CPUS_MAX * 2 - 2);
    CHECK_EQUAL(facts.domains[ACPI_CPUS_MAX - 1], 4);
    CHECK(facts.soft_off_known); /* nothing was overwritten */
}

/* A million entries: numbers all over, then the first one again and again. */
TEST(the_longest_table_that_is_read_overflows_nothing)
{
    const uint32_t cpus = ((16u << 20) - 44) / 16;
    const uint32_t length = 44 + cpus * 16;
    uint8_t *large = calloc(1, MADT_AT + length);

    begin();
    madt_apic(7, 1);
    memcpy(large, bytes, MADT_AT + 44);
    store(large + MADT_AT + 4, length, 4);
    for (uint32_t i = 0; i < cpus; i++) {
        uint8_t *entry = large + MADT_AT + 44 + (size_t)i * 16;

        entry[0] = 9;
        entry[1] = 16;
        store(entry + 4, i < 2 * ACPI_CPUS_MAX ? (uint64_t)i * 0x9e3779b1 & 0x7fffffff : 0, 4);
        store(entry + 8, 1, 4);
    }
    uint8_t sum = 0;
    large[MADT_AT + 9] = 0;
    for (uint32_t i = 0; i < length; i++)
        sum = (uint8_t)(sum + large[MADT_AT + i]);
    large[MADT_AT + 9] = (uint8_t)-sum;
    struct simulated_memory large_memory = { SIMULATED_BASE, MADT_AT + length, large };
    CHECK_EQUAL(acpi_parse(&info, simulated_read, &large_memory, &facts, &why), 0);
    CHECK_EQUAL(facts.cpu_count, ACPI_CPUS_MAX);
    CHECK_EQUAL(facts.cpus_dropped, ACPI_CPUS_MAX);
    free(large);
}

/* As firmware of large machines lists them: those that are there, and places for more. */
TEST(two_thousand_cpus_are_each_found_once)
{
    begin(); /* the MADT grows over all tables that are not needed here */
    for (unsigned i = 0; i < 2000; i++) {
        if (i % 2)
            madt_entry(9, 16); /* not enabled */
        madt_x2apic(i * 2, 1);
    }
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(facts.cpu_count, ACPI_CPUS_MAX < 2000 ? ACPI_CPUS_MAX : 2000);
    CHECK_EQUAL(facts.cpu_count + facts.cpus_dropped, 2000);
    for (unsigned i = 0; i < facts.cpu_count; i++)
        CHECK_EQUAL(facts.apic_ids[i], i * 2);
}

TEST(interrupt_lines_lead_where_the_madt_says)
{
    begin();
    for (unsigned i = 0; i < ACPI_IO_APICS_MAX + 1; i++) {
        uint8_t *entry = madt_entry(1, 12);

        store(entry + 4, 0xfec00000 + i * 0x1000, 4);
        store(entry + 8, i * 24, 4);
    }
    static const struct {
        uint8_t bus, line, flags;
    } lines[] = { { 0, 4, 0 }, { 0, 9, 0xf }, { 0, 3, 0x5 }, { 0, 16, 0 }, { 1, 5, 0 } };
    for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        uint8_t *entry = madt_entry(2, 10);

        entry[2] = lines[i].bus;
        entry[3] = lines[i].line;
        store(entry + 4, 40 + i, 4);
        store(entry + 8, lines[i].flags, 2);
    }
    madt_entry(2, 8); /* too short */
    seal(MADT_AT);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(facts.io_apic_count, ACPI_IO_APICS_MAX);
    CHECK_EQUAL(facts.io_apics[1].address, 0xfec01000);
    CHECK_EQUAL(facts.io_apics[1].first, 24);
    for (unsigned line = 0; line < ACPI_ISA_LINES; line++)
        CHECK_EQUAL(facts.isa_lines[line].overridden, line == 3 || line == 4 || line == 9);
    CHECK_EQUAL(facts.isa_lines[4].input, 40);
    CHECK(!facts.isa_lines[4].active_low && !facts.isa_lines[4].level);
    CHECK_EQUAL(facts.isa_lines[9].input, 41);
    CHECK(facts.isa_lines[9].active_low && facts.isa_lines[9].level);
    CHECK(!facts.isa_lines[3].active_low && !facts.isa_lines[3].level);
}

TEST(broken_madt_entries_end_the_list)
{
    static const uint8_t lengths[] = { 0, 1, 9, 255 };

    for (unsigned i = 0; i < sizeof(lengths); i++) {
        begin();
        madt_apic(7, 1);
        uint8_t *entry = madt_entry(0, 8);
        entry[3] = 8;
        entry[4] = 1;
        entry[1] = lengths[i];
        seal(MADT_AT);
        CHECK_EQUAL(parse(), 0);
        CHECK_EQUAL(facts.cpu_count, 1);
    }
    begin();
    store(madt_entry(0, 4) + 3, 9, 1);
    seal(MADT_AT);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(facts.cpu_count, 0);
}

/* Makes a machine with one more table, the SPCR in the SRAT's place, and its answer. */
static void put_spcr(uint8_t kind, uint8_t space, uint64_t port, uint8_t speed)
{
    begin();
    memset(bytes + SRAT_AT, 0, 80);
    bytes[SRAT_AT + 36] = kind;
    gas(SRAT_AT + 40, space, port);
    bytes[SRAT_AT + 52] = 3;
    bytes[SRAT_AT + 53] = 3;
    bytes[SRAT_AT + 58] = speed;
    table(SRAT_AT, "SPCR", 80);
    store(bytes + XSDT_AT + 36 + 3 * 8, SIMULATED_BASE + SRAT_AT, 8);
    table(XSDT_AT, "XSDT", 36 + 32);
    CHECK_EQUAL(acpi_parse(&info, simulated_read, &memory, &facts, &why), 0);
}

TEST(the_firmwares_serial_console_is_found)
{
    static const struct {
        uint8_t code;
        uint32_t speed;
    } speeds[] = { { 0, 0 },     { 3, 9600 },   { 4, 19200 }, { 5, 0 },
                   { 6, 57600 }, { 7, 115200 }, { 8, 0 },     { 255, 0 } };

    for (unsigned i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++) {
        put_spcr(i % 2 ? 0 : 0x12, 1, 0x2f8, speeds[i].code);
        CHECK_EQUAL(facts.serial_port, 0x2f8);
        CHECK_EQUAL(facts.serial_speed, speeds[i].speed);
        CHECK_EQUAL(facts.serial_line, 3);
    }
}

TEST(serial_consoles_that_are_no_16550_in_port_space_are_not_taken)
{
    put_spcr(3, 1, 0x2f8, 7); /* an ARM PL011 */
    CHECK_EQUAL(facts.serial_port, 0);
    put_spcr(0, 0, 0xfe000000, 7);
    CHECK_EQUAL(facts.serial_port, 0);
    put_spcr(0, 1, 0xfff9, 7);
    CHECK_EQUAL(facts.serial_port, 0);
    put_spcr(0, 1, 0, 7); /* redirection is switched off */
    CHECK_EQUAL(facts.serial_port, 0);
    put_spcr(0, 1, 0xfff8, 7);
    CHECK_EQUAL(facts.serial_port, 0xfff8);
    bytes[SRAT_AT + 53] = 16; /* no ISA line */
    seal(SRAT_AT);
    CHECK_EQUAL(acpi_parse(&info, simulated_read, &memory, &facts, &why), 0);
    CHECK_EQUAL(facts.serial_line, ACPI_ISA_LINES);
    table(SRAT_AT, "SPCR", 45); /* cut in the address */
    CHECK_EQUAL(acpi_parse(&info, simulated_read, &memory, &facts, &why), 0);
    CHECK_EQUAL(facts.serial_port, 0);
}

TEST(nodes_of_cpus_and_memory_are_found)
{
    begin();
    madt_apic(0, 1);
    madt_apic(1, 1);
    madt_x2apic(300, 1);
    madt_apic(7, 1);
    srat_begin(3);
    srat_apic(1, 0x01020304, 1);
    srat_apic(0, 2, 1);
    srat_apic(9, 5, 1);
    srat_x2apic(300, 4, 1);
    srat_apic(0, 3, 1); /* the first one counts */
    srat_memory(0, 0xa0000, 2, 1);
    srat_memory(0x100000000, 0x40000000, 4, 1 | 4);
    srat_memory(0x200000000, 0x40000000, 4, 0);
    srat_memory(0x300000000, 0, 4, 1);
    srat_memory(UINT64_MAX - 5, 7, 4, 1);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(facts.domains[0], 2);
    CHECK_EQUAL(facts.domains[1], 0x01020304);
    CHECK_EQUAL(facts.domains[2], 4);
    CHECK_EQUAL(facts.domains[3], NUMA_DOMAIN_NONE);
    CHECK_EQUAL(facts.numa_range_count, 2);
    CHECK_EQUAL(facts.numa_ranges[0].range.base, 0);
    CHECK_EQUAL(facts.numa_ranges[0].range.bytes, 0xa0000);
    CHECK_EQUAL(facts.numa_ranges[0].domain, 2);
    CHECK_EQUAL(facts.numa_ranges[1].range.base, 0x100000000);
    CHECK_EQUAL(facts.numa_ranges[1].domain, 4);
}

TEST(first_revision_of_the_srat_has_eight_bits_for_a_domain)
{
    begin();
    madt_apic(0, 1);
    srat_begin(1);
    srat_apic(0, 0xffffff02, 1);
    srat_memory(0, 0x1000, 0xffffff03, 1);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(facts.domains[0], 2);
    CHECK_EQUAL(facts.numa_ranges[0].domain, 3);
}

TEST(without_an_srat_no_domain_is_known)
{
    begin();
    madt_apic(0, 1);
    srat_begin(2);
    srat_apic(0, 1, 0);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(facts.domains[0], NUMA_DOMAIN_NONE);
    srat_apic(0, 1, 1);
    bytes[SRAT_AT + 9] ^= 1;
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(facts.domains[0], NUMA_DOMAIN_NONE);
    CHECK_EQUAL(facts.numa_range_count, 0);
}

TEST(broken_srat_entries_end_the_list)
{
    begin();
    madt_apic(0, 1);
    srat_begin(2);
    srat_entry(0, 8); /* too short for what it says it is, and skipped */
    srat_memory(0, 0x1000, 1, 1);
    srat_memory(0x1000, 0x1000, 1, 1);
    uint8_t *entry = srat_entry(1, 40);
    entry[1] = 41;
    seal(SRAT_AT);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(facts.numa_range_count, 2);
    table(SRAT_AT, "SRAT", 47);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(facts.numa_range_count, 0);
}

TEST(numa_ranges_beyond_the_table_are_counted)
{
    begin();
    srat_begin(2);
    for (unsigned i = 0; i < ACPI_NUMA_RANGES_MAX + 5; i++)
        srat_memory((uint64_t)i << 30, 1 << 30, i, 1);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(facts.numa_range_count, ACPI_NUMA_RANGES_MAX);
}

TEST(hpet_outside_of_memory_space_is_absent)
{
    begin();
    bytes[HPET_AT + 40] = 1;
    seal(HPET_AT);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(facts.hpet_address, 0);
}

int main(void)
{
    RUN(all_facts_of_an_ordinary_machine_are_found);
    RUN(old_root_leads_through_the_rsdt);
    RUN(broken_xsdt_falls_back_to_the_rsdt);
    RUN(xsdt_wins_over_the_rsdt);
    RUN(root_pointer_is_searched_in_the_bios_area_but_not_under_uefi);
    RUN(broken_roots_are_refused);
    RUN(broken_tables_are_skipped);
    RUN(newer_fields_win_when_they_name_ports);
    RUN(newer_dsdt_pointer_wins_when_it_is_valid);
    RUN(fields_beyond_a_short_fadt_are_absent);
    RUN(machines_without_fixed_hardware_have_no_ports);
    RUN(machines_without_fixed_hardware_have_sleep_registers);
    RUN(absent_timer_and_mode_switch_are_absent);
    RUN(soft_off_is_read_in_every_encoding_of_small_integers);
    RUN(search_goes_on_behind_what_only_looks_like_soft_off);
    RUN(soft_off_in_an_ssdt_is_found);
    RUN(only_enabled_cpus_are_taken_each_once);
    RUN(cpus_beyond_the_table_are_counted);
    RUN(the_longest_table_that_is_read_overflows_nothing);
    RUN(two_thousand_cpus_are_each_found_once);
    RUN(interrupt_lines_lead_where_the_madt_says);
    RUN(broken_madt_entries_end_the_list);
    RUN(the_firmwares_serial_console_is_found);
    RUN(serial_consoles_that_are_no_16550_in_port_space_are_not_taken);
    RUN(nodes_of_cpus_and_memory_are_found);
    RUN(first_revision_of_the_srat_has_eight_bits_for_a_domain);
    RUN(without_an_srat_no_domain_is_known);
    RUN(broken_srat_entries_end_the_list);
    RUN(numa_ranges_beyond_the_table_are_counted);
    RUN(hpet_outside_of_memory_space_is_absent);
    return check_report("acpi");
}
