/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_image.c: an ELF file checked and reduced to what loading needs (elf_image.h).
 *
 * Source: "System V Application Binary Interface", chapters 4 (object files) and 5 (program loading). Section
 * headers are not looked at: nothing in them matters to a program that runs. The headers are read byte by
 * byte, so the file may lie anywhere. Portable C; any context; owns nothing.
 */
#include "lib/elf_image.h"
#include "arch/platform.h"
#include "lib/bytes.h"
#include "lib/errno.h"
#include "lib/kstring.h"

#define PAGE         ARCH_PAGE
#define HEADER_BYTES 64

#define CLASS_64      2
#define LITTLE_ENDIAN 1
#define TYPE_OBJECT   1
#define TYPE_PROGRAM  2
#define TYPE_DYNAMIC  3
#define TYPE_CORE     4

#define SEGMENT_LOAD        1
#define SEGMENT_INTERPRETER 3
#define SEGMENT_STACK       0x6474e551u
#define FLAG_EXECUTE        1
#define FLAG_WRITE          2
#define FLAG_READ           4

/* Of the header's flags [OpenPOWER ELF V2 ABI §4.1]. */
#define MACHINE_PPC64 21
#define PPC64_ABI     3
#define PPC64_ABI_1   1

struct file {
    const uint8_t *at;
    uint64_t bytes;
    uint64_t headers_offset;
    unsigned header_count;
    uint64_t address_limit;
};

/* As in the file. */
struct program_header {
    uint32_t type, flags;
    uint64_t offset, address, physical_address, file_bytes, memory_bytes, alignment;
};
#define PROGRAM_HEADER_BYTES 56
_Static_assert(sizeof(struct program_header) == PROGRAM_HEADER_BYTES, "it is copied from the file");

static const struct file_magic foreign_files[] = {
    { "#!", 2, "it is a script; only ELF programs run" },
    { "07070", 5, "it is a cpio archive; name the program inside with app=" },
    { "!<arch>", 7, "it is a static library" },
    { "\x1f\x8b", 2, "it is gzip data; unpack it" },
    { "\xfd\x37zXZ", 5, "it is xz data; unpack it" },
    { "\x28\xb5\x2f\xfd", 4, "it is zstd data; unpack it" },
    { "MZ", 2, "it is a Windows or EFI program" },
};

static const struct {
    uint16_t number;
    const char *name;
} machines[] = {
    { 3, "i386" },
    { 20, "32-bit PowerPC" },
    { MACHINE_PPC64, "64-bit PowerPC" },
    { 22, "s390x" },
    { 40, "ARM" },
    { 62, "x86_64" },
    { 183, "AArch64" },
    { 243, "RISC-V" },
};

static const char *machine_name(uint16_t number)
{
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
        if (machines[i].number == number)
            return machines[i].name;
    return "a machine unknown here";
}

static int refuse_foreign(const void *file, uint64_t bytes, struct message *why)
{
    const char *hint =
        file_magic_find(foreign_files, sizeof(foreign_files) / sizeof(foreign_files[0]), file, bytes);

    if (hint)
        return message_set(why, -ENOEXEC, "not an ELF file: %s", hint);
    return message_set(why, -ENOEXEC, bytes == 0 ? "not an ELF file: it is empty" : "not an ELF file");
}

static int check_type(uint16_t type, struct message *why)
{
    switch (type) {
    case TYPE_PROGRAM:
    case TYPE_DYNAMIC:
        return 0;
    case TYPE_OBJECT:
        return message_set(why, -ENOEXEC, "ELF: an object file; link it into a program");
    case TYPE_CORE:
        return message_set(why, -ENOEXEC, "ELF: a core file, not a program");
    default:
        return message_set(why, -ENOEXEC, "ELF: file type %u is not a program", type);
    }
}

/* Checks what the first 64 bytes say. */
static int check_header(const uint8_t *at, uint64_t bytes, uint16_t machine, struct message *why)
{
    if (!bytes_begin_with(at, bytes, "\177ELF", 4))
        return refuse_foreign(at, bytes, why);
    if (bytes < HEADER_BYTES)
        return message_set(why, -ENOEXEC, "ELF: truncated in the header: %lu bytes of %d", bytes,
                           HEADER_BYTES);
    const uint16_t number = at[5] == LITTLE_ENDIAN ? load_le16(at + 18) : load_be16(at + 18);
    if (at[4] != CLASS_64)
        return message_set(why, -ENOEXEC,
                           "ELF: a 32-bit program for %s; this node is %s: compile for 64 bits",
                           machine_name(number), machine_name(machine));
    if (at[5] != LITTLE_ENDIAN)
        return message_set(why, -ENOEXEC, "ELF: a program for big-endian %s; this node is %s, little-endian",
                           machine_name(number), machine_name(machine));
    if (number != machine)
        return message_set(why, -ENOEXEC, "ELF: a program for %s; this node is %s", machine_name(number),
                           machine_name(machine));
    if (number == MACHINE_PPC64 && (load_le32(at + 48) & PPC64_ABI) == PPC64_ABI_1)
        return message_set(why, -ENOEXEC, "ELF: a program of the ABI ELFv1; compile for ELFv2 (-mabi=elfv2)");
    return check_type(load_le16(at + 16), why);
}

static int find_program_headers(struct file *file, struct message *why)
{
    uint16_t entry_bytes = load_le16(file->at + 54);

    file->headers_offset = load_le64(file->at + 32);
    file->header_count = load_le16(file->at + 56);
    if (file->header_count == 0)
        return message_set(why, -ENOEXEC, "ELF: no program headers, so nothing to load");
    if (entry_bytes != PROGRAM_HEADER_BYTES)
        return message_set(why, -ENOEXEC, "ELF: program headers of %u bytes; %d are right", entry_bytes,
                           PROGRAM_HEADER_BYTES);
    uint64_t table_bytes = (uint64_t)file->header_count * PROGRAM_HEADER_BYTES;
    if (file->headers_offset > file->bytes || table_bytes > file->bytes - file->headers_offset)
        return message_set(why, -ENOEXEC,
                           "ELF: truncated in the program headers: %u at offset 0x%lx, file of 0x%lx bytes",
                           file->header_count, file->headers_offset, file->bytes);
    return 0;
}

static int check_load_place(const struct file *file, const struct program_header *load, unsigned index,
                            bool position_independent, struct message *why)
{
    uint64_t limit = file->address_limit / PAGE * PAGE;

    if (load->memory_bytes > limit || load->address > limit - load->memory_bytes)
        return message_set(why, -ENOEXEC, "ELF: segment %u at 0x%lx of 0x%lx bytes is not below 0x%lx", index,
                           load->address, load->memory_bytes, limit);
    if (load->address < PAGE && !position_independent)
        return message_set(why, -ENOEXEC, "ELF: segment %u lies on page zero, which catches null pointers",
                           index);
    if (load->address % PAGE != load->offset % PAGE)
        return message_set(why, -ENOEXEC,
                           "ELF: segment %u at 0x%lx does not fit its file offset 0x%lx modulo a page", index,
                           load->address, load->offset);
    if ((load->alignment & (load->alignment - 1)) != 0 && load->alignment != 0)
        return message_set(why, -ENOEXEC, "ELF: alignment 0x%lx of segment %u is no power of two",
                           load->alignment, index);
    if (load->alignment > ELF_ALIGNMENT_MAX)
        return message_set(why, -ENOEXEC, "ELF: alignment 0x%lx of segment %u is above 0x%lx",
                           load->alignment, index, ELF_ALIGNMENT_MAX);
    return 0;
}

static int check_load_content(const struct file *file, const struct program_header *load, unsigned index,
                              struct message *why)
{
    if (load->file_bytes > load->memory_bytes)
        return message_set(why, -ENOEXEC, "ELF: segment %u has 0x%lx bytes in the file, but 0x%lx in memory",
                           index, load->file_bytes, load->memory_bytes);
    if (load->offset > file->bytes || load->file_bytes > file->bytes - load->offset)
        return message_set(why, -ENOEXEC,
                           "ELF: truncated in segment %u: 0x%lx bytes at offset 0x%lx, file of 0x%lx bytes",
                           index, load->file_bytes, load->offset, file->bytes);
    if ((load->flags & FLAG_WRITE) && (load->flags & FLAG_EXECUTE))
        return message_set(why, -ENOEXEC, "ELF: segment %u is writable and executable; link without -N",
                           index);
    return 0;
}

static unsigned rights_of(uint32_t flags)
{
    return (flags & FLAG_READ ? RIGHT_READ : 0u) | (flags & FLAG_WRITE ? RIGHT_WRITE : 0u) |
           (flags & FLAG_EXECUTE ? RIGHT_EXECUTE : 0u);
}

/* Puts the segment into its place in ascending order. */
static int segment_insert(struct elf_image *out, const struct program_header *load, struct message *why)
{
    unsigned place = out->segment_count;

    if (out->segment_count == ELF_SEGMENTS_MAX)
        return message_set(why, -ENOEXEC, "ELF: more than %d loadable segments", ELF_SEGMENTS_MAX);
    while (place > 0 && out->segments[place - 1].address > load->address)
        place--;

    struct elf_segment *segment = &out->segments[place];
    memmove(segment + 1, segment, (out->segment_count - place) * sizeof(*segment));
    out->segment_count++;
    *segment = (struct elf_segment){
        .address = load->address,
        .memory_bytes = load->memory_bytes,
        .file_offset = load->offset,
        .file_bytes = load->file_bytes,
        .rights = rights_of(load->flags),
    };
    return 0;
}

static int take_load(const struct file *file, const struct program_header *load, unsigned index,
                     struct elf_image *out, struct message *why)
{
    int error = check_load_content(file, load, index, why);
    if (error || load->memory_bytes == 0)
        return error;
    error = check_load_place(file, load, index, out->position_independent, why);
    if (error)
        return error;
    if (load->alignment > out->alignment)
        out->alignment = load->alignment;
    return segment_insert(out, load, why);
}

static int take_program_header(const struct file *file, unsigned index, struct elf_image *out,
                               struct message *why)
{
    struct program_header header;

    memcpy(&header, file->at + file->headers_offset + (uint64_t)index * sizeof(header), sizeof(header));
    switch (header.type) {
    case SEGMENT_LOAD:
        return take_load(file, &header, index, out, why);
    case SEGMENT_INTERPRETER:
        return message_set(why, -ENOEXEC,
                           "ELF: a dynamic program, which needs an interpreter; link with -static");
    case SEGMENT_STACK:
        out->executable_stack = header.flags & FLAG_EXECUTE;
        out->has_stack_header = true;
        return 0;
    default:
        return 0;
    }
}

static int check_order(const struct elf_image *out, struct message *why)
{
    for (unsigned i = 1; i < out->segment_count; i++) {
        const struct elf_segment *below = &out->segments[i - 1], *above = &out->segments[i];

        if (above->address - below->address < below->memory_bytes)
            return message_set(why, -ENOEXEC, "ELF: the segments at 0x%lx and 0x%lx overlap", below->address,
                               above->address);
    }
    return 0;
}

static bool entry_is_executable(const struct elf_image *image)
{
    for (unsigned i = 0; i < image->segment_count; i++) {
        const struct elf_segment *segment = &image->segments[i];

        if ((segment->rights & RIGHT_EXECUTE) && image->entry >= segment->address &&
            image->entry - segment->address < segment->memory_bytes)
            return true;
    }
    return false;
}

/* Returns where the program headers lie in memory once the segments are loaded. */
static uint64_t find_headers_address(const struct file *file, const struct elf_image *image)
{
    uint64_t table_bytes = (uint64_t)file->header_count * PROGRAM_HEADER_BYTES;

    for (unsigned i = 0; i < image->segment_count; i++) {
        const struct elf_segment *segment = &image->segments[i];

        if (file->headers_offset < segment->file_offset || segment->file_bytes < table_bytes)
            continue;
        uint64_t into = file->headers_offset - segment->file_offset;
        if (into <= segment->file_bytes - table_bytes)
            return segment->address + into;
    }
    return 0;
}

int elf_parse(const void *bytes_of_file, uint64_t bytes, uint16_t machine, uint64_t address_limit,
              struct elf_image *out, struct message *why)
{
    struct file file = { .at = bytes_of_file, .bytes = bytes, .address_limit = address_limit };

    memset(out, 0, sizeof(*out));
    int error = check_header(file.at, bytes, machine, why);
    if (error)
        return error;
    error = find_program_headers(&file, why);
    if (error)
        return error;

    out->position_independent = load_le16(file.at + 16) == TYPE_DYNAMIC;
    out->entry = load_le64(file.at + 24);
    out->alignment = PAGE;
    for (unsigned i = 0; i < file.header_count; i++) {
        error = take_program_header(&file, i, out, why);
        if (error)
            return error;
    }
    if (out->segment_count == 0)
        return message_set(why, -ENOEXEC, "ELF: no loadable segment");
    error = check_order(out, why);
    if (error)
        return error;
    if (!entry_is_executable(out))
        return message_set(why, -ENOEXEC, "ELF: the entry 0x%lx lies in no executable segment", out->entry);

    const struct elf_segment *last = &out->segments[out->segment_count - 1];
    out->low = out->segments[0].address / PAGE * PAGE;
    out->high = (last->address + last->memory_bytes + PAGE - 1) / PAGE * PAGE;
    out->headers_address = find_headers_address(&file, out);
    out->header_bytes = PROGRAM_HEADER_BYTES;
    out->header_count = (uint16_t)file.header_count;
    return 0;
}
