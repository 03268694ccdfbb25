/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_elf.c: parses any file. An accepted one must keep every promise of elf_image.h, and all bytes of its
 * segments must be readable.
 */
#include "lib/elf_image.h"
#include "fuzz.h"

#define PAGE  4096
#define LIMIT 0x800000000000ull

static volatile uint8_t sum;

static void promise_segment(const struct elf_segment *segment, const uint8_t *data, size_t bytes)
{
    PROMISE(segment->memory_bytes > 0);
    PROMISE(segment->file_bytes <= segment->memory_bytes);
    PROMISE(segment->file_offset <= bytes && segment->file_bytes <= bytes - segment->file_offset);
    PROMISE(segment->address < LIMIT && segment->memory_bytes <= LIMIT - segment->address);
    PROMISE(segment->address % PAGE == segment->file_offset % PAGE);
    PROMISE((segment->rights & (RIGHT_WRITE | RIGHT_EXECUTE)) != (RIGHT_WRITE | RIGHT_EXECUTE));
    PROMISE((segment->rights & ~7u) == 0);
    for (uint64_t i = 0; i < segment->file_bytes; i++)
        sum = sum + data[segment->file_offset + i];
}

static void promise_image(const struct elf_image *image, const uint8_t *data, size_t bytes)
{
    bool entry_executable = false;

    PROMISE(image->segment_count > 0 && image->segment_count <= ELF_SEGMENTS_MAX);
    PROMISE(image->low % PAGE == 0 && image->high % PAGE == 0 && image->low < image->high &&
            image->high <= LIMIT);
    PROMISE(image->position_independent || image->low > 0);
    PROMISE(image->alignment >= PAGE && image->alignment <= ELF_ALIGNMENT_MAX);
    PROMISE((image->alignment & (image->alignment - 1)) == 0);
    PROMISE(image->header_bytes == 56 && image->header_count > 0);
    for (unsigned i = 0; i < image->segment_count; i++) {
        const struct elf_segment *segment = &image->segments[i];

        promise_segment(segment, data, bytes);
        PROMISE(segment->address >= image->low && segment->address + segment->memory_bytes <= image->high);
        PROMISE(i == 0 || segment[-1].address + segment[-1].memory_bytes <= segment->address);
        entry_executable |= (segment->rights & RIGHT_EXECUTE) && image->entry >= segment->address &&
                            image->entry < segment->address + segment->memory_bytes;
    }
    PROMISE(entry_executable);
}

/* Checks that the address of the program headers is where a segment maps the file's. */
static void promise_headers(const struct elf_image *image, const uint8_t *data)
{
    uint64_t table_bytes = (uint64_t)image->header_count * image->header_bytes, offset;
    bool found = image->headers_address == 0;

    memcpy(&offset, data + 32, sizeof(offset));
    for (unsigned i = 0; i < image->segment_count && !found; i++) {
        const struct elf_segment *segment = &image->segments[i];

        found = image->headers_address >= segment->address &&
                image->headers_address + table_bytes <= segment->address + segment->file_bytes &&
                image->headers_address - segment->address + segment->file_offset == offset;
    }
    PROMISE(found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct elf_image image;
    struct message why = { "" };

    if (elf_parse(data, bytes, 62, LIMIT, &image, &why) != 0) {
        PROMISE(why.text[0] != '\0');
        return 0;
    }
    promise_image(&image, data, bytes);
    promise_headers(&image, data);
    return 0;
}
