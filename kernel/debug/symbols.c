/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbols.c: see symbols.h. Source: "System V Application Binary Interface", chapter 4 (sections, symbol
 * table). Every offset and count of the file is checked against its length before it is used; all fields are
 * read byte by byte, so that the file may lie anywhere.
 */
#include "debug/symbols.h"
#include "lib/bytes.h"
#include "lib/kstring.h"

#define HEADER_BYTES   64
#define SECTION_BYTES  64
#define SYMBOL_BYTES   24
#define SECTION_SYMTAB 2
#define TYPE_NONE      0
#define TYPE_FUNCTION  2

/* A range of the file's bytes. */
struct byte_range {
    const uint8_t *at;
    uint64_t bytes;
};

/* Returns whether [offset, offset + bytes) is inside `whole`; then *out is that range. */
static bool range_within(struct byte_range whole, uint64_t offset, uint64_t bytes, struct byte_range *out)
{
    if (offset > whole.bytes || bytes > whole.bytes - offset)
        return false;
    *out = (struct byte_range){ whole.at + offset, bytes };
    return true;
}

static bool section_contents(struct byte_range file, const uint8_t *section, struct byte_range *out)
{
    return range_within(file, load_le64(section + 24), load_le64(section + 32), out);
}

/* Finds the symbol table and its names. */
static bool tables_find(struct byte_range file, struct byte_range *symbols, struct byte_range *names)
{
    struct byte_range sections;

    if (file.bytes < HEADER_BYTES || memcmp(file.at, "\177ELF\2\1", 6) != 0 ||
        load_le16(file.at + 58) != SECTION_BYTES)
        return false;

    uint16_t count = load_le16(file.at + 60);
    if (!range_within(file, load_le64(file.at + 40), (uint64_t)count * SECTION_BYTES, &sections))
        return false;
    for (unsigned i = 0; i < count; i++) {
        const uint8_t *section = sections.at + (uint64_t)i * SECTION_BYTES;
        uint32_t names_index = load_le32(section + 40);

        if (load_le32(section + 4) == SECTION_SYMTAB && load_le64(section + 56) == SYMBOL_BYTES &&
            names_index < count)
            return section_contents(file, section, symbols) &&
                   section_contents(file, sections.at + (uint64_t)names_index * SECTION_BYTES, names);
    }
    return false;
}

/* Rates a symbol: 0: not a candidate; 1: without a size, begins at or below the address; 2: contains it. */
static int symbol_fit(const uint8_t *symbol, uint64_t address)
{
    uint64_t value = load_le64(symbol + 8), size = load_le64(symbol + 16);
    unsigned type = symbol[4] & 15;

    if ((type != TYPE_FUNCTION && type != TYPE_NONE) || load_le16(symbol + 6) == 0 || value > address)
        return 0;
    if (size == 0)
        return 1;
    return address - value < size ? 2 : 0;
}

static bool name_copy(struct byte_range names, uint32_t offset, char *name)
{
    unsigned length = 0;

    for (uint64_t at = offset; at < names.bytes && names.at[at] && length < SYMBOL_NAME_BYTES - 1; at++)
        name[length++] = names.at[at] > ' ' && names.at[at] < 127 ? (char)names.at[at] : '?';
    name[length] = '\0';
    return length > 0;
}

bool symbol_find(const void *file, uint64_t bytes, uint64_t address, struct symbol *out)
{
    struct byte_range symbols, names;
    const uint8_t *best = NULL;
    int best_fit = 0;

    if (!tables_find((struct byte_range){ file, bytes }, &symbols, &names))
        return false;
    for (uint64_t at = 0; symbols.bytes - at >= SYMBOL_BYTES; at += SYMBOL_BYTES) {
        const uint8_t *symbol = symbols.at + at;
        int fit = symbol_fit(symbol, address);

        if (fit > best_fit || (fit && fit == best_fit && load_le64(symbol + 8) > load_le64(best + 8))) {
            best = symbol;
            best_fit = fit;
        }
    }
    if (!best || !name_copy(names, load_le32(best), out->name))
        return false;
    out->offset = address - load_le64(best + 8);
    return true;
}
