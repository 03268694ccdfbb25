/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_pvh.c: start information as QEMU's -kernel writes it, and broken one.
 */
#include "arch/boot_protocol.h"
#include "check.h"
#include "lib/errno.h"
#include "simulated_memory.h"

#define MODULES_AT 0x100
#define MAP_AT     0x400
#define TEXT_AT    0x8000
#define NAME_AT    0xa000

static uint8_t bytes[SIMULATED_BYTES];
static struct boot_info info;
static struct message why;

static void map_entry(unsigned index, uint64_t base, uint64_t length, uint32_t type)
{
    uint8_t *at = bytes + MAP_AT + index * 24;

    store(at, base, 8);
    store(at + 8, length, 8);
    store(at + 16, type, 4);
}

static void begin(void)
{
    memset(bytes, 0, sizeof(bytes));
    store(bytes, PVH_START_MAGIC, 4);
    store(bytes + 4, 1, 4);
    store(bytes + 12, 1, 4);
    store(bytes + 16, SIMULATED_BASE + MODULES_AT, 8);
    store(bytes + 24, SIMULATED_BASE + TEXT_AT, 8);
    store(bytes + 32, 0xf52d0, 8);
    store(bytes + 40, SIMULATED_BASE + MAP_AT, 8);
    store(bytes + 48, 3, 4);
    store(bytes + MODULES_AT, 0x7f00000, 8);
    store(bytes + MODULES_AT + 8, 0x12345, 8);
    store(bytes + MODULES_AT + 16, SIMULATED_BASE + NAME_AT, 8);
    map_entry(0, 0, 0x9fc00, 1);
    map_entry(1, 0xf0000, 0x10000, 2);
    map_entry(2, 0x100000, 0x7f00000, 1);
    strcpy((char *)bytes + TEXT_AT, "app=/bin/fwq");
    strcpy((char *)bytes + NAME_AT, "initrd");
}

static int parse(void)
{
    struct simulated_memory memory = { SIMULATED_BASE, sizeof(bytes), bytes };

    return pvh_parse(SIMULATED_BASE, simulated_read, &memory, &info, &why);
}

TEST(everything_the_hypervisor_tells_is_taken)
{
    begin();
    CHECK_EQUAL(parse(), 0);
    CHECK_TEXT(info.protocol, "pvh");
    CHECK_TEXT(info.command_line, "app=/bin/fwq");
    CHECK_EQUAL(info.rsdp, 0xf52d0);
    CHECK_EQUAL(info.module_count, 1);
    CHECK_EQUAL(info.modules[0].range.base, 0x7f00000);
    CHECK_EQUAL(info.modules[0].range.bytes, 0x12345);
    CHECK_TEXT(info.modules[0].name, "initrd");
    CHECK_EQUAL(info.usable_count, 2);
    CHECK_EQUAL(info.reserved_count, 1);
    CHECK_EQUAL(info.reserved[0].base, 0xf0000);
}

TEST(absent_strings_and_modules_are_empty)
{
    begin();
    store(bytes + 12, 0, 4);
    store(bytes + 16, 0, 8);
    store(bytes + 24, 0, 8);
    CHECK_EQUAL(parse(), 0);
    CHECK_TEXT(info.command_line, "");
    CHECK_EQUAL(info.module_count, 0);
}

TEST(module_without_text_has_an_empty_name)
{
    begin();
    store(bytes + MODULES_AT + 16, 0, 8);
    CHECK_EQUAL(parse(), 0);
    CHECK_TEXT(info.modules[0].name, "");
}

TEST(wrong_magic_and_version_are_refused)
{
    begin();
    store(bytes, 0x2badb002, 4);
    CHECK_EQUAL(parse(), -EINVAL);
    CHECK_CONTAINS(why.text, "magic");
    begin();
    store(bytes + 4, 0, 4);
    CHECK_EQUAL(parse(), -EINVAL);
    CHECK_CONTAINS(why.text, "version 0");
}

TEST(lying_pointers_are_refused)
{
    static const struct {
        unsigned at;
        const char *names;
    } pointers[] = {
        { 16, "offset 16" }, { 24, "offset 24" }, { 40, "offset 40" }, { MODULES_AT + 16, "module 0" }
    };
    static const uint64_t lies[] = { 1, SIMULATED_BASE - 1, SIMULATED_BASE + SIMULATED_BYTES, UINT64_MAX,
                                     UINT64_MAX - 20 };

    for (unsigned i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++) {
        for (unsigned j = 0; j < sizeof(lies) / sizeof(lies[0]); j++) {
            begin();
            store(bytes + pointers[i].at, lies[j], 8);
            CHECK_EQUAL(parse(), -EINVAL);
            CHECK_CONTAINS(why.text, pointers[i].names);
        }
    }
}

TEST(counts_beyond_reason_are_refused)
{
    begin();
    store(bytes + 12, BOOT_MODULES_MAX + 1, 4);
    CHECK_EQUAL(parse(), -EINVAL);
    begin();
    store(bytes + 48, 0xffffffff, 4);
    CHECK_EQUAL(parse(), -EINVAL);
    begin();
    store(bytes + 48, 60000, 4);
    CHECK_EQUAL(parse(), -EINVAL);
}

TEST(map_without_ram_is_refused)
{
    begin();
    store(bytes + 48, 0, 4);
    CHECK_EQUAL(parse(), -EINVAL);
    begin();
    map_entry(0, 0, 0x1000, 2);
    map_entry(2, 0, 0x1000, 7);
    CHECK_EQUAL(parse(), -EINVAL);
    CHECK_CONTAINS(why.text, "no RAM");
}

TEST(module_that_wraps_is_refused)
{
    begin();
    store(bytes + MODULES_AT + 8, UINT64_MAX - 0x1000, 8);
    CHECK_EQUAL(parse(), -EINVAL);
    CHECK_CONTAINS(why.text, "wraps");
}

TEST(command_line_fits_exactly_or_is_refused)
{
    begin();
    memset(bytes + TEXT_AT, 'a', BOOT_COMMAND_LINE_BYTES - 1);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(strlen(info.command_line), BOOT_COMMAND_LINE_BYTES - 1);
    begin();
    memset(bytes + TEXT_AT, 'a', BOOT_COMMAND_LINE_BYTES);
    CHECK_EQUAL(parse(), -EINVAL);
    CHECK_CONTAINS(why.text, "too long");
}

TEST(long_module_names_are_cut)
{
    begin();
    memset(bytes + NAME_AT, 'n', 1000);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(strlen(info.modules[0].name), BOOT_MODULE_NAME_BYTES - 1);
}

int main(void)
{
    RUN(everything_the_hypervisor_tells_is_taken);
    RUN(absent_strings_and_modules_are_empty);
    RUN(module_without_text_has_an_empty_name);
    RUN(wrong_magic_and_version_are_refused);
    RUN(lying_pointers_are_refused);
    RUN(counts_beyond_reason_are_refused);
    RUN(map_without_ram_is_refused);
    RUN(module_that_wraps_is_refused);
    RUN(command_line_fits_exactly_or_is_refused);
    RUN(long_module_names_are_cut);
    return check_report("pvh");
}
