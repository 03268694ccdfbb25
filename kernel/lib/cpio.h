/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpio.h: reader of "newc" cpio archives (magic 070701, and 070702 with checksums), the format of Linux's
 * initramfs, so that an archive boots on both. Portable C, host-tested and fuzzed; never reads outside the
 * archive.
 */
#ifndef TACET_CPIO_H
#define TACET_CPIO_H

#include "lib/format.h"
#include <stdbool.h>
#include <stdint.h>

struct cpio_entry {
    const char *name; /* inside the archive; NUL-terminated (checked) */
    const void *data; /* inside the archive, NULL if there is none; for a symbolic link its target, not
                         NUL-terminated */
    uint64_t bytes;   /* length of `data` */
    uint32_t mode;    /* S_IFMT bits and permissions, as in stat (file_mode.h); not checked */
    uint32_t inode;   /* hard links share it and the device; the last one has the data */
    uint32_t device;  /* device that the file came from: major << 20 | minor */
    uint32_t links;
    uint32_t mtime_s;
    bool begins_archive; /* the first of all or after a trailer: inode numbers begin again */
};

/* Returns true if the bytes begin like a newc archive. */
bool cpio_recognise(const void *archive, uint64_t bytes);

/* Reads the next entry at *offset, which is moved to what follows it. Returns 1 with an entry, 0 at the end
 * ("TRAILER!!!", or the end of bytes; archives that follow each other with zero padding are read on, as Linux
 * does), -EINVAL with `why` naming the offset and the fault: truncated, no newc header, a name without NUL, a
 * wrong checksum. A compressed archive (gzip, xz, zstd, bzip2, lz4, lzma magic) and the older cpio formats
 * are named as such with the remedy. */
int cpio_next(const void *archive, uint64_t bytes, uint64_t *offset, struct cpio_entry *entry,
              struct message *why);

#endif
