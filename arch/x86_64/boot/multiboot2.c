/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * multiboot2.c: GRUB's description of the machine, parsed into struct boot_info (boot_protocol.h).
 *
 * Source: "Multiboot2 Specification version 2.0" §3.6: a size, then tags of {type, size, content}, each
 * padded to eight bytes, up to a tag of type 0. Portable C; runs once, on the boot CPU, before the loader's
 * memory is reused. Owns nothing.
 */
#include "arch/boot_protocol.h"
#include "lib/kstring.h"

#define HEADER_BYTES       8 /* of the whole structure, and of each tag */
#define TAG_ALIGNMENT      8
#define MAP_HEADER_BYTES   16
#define SCREEN_TYPE_INDEX  0
#define SCREEN_TYPE_DIRECT 1
#define SCREEN_TYPE_TEXT   2
#define SCREEN_COLUMNS_MAX 512
#define SCREEN_ROWS_MAX    256
#define RSDP_BYTES_MIN     20 /* of ACPI 1.0 */
#define TAG_END            0
#define TAG_ACPI_NEW       15

/* Tags that only UEFI machines have: system tables (11, 12), memory map, boot services, images (17-20). */
#define TAGS_OF_EFI (3U << 11 | 15U << 17)

/* One tag; `bytes` of it lie inside the structure. */
struct tag {
    const uint8_t *at;
    uint64_t address; /* physical */
    uint32_t type;
    uint32_t bytes;  /* at least HEADER_BYTES */
    uint32_t offset; /* for messages */
};

static int tag_too_short(const struct tag *tag, const char *what, struct message *why)
{
    return message_set(why, -EINVAL, "multiboot2: %s tag at offset %u has only %u bytes", what, tag->offset,
                       tag->bytes);
}

static int parse_command_line(const struct tag *tag, struct boot_info *out, struct message *why)
{
    const char *text = (const char *)tag->at + HEADER_BYTES;
    size_t room = tag->bytes - HEADER_BYTES;
    size_t length = strnlen(text, room);

    if (length == room)
        return message_set(why, -EINVAL, "multiboot2: command line tag at offset %u has no NUL", tag->offset);
    if (length >= sizeof(out->command_line))
        return message_set(why, -EINVAL, "multiboot2: command line of %zu bytes; at most %zu fit", length,
                           sizeof(out->command_line) - 1);
    memcpy(out->command_line, text, length + 1);
    return 0;
}

static int parse_module(const struct tag *tag, struct boot_info *out, struct message *why)
{
    uint32_t start = load_le32(tag->at + 8), end = load_le32(tag->at + 12);
    if (end < start)
        return message_set(why, -EINVAL,
                           "multiboot2: module at offset %u ends at 0x%x, before its start 0x%x", tag->offset,
                           end, start);
    if (boot_info_add_module(out, start, end - start, (const char *)tag->at + 16, tag->bytes - 16) != 0)
        return message_set(why, -EINVAL, "multiboot2: more than %d modules", BOOT_MODULES_MAX);
    return 0;
}

static int parse_memory_map(const struct tag *tag, struct boot_info *out, struct message *why)
{
    uint32_t entry_bytes = load_le32(tag->at + 8), content = tag->bytes - MAP_HEADER_BYTES;
    if (entry_bytes < MAP_ENTRY_BYTES || content % entry_bytes != 0)
        return message_set(why, -EINVAL,
                           "multiboot2: memory map at offset %u: %u bytes in entries of %u bytes",
                           tag->offset, content, entry_bytes);
    return memory_map_add(out, tag->at + MAP_HEADER_BYTES, content / entry_bytes, entry_bytes, why);
}

/* Takes only text screens of plain shape. A framebuffer is taken as it is: its driver checks it. */
static int parse_framebuffer(const struct tag *tag, struct boot_info *out, struct message *why)
{
    uint64_t address = load_le64(tag->at + 8);
    uint32_t pitch = load_le32(tag->at + 16), columns = load_le32(tag->at + 20),
             rows = load_le32(tag->at + 24);
    if (tag->at[29] != SCREEN_TYPE_TEXT) {
        struct boot_framebuffer *frame = &out->framebuffer;
        const uint8_t *colours = tag->at + 32;
        bool is_direct = tag->at[29] == SCREEN_TYPE_DIRECT;

        if (is_direct && tag->bytes < 38)
            return tag_too_short(tag, "framebuffer", why);
        *frame = (struct boot_framebuffer){
            .address = address, .pitch = pitch, .width = columns, .height = rows, .bits = tag->at[28]
        };
        frame->kind = tag->at[29] == SCREEN_TYPE_INDEX ? FRAMEBUFFER_INDEXED : FRAMEBUFFER_UNKNOWN;
        if (is_direct) {
            frame->kind = FRAMEBUFFER_DIRECT;
            frame->red = (struct boot_colour){ colours[0], colours[1] };
            frame->green = (struct boot_colour){ colours[2], colours[3] };
            frame->blue = (struct boot_colour){ colours[4], colours[5] };
        }
        return 0;
    }
    if (columns == 0 || columns > SCREEN_COLUMNS_MAX || rows == 0 || rows > SCREEN_ROWS_MAX ||
        pitch != columns * 2)
        return 0;
    out->text_screen.address = address;
    out->text_screen.columns = columns;
    out->text_screen.rows = rows;
    return 0;
}

/* Takes the RSDP. The copy of ACPI 2.0 wins over the one of ACPI 1.0, in whatever order they come. */
static int parse_rsdp(const struct tag *tag, struct boot_info *out, struct message *why)
{
    (void)why; /* every RSDP of that length is taken */
    if (tag->type == TAG_ACPI_NEW || !out->rsdp)
        out->rsdp = tag->address + HEADER_BYTES;
    return 0;
}

static const struct {
    uint32_t type, bytes_min;
    const char *name;
    int (*parse)(const struct tag *tag, struct boot_info *out, struct message *why);
} tags[] = {
    { 1, HEADER_BYTES, "command line", parse_command_line },
    { 3, HEADER_BYTES + 8, "module", parse_module },
    { 6, MAP_HEADER_BYTES, "memory map", parse_memory_map },
    { 8, 31, "framebuffer", parse_framebuffer },
    { 14, HEADER_BYTES + RSDP_BYTES_MIN, "ACPI", parse_rsdp },
    { TAG_ACPI_NEW, HEADER_BYTES + RSDP_BYTES_MIN, "ACPI", parse_rsdp },
};

static int parse_tag(const struct tag *tag, struct boot_info *out, struct message *why)
{
    out->efi |= tag->type < 32 && (TAGS_OF_EFI >> tag->type & 1);
    for (unsigned i = 0; i < sizeof(tags) / sizeof(tags[0]); i++)
        if (tags[i].type == tag->type)
            return tag->bytes < tags[i].bytes_min ? tag_too_short(tag, tags[i].name, why)
                                                  : tags[i].parse(tag, out, why);
    return 0;
}

/* Parses the tags after the structure's header, up to the end tag. */
static int parse_tags(const uint8_t *start, uint64_t address, uint32_t total, struct boot_info *out,
                      struct message *why)
{
    uint64_t offset = HEADER_BYTES;

    while (offset + HEADER_BYTES <= total) {
        struct tag tag = { start + offset, address + offset, load_le32(start + offset),
                           load_le32(start + offset + 4), (uint32_t)offset };

        if (tag.bytes < HEADER_BYTES || tag.bytes > total - offset)
            return message_set(why, -EINVAL, "multiboot2: tag %u at offset %u claims %u bytes of %u",
                               tag.type, tag.offset, tag.bytes, total - tag.offset);
        if (tag.type == TAG_END)
            return 0;
        int error = parse_tag(&tag, out, why);
        if (error)
            return error;
        offset += ((uint64_t)tag.bytes + TAG_ALIGNMENT - 1) / TAG_ALIGNMENT * TAG_ALIGNMENT;
    }
    return message_set(why, -EINVAL, "multiboot2: no end tag in %u bytes", total);
}

int multiboot2_parse(uint64_t info_address, physical_reader *read, void *context, struct boot_info *out,
                     struct message *why)
{
    memset(out, 0, sizeof(*out));
    out->protocol = "multiboot2";

    const uint8_t *start = read(context, info_address, HEADER_BYTES);
    if (!start)
        return message_set(why, -EINVAL, "multiboot2: information at 0x%lx cannot be read", info_address);
    uint32_t total = load_le32(start);
    start = read(context, info_address, total);
    if (!start || total < HEADER_BYTES)
        return message_set(why, -EINVAL, "multiboot2: information at 0x%lx claims %u bytes", info_address,
                           total);

    int error = parse_tags(start, info_address, total, out, why);
    if (error)
        return error;
    if (out->usable_count == 0)
        return message_set(why, -EINVAL, "multiboot2: no memory map tag (type 6) that names RAM");
    return 0;
}
