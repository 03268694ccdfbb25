/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpio.c: reader of "newc" cpio archives (cpio.h).
 *
 * Source: Linux "initramfs buffer format" (Documentation/driver-api/early-userspace): a header of 110 ASCII
 * bytes, the name, padding to four bytes, the data, padding to four bytes; zero bytes may stand between
 * archives. Numbers are eight hexadecimal digits. Portable C; any context; owns nothing.
 */
#include "lib/cpio.h"
#include "lib/bytes.h"
#include "lib/errno.h"
#include "lib/kstring.h"

#define HEADER_BYTES      110
#define MAGIC_BYTES       6
#define FIELD_BYTES       8
#define ALIGNMENT         4
#define DEVICE_MINOR_BITS 20

/* All except the owner, the group, and a device file's numbers. */
enum field {
    FIELD_INODE = 0,
    FIELD_MODE = 1,
    FIELD_LINKS = 4,
    FIELD_MTIME = 5,
    FIELD_BYTES_OF_DATA = 6,
    FIELD_DEVICE_MAJOR = 7,
    FIELD_DEVICE_MINOR = 8,
    FIELD_BYTES_OF_NAME = 11,
    FIELD_CHECKSUM = 12,
    FIELDS = 13,
};

static const struct file_magic other_formats[] = {
    { "\x1f\x8b", 2, "gzip-compressed; unpack it with gunzip" },
    { "\xfd\x37zXZ", 5, "xz-compressed; unpack it with unxz" },
    { "\x28\xb5\x2f\xfd", 4, "zstd-compressed; unpack it with unzstd" },
    { "BZh", 3, "bzip2-compressed; unpack it with bunzip2" },
    { "\x04\x22\x4d\x18", 4, "lz4-compressed; unpack it with unlz4" },
    { "\x02\x21\x4c\x18", 4, "lz4-compressed; unpack it with unlz4" },
    { "\x5d\x00\x00", 3, "lzma-compressed; unpack it with unlzma" },
    { "070707", 6, "an old cpio format; make it with cpio -o -H newc" },
    { "\xc7\x71", 2, "an old cpio format; make it with cpio -o -H newc" },
};

bool cpio_recognise(const void *archive, uint64_t bytes)
{
    return bytes_begin_with(archive, bytes, "070701", MAGIC_BYTES) ||
           bytes_begin_with(archive, bytes, "070702", MAGIC_BYTES);
}

static int refuse_magic(const uint8_t *at, uint64_t bytes, uint64_t offset, struct message *why)
{
    const char *fault =
        file_magic_find(other_formats, sizeof(other_formats) / sizeof(other_formats[0]), at, bytes);

    if (fault)
        return message_set(why, -EINVAL, "cpio: what begins at offset %lu is %s", offset, fault);
    return message_set(why, -EINVAL, "cpio: no newc header (070701 or 070702) at offset %lu", offset);
}

/* Reads the header's fields. Returns false if one is not eight hexadecimal digits. */
static bool read_fields(const uint8_t *header, uint32_t *fields)
{
    for (unsigned field = 0; field < FIELDS; field++) {
        fields[field] = 0;
        for (unsigned i = 0; i < FIELD_BYTES; i++) {
            unsigned digit = hexadecimal_digit((char)header[MAGIC_BYTES + field * FIELD_BYTES + i]);

            if (digit == 16)
                return false;
            fields[field] = fields[field] << 4 | digit;
        }
    }
    return true;
}

static uint64_t align(uint64_t offset)
{
    return (offset + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static bool checksum_matches(const uint8_t *data, uint64_t bytes, uint32_t expected)
{
    uint32_t sum = 0;

    for (uint64_t i = 0; i < bytes; i++)
        sum += data[i];
    return sum == expected;
}

/* Reads the entry whose header is at *offset, and moves *offset to what follows it. */
static int read_entry(const uint8_t *archive, uint64_t bytes, uint64_t *offset, struct cpio_entry *entry,
                      struct message *why)
{
    const uint64_t at = *offset;
    const uint8_t *header = archive + *offset;
    uint64_t rest = bytes - *offset;
    uint32_t fields[FIELDS];

    if (!cpio_recognise(header, rest) || *offset % ALIGNMENT != 0)
        return refuse_magic(header, rest, *offset, why);
    if (rest < HEADER_BYTES)
        return message_set(why, -EINVAL, "cpio: truncated in the header at offset %lu", at);
    if (!read_fields(header, fields))
        return message_set(why, -EINVAL, "cpio: a field of the header at offset %lu is no hexadecimal number",
                           at);

    uint64_t name_at = *offset + HEADER_BYTES, name_bytes = fields[FIELD_BYTES_OF_NAME];
    if (name_bytes == 0 || name_bytes > bytes - name_at || archive[name_at + name_bytes - 1] != 0)
        return message_set(why, -EINVAL, "cpio: the name of %lu bytes at offset %lu does not end in a NUL",
                           name_bytes, at);
    uint64_t data_at = align(name_at + name_bytes), data_bytes = fields[FIELD_BYTES_OF_DATA];
    if (data_bytes > 0 && (data_at > bytes || data_bytes > bytes - data_at))
        return message_set(why, -EINVAL,
                           "cpio: truncated in the %lu bytes of \"%.80s\" (header at offset %lu)", data_bytes,
                           (const char *)archive + name_at, at);
    if (header[5] == '2' && data_bytes > 0 &&
        !checksum_matches(archive + data_at, data_bytes, fields[FIELD_CHECKSUM]))
        return message_set(why, -EINVAL, "cpio: wrong checksum of \"%.80s\" (header at offset %lu)",
                           (const char *)archive + name_at, at);

    *entry = (struct cpio_entry){
        .name = (const char *)archive + name_at,
        .data = data_bytes ? archive + data_at : NULL,
        .bytes = data_bytes,
        .mode = fields[FIELD_MODE],
        .inode = fields[FIELD_INODE],
        .device = fields[FIELD_DEVICE_MAJOR] << DEVICE_MINOR_BITS | fields[FIELD_DEVICE_MINOR],
        .links = fields[FIELD_LINKS],
        .mtime_s = fields[FIELD_MTIME],
    };
    *offset = align(data_bytes ? data_at + data_bytes : name_at + name_bytes);
    return 0;
}

int cpio_next(const void *archive, uint64_t bytes, uint64_t *offset, struct cpio_entry *entry,
              struct message *why)
{
    const uint8_t *start = archive;
    bool begins = *offset == 0;

    for (;;) {
        while (*offset < bytes && start[*offset] == 0)
            ++*offset;
        if (*offset >= bytes)
            return 0;
        int error = read_entry(start, bytes, offset, entry, why);
        if (error)
            return error;
        if (strcmp(entry->name, "TRAILER!!!") != 0)
            break;
        begins = true;
    }
    entry->begins_archive = begins;
    return 1;
}
