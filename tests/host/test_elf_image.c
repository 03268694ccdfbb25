/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_elf_image.c: programs as linkers make them, and all that elf_parse promises to refuse.
 */
#include "check.h"
#include "lib/elf_image.h"
#include "lib/errno.h"
#include "simulated_memory.h"

#define MACHINE 62
#define LIMIT   0x800000000000ull
#define PAGE    4096

static uint8_t file[4 * PAGE];
static struct elf_image image;
static struct message why;

static uint8_t *header(unsigned index)
{
    return file + 64 + index * 56;
}

static void segment(unsigned index, uint32_t type, uint32_t flags, uint64_t offset, uint64_t address,
                    uint64_t file_bytes, uint64_t memory_bytes)
{
    uint8_t *at = header(index);

    store(at, type, 4);
    store(at + 4, flags, 4);
    store(at + 8, offset, 8);
    store(at + 16, address, 8);
    store(at + 24, address, 8);
    store(at + 32, file_bytes, 8);
    store(at + 40, memory_bytes, 8);
    store(at + 48, PAGE, 8);
}

/* Begins with segments R, RX, RW with zeroes after its bytes, and a stack that is not executable. */
static void begin(void)
{
    memset(file, 0, sizeof(file));
    memcpy(file,
           "\x7f"
           "ELF\2\1\1",
           7);
    store(file + 16, 2, 2);
    store(file + 18, MACHINE, 2);
    store(file + 20, 1, 4);
    store(file + 24, 0x401010, 8);
    store(file + 32, 64, 8);
    store(file + 52, 64, 2);
    store(file + 54, 56, 2);
    store(file + 56, 4, 2);
    segment(0, 1, 4, 0, 0x400000, 0x500, 0x500);
    segment(1, 1, 5, PAGE, 0x401000, 0x800, 0x800);
    segment(2, 1, 6, 2 * PAGE + 0x10, 0x402010, 0x100, 0x2345);
    segment(3, 0x6474e551, 6, 0, 0, 0, 0);
}

static int parse_bytes(uint64_t bytes)
{
    why.text[0] = '\0';
    return elf_parse(file, bytes, MACHINE, LIMIT, &image, &why);
}

static int parse(void)
{
    return parse_bytes(sizeof(file));
}

static void refused(const char *reason)
{
    CHECK_EQUAL(parse(), -ENOEXEC);
    CHECK_CONTAINS(why.text, reason);
}

TEST(ordinary_static_program_is_taken)
{
    begin();
    CHECK_EQUAL(parse(), 0);
    CHECK(!image.position_independent);
    CHECK_EQUAL(image.entry, 0x401010);
    CHECK_EQUAL(image.low, 0x400000);
    CHECK_EQUAL(image.high, 0x405000);
    CHECK_EQUAL(image.alignment, PAGE);
    CHECK_EQUAL(image.segment_count, 3);
    CHECK_EQUAL(image.segments[1].rights, RIGHT_READ | RIGHT_EXECUTE);
    CHECK_EQUAL(image.segments[2].rights, RIGHT_READ | RIGHT_WRITE);
    CHECK_EQUAL(image.segments[2].file_bytes, 0x100);
    CHECK_EQUAL(image.segments[2].memory_bytes, 0x2345);
    CHECK_EQUAL(image.headers_address, 0x400040);
    CHECK_EQUAL(image.header_count, 4);
    CHECK_EQUAL(image.header_bytes, 56);
}

TEST(static_pie_may_begin_at_zero_and_keeps_its_alignment)
{
    begin();
    store(file + 16, 3, 2);
    store(file + 24, 0x1010, 8);
    segment(0, 1, 4, 0, 0, 0x500, 0x500);
    segment(1, 1, 5, PAGE, 0x1000, 0x800, 0x800);
    segment(2, 1, 6, 2 * PAGE + 0x10, 0x2010, 0x100, 0x2345);
    store(header(1) + 48, 2 << 20, 8);
    CHECK_EQUAL(parse(), 0);
    CHECK(image.position_independent);
    CHECK_EQUAL(image.low, 0);
    CHECK_EQUAL(image.alignment, 2 << 20);
    CHECK_EQUAL(image.headers_address, 0x40);
}

TEST(segments_come_out_in_ascending_order)
{
    begin();
    segment(2, 1, 4, 0, 0x400000, 0x500, 0x500);
    segment(0, 1, 6, 2 * PAGE + 0x10, 0x402010, 0x100, 0x2345);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(image.segments[0].address, 0x400000);
    CHECK_EQUAL(image.segments[2].address, 0x402010);
}

TEST(segments_may_share_a_page_but_no_byte)
{
    begin();
    segment(2, 1, 6, 0x1800, 0x401800, 0x100, 0x100);
    CHECK_EQUAL(parse(), 0);
    segment(2, 1, 6, 0x17ff, 0x4017ff, 0x100, 0x100);
    refused("overlap");
    segment(2, 1, 6, PAGE, 0x401000, 0x100, 0x100);
    refused("overlap");
}

TEST(empty_segments_are_skipped)
{
    begin();
    segment(2, 1, 6, PAGE + 1, 0, 0, 0);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(image.segment_count, 2);
}

TEST(headers_outside_of_segments_have_no_address)
{
    begin();
    segment(0, 1, 4, 3 * PAGE, 0x400000, 0x500, 0x500);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(image.headers_address, 0);
    begin();
    segment(0, 1, 4, 0, 0x400000, 64 + 4 * 56 - 1, 0x500);
    CHECK_EQUAL(parse(), 0);
    CHECK_EQUAL(image.headers_address, 0);
}

TEST(other_files_are_refused_by_name)
{
    static const struct {
        const char *bytes, *name;
    } files[] = {
        { "#!/bin/sh\n", "script" },
        { "070701", "cpio" },
        { "!<arch>\n", "library" },
        { "\x1f\x8b\x08", "gzip" },
        { "hello", "not an ELF" },
        { "", "empty" },
        { "\x7f"
          "ELG",
          "not an ELF" },
    };

    for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        CHECK_EQUAL(elf_parse(files[i].bytes, strlen(files[i].bytes), MACHINE, LIMIT, &image, &why),
                    -ENOEXEC);
        CHECK_CONTAINS(why.text, files[i].name);
    }
}

TEST(wrong_class_order_and_machine_are_refused)
{
    begin();
    file[4] = 1;
    refused("a 32-bit program for x86_64; this node is x86_64: compile for 64 bits");
    begin();
    file[5] = 2;
    store(file + 18, 21 << 8, 2);
    refused("a program for big-endian 64-bit PowerPC; this node is x86_64, little-endian");
    begin();
    store(file + 18, 183, 2);
    refused("a program for AArch64; this node is x86_64");
    begin();
    store(file + 18, 999, 2);
    refused("unknown");
}

TEST(only_the_second_abi_of_power_runs)
{
    begin();
    store(file + 18, 21, 2);
    for (unsigned abi = 0; abi < 4; abi++) {
        store(file + 48, abi, 4);
        CHECK_EQUAL(elf_parse(file, sizeof(file), 21, LIMIT, &image, &why), abi == 1 ? -ENOEXEC : 0);
    }
    store(file + 48, 1, 4);
    elf_parse(file, sizeof(file), 21, LIMIT, &image, &why);
    CHECK_CONTAINS(why.text, "ELFv1; compile for ELFv2");
}

TEST(files_that_are_no_programs_are_refused)
{
    begin();
    store(file + 16, 1, 2);
    refused("object file");
    begin();
    store(file + 16, 4, 2);
    refused("core file");
    begin();
    store(file + 16, 77, 2);
    refused("file type 77");
}

TEST(dynamic_programs_are_refused_with_the_remedy)
{
    begin();
    segment(3, 3, 4, 0x300, 0x400300, 28, 28);
    refused("link with -static");
}

TEST(this_test_is_a_dynamic_program)
{
    static uint8_t whole[32 << 20];
    FILE *stream = fopen("/proc/self/exe", "rb");

    if (!CHECK(stream != NULL))
        return;
    size_t bytes = fread(whole, 1, sizeof(whole), stream);
    fclose(stream);
    CHECK_EQUAL(elf_parse(whole, bytes, (uint16_t)(whole[18] | whole[19] << 8), LIMIT, &image, &why),
                -ENOEXEC);
    CHECK_CONTAINS(why.text, "link with -static");
}

TEST(only_a_header_of_the_stack_asks_for_an_executable_one)
{
    begin();
    CHECK_EQUAL(parse(), 0);
    CHECK(!image.executable_stack && image.has_stack_header);
    store(header(3) + 4, 7, 4);
    CHECK_EQUAL(parse(), 0);
    CHECK(image.executable_stack && image.has_stack_header);
    store(header(3), 4, 4); /* a note: no such header, as of an assembler's file without one */
    CHECK_EQUAL(parse(), 0);
    CHECK(!image.executable_stack && !image.has_stack_header);
}

TEST(writable_code_is_refused)
{
    begin();
    store(header(2) + 4, 7, 4);
    refused("writable and executable");
}

TEST(truncations_are_refused_with_their_place)
{
    begin();
    for (uint64_t bytes = 0; bytes < 2 * PAGE + 0x110; bytes++)
        CHECK_EQUAL(parse_bytes(bytes), -ENOEXEC);
    CHECK_EQUAL(parse_bytes(2 * PAGE + 0x110), 0);
    CHECK_EQUAL(parse_bytes(2 * PAGE + 0x10f), -ENOEXEC);
    CHECK_CONTAINS(why.text, "truncated in segment 2");
    CHECK_EQUAL(parse_bytes(100), -ENOEXEC);
    CHECK_CONTAINS(why.text, "truncated in the program headers");
    CHECK_EQUAL(parse_bytes(63), -ENOEXEC);
    CHECK_CONTAINS(why.text, "truncated in the header");
}

TEST(segments_outside_of_the_address_space_are_refused)
{
    static const uint64_t addresses[] = { LIMIT - 0x1ff0, LIMIT + 0x10, UINT64_MAX - 0xfef,
                                          UINT64_MAX - 0x2fef };

    for (unsigned i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        begin();
        store(header(2) + 16, addresses[i], 8);
        refused("is not below");
    }
    begin();
    store(header(2) + 40, UINT64_MAX, 8);
    refused("is not below");
}

TEST(last_byte_below_the_limit_may_be_used)
{
    begin();
    store(header(2) + 16, LIMIT - 0x2ff0, 8);
    store(header(2) + 40, 0x2ff0, 8);
    CHECK_EQUAL(parse(), 0);
    CHECK(image.high == LIMIT);
}

TEST(page_zero_is_refused)
{
    begin();
    store(header(0) + 16, 0, 8);
    refused("page zero");
}

TEST(misaligned_segments_are_refused)
{
    begin();
    store(header(2) + 16, 0x402018, 8);
    refused("modulo a page");
    begin();
    store(header(2) + 48, 3 * PAGE, 8);
    refused("power of two");
    begin();
    store(header(2) + 48, 1ull << 40, 8);
    refused("is above");
}

TEST(more_in_the_file_than_in_memory_is_refused)
{
    begin();
    store(header(2) + 40, 0xff, 8);
    refused("in the file, but");
}

TEST(entries_outside_of_code_are_refused)
{
    static const uint64_t entries[] = { 0, 0x400010, 0x401800, 0x402010, UINT64_MAX };

    for (unsigned i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        begin();
        store(file + 24, entries[i], 8);
        refused("no executable segment");
    }
}

TEST(program_headers_of_other_shape_are_refused)
{
    begin();
    store(file + 54, 32, 2);
    refused("program headers of 32 bytes");
    begin();
    store(file + 56, 0, 2);
    refused("no program headers");
    begin();
    store(file + 32, UINT64_MAX - 8, 8);
    refused("truncated in the program headers");
}

TEST(programs_without_anything_to_load_are_refused)
{
    begin();
    for (unsigned i = 0; i < 3; i++)
        store(header(i), 4, 4);
    refused("no loadable segment");
}

TEST(too_many_segments_are_refused)
{
    begin();
    store(file + 56, ELF_SEGMENTS_MAX + 1, 2);
    for (unsigned i = 0; i <= ELF_SEGMENTS_MAX; i++)
        segment(i, 1, 5, PAGE, 0x401000 + i * PAGE, 16, 32);
    refused("more than 32");
    store(file + 56, ELF_SEGMENTS_MAX, 2);
    CHECK_EQUAL(parse(), 0);
}

int main(void)
{
    RUN(ordinary_static_program_is_taken);
    RUN(static_pie_may_begin_at_zero_and_keeps_its_alignment);
    RUN(segments_come_out_in_ascending_order);
    RUN(segments_may_share_a_page_but_no_byte);
    RUN(empty_segments_are_skipped);
    RUN(headers_outside_of_segments_have_no_address);
    RUN(other_files_are_refused_by_name);
    RUN(wrong_class_order_and_machine_are_refused);
    RUN(only_the_second_abi_of_power_runs);
    RUN(files_that_are_no_programs_are_refused);
    RUN(dynamic_programs_are_refused_with_the_remedy);
    RUN(this_test_is_a_dynamic_program);
    RUN(only_a_header_of_the_stack_asks_for_an_executable_one);
    RUN(writable_code_is_refused);
    RUN(truncations_are_refused_with_their_place);
    RUN(segments_outside_of_the_address_space_are_refused);
    RUN(last_byte_below_the_limit_may_be_used);
    RUN(page_zero_is_refused);
    RUN(misaligned_segments_are_refused);
    RUN(more_in_the_file_than_in_memory_is_refused);
    RUN(entries_outside_of_code_are_refused);
    RUN(program_headers_of_other_shape_are_refused);
    RUN(programs_without_anything_to_load_are_refused);
    RUN(too_many_segments_are_refused);
    return check_report("elf_image");
}
