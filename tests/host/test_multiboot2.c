/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_multiboot2.c: information structures as GRUB writes them, and broken ones.
 */
#include "arch/boot_protocol.h"
#include "check.h"
#include "lib/errno.h"
#include "simulated_memory.h"

static uint8_t bytes[SIMULATED_BYTES];
static uint32_t used;
static struct boot_info info;
static struct message why;

static void begin(void)
{
    memset(bytes, 0, sizeof(bytes));
    used = 8;
}

/* Appends a tag's header; answers where its content goes. */
static uint8_t *tag(uint32_t type, uint32_t content_bytes)
{
    uint8_t *at = bytes + used;

    store(at, type, 4);
    store(at + 4, content_bytes + 8, 4);
    used += (content_bytes + 15) / 8 * 8;
    return at + 8;
}

static void tag_text(uint32_t type, const char *text)
{
    memcpy(tag(type, (uint32_t)strlen(text) + 1), text, strlen(text) + 1);
}

static void tag_map(const uint64_t (*entries)[3], uint32_t count)
{
    uint8_t *at = tag(6, 8 + count * 24);

    store(at, 24, 4);
    for (uint32_t i = 0; i < count; i++) {
        store(at + 8 + i * 24, entries[i][0], 8);
        store(at + 16 + i * 24, entries[i][1], 8);
        store(at + 24 + i * 24, entries[i][2], 4);
    }
}

static void tag_plain_map(void)
{
    static const uint64_t map[][3] = { { 0x100000, 0x4000000, 1 } };

    tag_map(map, 1);
}

static int parse_readable(uint64_t readable)
{
    struct simulated_memory memory = { SIMULATED_BASE, readable, bytes };

    return multiboot2_parse(SIMULATED_BASE, simulated_read, &memory, &info, &why);
}

static int parse(void)
{
    tag(0, 0);
    store(bytes, used, 4);
    return parse_readable(used);
}

TEST(everything_grub_tells_is_taken)
{
    static const uint64_t map[][3] = {
        { 0, 0x9fc00, 1 },         { 0x9fc00, 0x400, 2 },      { 0x100000, 0x7ee0000, 1 },
        { 0x7fe0000, 0x20000, 3 }, { 0xfffc0000, 0x40000, 2 },
    };

    begin();
    tag_text(1, "app=/bin/ftq ranks=2");
    tag_text(2, "GRUB 2.06");
    uint8_t *module = tag(3, 8 + 12);
    store(module, 0x9000, 4);
    store(module + 4, 0xa234, 4);
    memcpy(module + 8, "initrd.cpio", 12);
    tag_map(map, 5);
    uint8_t *screen = tag(8, 24);
    store(screen, 0xb8000, 8);
    store(screen + 8, 160, 4);
    store(screen + 12, 80, 4);
    store(screen + 16, 25, 4);
    screen[20] = 16;
    screen[21] = 2;
    memcpy(tag(14, 20), "RSD PTR old         ", 20);
    memcpy(tag(15, 36), "RSD PTR new                         ", 36);
    CHECK_EQUAL(parse(), 0);
    CHECK_TEXT(info.protocol, "multiboot2");
    CHECK_TEXT(info.command_line, "app=/bin/ftq ranks=2");
    CHECK_EQUAL(info.module_count, 1);
    CHECK_EQUAL(info.modules[0].range.base, 0x9000);
    CHECK_EQUAL(info.modules[0].range.bytes, 0x1234);
    CHECK_TEXT(info.modules[0].name, "initrd.cpio");
    CHECK_EQUAL(info.usable_count, 2);
    CHECK_EQUAL(info.usable[1].bytes, 0x7ee0000);
    CHECK_EQUAL(info.reserved_count, 3);
    CHECK_EQUAL(info.reserved[1].base, 0x7fe0000);
    CHECK_EQUAL(info.text_screen.address, 0xb8000);
    CHECK_EQUAL(info.text_screen.columns, 80);
    CHECK_EQUAL(info.text_screen.rows, 25);
    CHECK(memcmp(bytes + (info.rsdp - SIMULATED_BASE), "RSD PTR new", 11) == 0);
    CHECK(!info.efi);
}

TEST(new_acpi_pointer_wins_whatever_the_order)
{
    begin();
    memcpy(tag(15, 36), "RSD PTR new                         ", 36);
    memcpy(tag(14, 20), "RSD PTR old         ", 20);
    tag_plain_map();
    CHECK_EQUAL(parse(), 0);
    CHECK(memcmp(bytes + (info.rsdp - SIMULATED_BASE), "RSD PTR new", 11) == 0);
}

TEST(uefi_start_is_recognised)
{
    begin();
    tag(12, 8);
    tag_plain_map();
    CHECK_EQUAL(parse(), 0);
    CHECK(info.efi);
    CHECK_EQUAL(info.text_screen.address, 0);
}

TEST(graphics_modes_are_no_text_screen_but_a_framebuffer_as_it_is_described)
{
    static const uint8_t colours[] = { 16, 8, 8, 7, 0, 6 };

    begin();
    uint8_t *screen = tag(8, 30);
    store(screen, 0x80000000, 8);
    store(screen + 8, 3200, 4);
    store(screen + 12, 800, 4);
    store(screen + 16, 600, 4);
    screen[20] = 32;
    screen[21] = 1;
    memcpy(screen + 24, colours, sizeof(colours));
    tag_plain_map();
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(info.text_screen.address, 0);
    CHECK_EQUAL(info.framebuffer.kind, FRAMEBUFFER_DIRECT);
    CHECK_EQUAL(info.framebuffer.address, 0x80000000);
    CHECK_EQUAL(info.framebuffer.pitch, 3200);
    CHECK_EQUAL(info.framebuffer.width, 800);
    CHECK_EQUAL(info.framebuffer.height, 600);
    CHECK_EQUAL(info.framebuffer.bits, 32);
    CHECK_EQUAL(info.framebuffer.red.position, 16);
    CHECK_EQUAL(info.framebuffer.green.position, 8);
    CHECK_EQUAL(info.framebuffer.green.bits, 7);
    CHECK_EQUAL(info.framebuffer.blue.bits, 6);
    screen[21] = 0;
    CHECK_EQUAL(parse_readable(used), 0);
    CHECK_EQUAL(info.framebuffer.kind, FRAMEBUFFER_INDEXED);
    screen[21] = 7;
    CHECK_EQUAL(parse_readable(used), 0);
    CHECK_EQUAL(info.framebuffer.kind, FRAMEBUFFER_UNKNOWN);
}

TEST(a_framebuffer_without_its_colours_is_named)
{
    begin();
    tag(8, 24)[21] = 1;
    tag_plain_map();
    CHECK_EQUAL(parse(), -EINVAL);
    CHECK_TEXT(why.text, "multiboot2: framebuffer tag at offset 8 has only 32 bytes");
}

TEST(unknown_tags_are_skipped)
{
    begin();
    tag_text(4711, "odd length");
    tag_plain_map();
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(info.usable_count, 1);
}

TEST(missing_memory_map_is_refused)
{
    begin();
    tag_text(1, "x");
    CHECK_EQUAL(parse(), -EINVAL);
    CHECK_CONTAINS(why.text, "memory map");
}

TEST(map_with_larger_entries_is_read)
{
    begin();
    uint8_t *at = tag(6, 8 + 2 * 32);
    store(at, 32, 4);
    store(at + 8, 0x100000, 8);
    store(at + 16, 0x100000, 8);
    store(at + 24, 1, 4);
    store(at + 40, 0x400000, 8);
    store(at + 48, 0x100000, 8);
    store(at + 56, 1, 4);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(info.usable_count, 2);
    CHECK_EQUAL(info.usable[1].base, 0x400000);
}

TEST(broken_map_entry_sizes_are_refused)
{
    static const uint32_t sizes[] = { 0, 1, 16, 23, 25, 0xffffffff };

    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        begin();
        store(tag(6, 8 + 24), sizes[i], 4);
        CHECK_EQUAL(parse(), -EINVAL);
        CHECK_CONTAINS(why.text, "memory map at offset 8");
    }
}

TEST(usable_ranges_beyond_the_table_are_counted)
{
    uint64_t map[BOOT_RANGES_MAX + 5][3];

    for (unsigned i = 0; i < BOOT_RANGES_MAX + 5; i++) {
        map[i][0] = i * 0x20000;
        map[i][1] = 0x10000;
        map[i][2] = 1;
    }
    begin();
    tag_map((const uint64_t(*)[3])map, BOOT_RANGES_MAX + 5);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(info.usable_count, BOOT_RANGES_MAX);
    CHECK_EQUAL(info.ranges_dropped, 5);
}

TEST(reserved_ranges_are_never_forgotten)
{
    uint64_t map[BOOT_RANGES_MAX + 2][3];

    for (unsigned i = 0; i < BOOT_RANGES_MAX + 2; i++) {
        map[i][0] = i * 0x20000;
        map[i][1] = 0x10000;
        map[i][2] = i ? 2 : 1;
    }
    begin();
    tag_map((const uint64_t(*)[3])map, BOOT_RANGES_MAX + 2);
    CHECK_EQUAL(parse(), -EINVAL);
    CHECK_CONTAINS(why.text, "reserved ranges");
}

TEST(neighbouring_entries_are_merged)
{
    static const uint64_t map[][3] = {
        { 0x100000, 0x1000, 1 },
        { 0x101000, 0x1000, 1 },
        { 0xfffffffffffff000, 0x1000, 1 },
        { 0, 0x1000, 1 },
    };

    begin();
    tag_map(map, 4);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(info.usable_count, 3);
    CHECK_EQUAL(info.usable[0].bytes, 0x2000);
}

TEST(too_long_command_line_is_refused_and_the_longest_taken)
{
    static char text[BOOT_COMMAND_LINE_BYTES + 1];

    memset(text, 'a', sizeof(text));
    text[BOOT_COMMAND_LINE_BYTES] = '\0';
    begin();
    tag_plain_map();
    tag_text(1, text);
    CHECK_EQUAL(parse(), -EINVAL);
    CHECK_CONTAINS(why.text, "command line");
    begin();
    tag_plain_map();
    tag_text(1, text + 1);
    CHECK_EQUAL(parse(), 0);
    CHECK_TEXT(info.command_line, text + 1);
}

TEST(command_line_without_end_is_refused)
{
    begin();
    tag_plain_map();
    memcpy(tag(1, 4), "abcd", 4);
    CHECK_EQUAL(parse(), -EINVAL);
    CHECK_CONTAINS(why.text, "NUL");
}

TEST(module_that_ends_before_it_starts_is_refused)
{
    begin();
    uint8_t *module = tag(3, 9);
    store(module, 0x2000, 4);
    store(module + 4, 0x1fff, 4);
    tag_plain_map();
    CHECK_EQUAL(parse(), -EINVAL);
    CHECK_CONTAINS(why.text, "before its start");
}

TEST(too_many_modules_are_refused)
{
    begin();
    for (int i = 0; i <= BOOT_MODULES_MAX; i++)
        tag(3, 9);
    tag_plain_map();
    CHECK_EQUAL(parse(), -EINVAL);
    CHECK_CONTAINS(why.text, "modules");
}

TEST(long_module_names_are_cut)
{
    begin();
    memset(tag(3, 8 + 300) + 8, 'n', 300);
    tag_plain_map();
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(strlen(info.modules[0].name), BOOT_MODULE_NAME_BYTES - 1);
}

TEST(every_truncation_is_refused)
{
    begin();
    tag_text(1, "app=x");
    tag_plain_map();
    CHECK_EQUAL(parse(), 0);
    uint32_t whole = used;
    for (uint32_t readable = 0; readable < whole; readable++)
        CHECK_EQUAL(parse_readable(readable), -EINVAL);
    for (uint32_t claimed = 0; claimed < whole; claimed++) {
        store(bytes, claimed, 4);
        CHECK_EQUAL(parse_readable(whole), -EINVAL);
    }
}

TEST(tags_that_reach_out_are_refused)
{
    static const uint32_t sizes[] = { 0, 7, 1000, 0x7fffffff, 0xfffffff8, 0xffffffff };

    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        begin();
        tag_plain_map();
        store(tag(1, 8) - 4, sizes[i], 4);
        CHECK_EQUAL(parse(), -EINVAL);
        CHECK_CONTAINS(why.text, "claims");
    }
}

int main(void)
{
    RUN(everything_grub_tells_is_taken);
    RUN(new_acpi_pointer_wins_whatever_the_order);
    RUN(uefi_start_is_recognised);
    RUN(graphics_modes_are_no_text_screen_but_a_framebuffer_as_it_is_described);
    RUN(a_framebuffer_without_its_colours_is_named);
    RUN(unknown_tags_are_skipped);
    RUN(missing_memory_map_is_refused);
    RUN(map_with_larger_entries_is_read);
    RUN(broken_map_entry_sizes_are_refused);
    RUN(usable_ranges_beyond_the_table_are_counted);
    RUN(reserved_ranges_are_never_forgotten);
    RUN(neighbouring_entries_are_merged);
    RUN(too_long_command_line_is_refused_and_the_longest_taken);
    RUN(command_line_without_end_is_refused);
    RUN(module_that_ends_before_it_starts_is_refused);
    RUN(too_many_modules_are_refused);
    RUN(long_module_names_are_cut);
    RUN(every_truncation_is_refused);
    RUN(tags_that_reach_out_are_refused);
    return check_report("multiboot2");
}
