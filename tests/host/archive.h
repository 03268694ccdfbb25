/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * archive.h: writes newc archives for the tests, entry by entry, into one static buffer.
 */
#ifndef TACET_ARCHIVE_H
#define TACET_ARCHIVE_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static struct {
    uint8_t bytes[1 << 20];
    uint64_t used;
    unsigned inode; /* of the next entry */
    unsigned links;
} archive;

static inline void archive_begin(void)
{
    memset(&archive, 0, sizeof(archive));
    archive.inode = 1;
    archive.links = 1;
}

static inline void archive_pad(void)
{
    archive.used = (archive.used + 3) / 4 * 4;
}

static inline void archive_add_bytes(const char *name, unsigned mode, const void *data, unsigned bytes)
{
    char header[111];

    snprintf(header, sizeof(header), "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X",
             archive.inode++, mode, 0, 0, archive.links, 1700000000, bytes, 8, 1, 0, 0,
             (unsigned)strlen(name) + 1, 0);
    memcpy(archive.bytes + archive.used, header, 110);
    memcpy(archive.bytes + archive.used + 110, name, strlen(name) + 1);
    archive.used += 110 + strlen(name) + 1;
    archive_pad();
    if (bytes > 0)
        memcpy(archive.bytes + archive.used, data, bytes);
    archive.used += bytes;
    archive_pad();
}

static inline void archive_add(const char *name, unsigned mode, const char *text)
{
    archive_add_bytes(name, mode, text, (unsigned)strlen(text));
}

static inline void archive_end(void)
{
    archive_add("TRAILER!!!", 0, "");
}

#endif
