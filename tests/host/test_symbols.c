/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_symbols.c: the nearest symbol, in files as linkers make them (this test's own), and in lying ones.
 */
#include "check.h"
#include "simulated_memory.h"
#include "debug/symbols.h"
#include <stdlib.h>
#include <string.h>

#define SECTIONS 256
#define SYMBOLS  512
#define NAMES    1024
#define BYTES    2048

static uint8_t file[BYTES];
static struct symbol found;
static unsigned symbol_count, name_bytes;

static void section(unsigned index, uint32_t type, uint64_t offset, uint64_t bytes, uint32_t link,
                    uint64_t entry)
{
    uint8_t *at = file + SECTIONS + index * 64;

    store(at + 4, type, 4);
    store(at + 24, offset, 8);
    store(at + 32, bytes, 8);
    store(at + 40, link, 4);
    store(at + 56, entry, 8);
}

static void symbol(const char *name, unsigned type, unsigned where, uint64_t value, uint64_t size)
{
    uint8_t *at = file + SYMBOLS + 24 * symbol_count++;

    store(at, name_bytes, 4);
    store(at + 4, type, 1);
    store(at + 6, where, 2);
    store(at + 8, value, 8);
    store(at + 16, size, 8);
    memcpy(file + NAMES + name_bytes, name, strlen(name) + 1);
    name_bytes += (unsigned)strlen(name) + 1;
    section(1, 2, SYMBOLS, 24 * symbol_count, 2, 24);
    section(2, 3, NAMES, name_bytes, 0, 0);
}

/* Begins with three sections: a function of 0x40 bytes at 0x1000, a label, data, a function elsewhere. */
static void begin(void)
{
    memset(file, 0, sizeof(file));
    memcpy(file,
           "\x7f"
           "ELF\2\1\1",
           7);
    store(file + 40, SECTIONS, 8);
    store(file + 58, 64, 2);
    store(file + 60, 3, 2);
    symbol_count = name_bytes = 0;
    symbol("", 0, 0, 0, 0);
    symbol("compute", 2, 1, 0x1000, 0x40);
    symbol("label", 0, 1, 0x1080, 0);
    symbol("variable", 1, 1, 0x1100, 0x1000);
    symbol("elsewhere", 2, 0, 0x1090, 0x1000);
}

static bool find(uint64_t address)
{
    /* On the heap, in exactly its bytes: a read beyond them is noticed. */
    uint8_t *copy = malloc(BYTES);
    memcpy(copy, file, BYTES);
    bool is = symbol_find(copy, BYTES, address, &found);
    free(copy);
    return is;
}

TEST(a_function_holds_its_addresses_and_no_more)
{
    begin();
    CHECK(find(0x1000));
    CHECK_TEXT(found.name, "compute");
    CHECK_EQUAL(found.offset, 0);
    CHECK(find(0x103f));
    CHECK_TEXT(found.name, "compute");
    CHECK_EQUAL(found.offset, 0x3f);
    CHECK(!find(0x1040));
    CHECK(!find(0xfff));
}

TEST(a_label_reaches_to_whatever_comes_but_not_into_a_function)
{
    begin();
    CHECK(find(0x1234));
    CHECK_TEXT(found.name, "label");
    CHECK_EQUAL(found.offset, 0x1b4);
    symbol("inside", 0, 1, 0x1020, 0);
    CHECK(find(0x1030));
    CHECK_TEXT(found.name, "compute");
}

TEST(names_are_cut_and_cannot_harm_a_terminal)
{
    char name[300];

    begin();
    memset(name, 'n', sizeof(name));
    name[sizeof(name) - 1] = 0;
    memcpy(name, "a\033[2J\n b", 8);
    symbol(name, 2, 1, 0x5000, 0x10);
    CHECK(find(0x5001));
    CHECK_EQUAL(strlen(found.name), SYMBOL_NAME_BYTES - 1);
    CHECK(strncmp(found.name, "a?[2J??bnnn", 11) == 0);
}

TEST(this_program_s_own_function_is_found)
{
    extern const char __executable_start[];
    static uint8_t own[64 << 20];
    FILE *self = fopen("/proc/self/exe", "rb");
    size_t bytes = self ? fread(own, 1, sizeof(own), self) : 0;
    uint64_t linked_at = own[16] == 3 ? 0 : (uint64_t)__executable_start;
    uint64_t address =
        (uint64_t)this_program_s_own_function_is_found - (uint64_t)__executable_start + linked_at;

    CHECK(bytes > 0 && bytes < sizeof(own));
    CHECK(symbol_find(own, bytes, address + 5, &found));
    CHECK_TEXT(found.name, "this_program_s_own_function_is_found");
    CHECK_EQUAL(found.offset, 5);
    if (self)
        fclose(self);
}

TEST(a_file_that_lies_is_a_file_without_symbols)
{
    static const struct {
        unsigned at, bytes;
        uint64_t value;
    } lies[] = {
        { 0, 1, 0 },                 /* no ELF */
        { 4, 1, 1 },                 /* 32 bits */
        { 40, 8, UINT64_MAX - 10 },  /* the sections lie nowhere */
        { 40, 8, BYTES - 64 },       /* and not all of them in the file */
        { 58, 2, 63 },               /* of another length */
        { 60, 2, 0 },                /* there are none */
        { SECTIONS + 64 + 4, 4, 3 }, /* none has symbols */
        { SECTIONS + 64 + 24, 8, BYTES },
        { SECTIONS + 64 + 24, 8, UINT64_MAX }, /* they lie nowhere */
        { SECTIONS + 64 + 32, 8, UINT64_MAX }, /* too many */
        { SECTIONS + 64 + 40, 4, 3 },
        { SECTIONS + 64 + 40, 4, UINT32_MAX }, /* names of no section */
        { SECTIONS + 64 + 56, 8, 23 },         /* of another length */
        { SECTIONS + 128 + 24, 8, UINT64_MAX },
        { SECTIONS + 128 + 32, 8, BYTES }, /* names that lie nowhere */
        { SYMBOLS + 24, 4, UINT32_MAX },
        { SYMBOLS + 24, 4, 4000 }, /* a name beyond them */
    };

    for (unsigned i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        begin();
        CHECK(find(0x1000));
        store(file + lies[i].at, lies[i].value, lies[i].bytes);
        CHECK(!find(0x1000));
    }
    for (unsigned bytes = 0; bytes < SYMBOLS; bytes++) {
        begin();
        uint8_t *cut = malloc(bytes + 1);
        memcpy(cut, file, bytes);
        CHECK(!symbol_find(cut, bytes, 0x1000, &found));
        free(cut);
    }
}

TEST(names_end_where_their_section_does)
{
    begin();
    section(2, 3, NAMES, 4, 0, 0); /* "", "com" */
    CHECK(find(0x1000));
    CHECK_TEXT(found.name, "com");
}

int main(void)
{
    RUN(a_function_holds_its_addresses_and_no_more);
    RUN(a_label_reaches_to_whatever_comes_but_not_into_a_function);
    RUN(names_are_cut_and_cannot_harm_a_terminal);
    RUN(this_program_s_own_function_is_found);
    RUN(a_file_that_lies_is_a_file_without_symbols);
    RUN(names_end_where_their_section_does);
    return check_report("symbols");
}
