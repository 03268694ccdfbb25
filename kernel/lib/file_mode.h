/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file_mode.h: the file type bits of a mode, as in Linux's stat and in cpio archives. Constants; any context.
 */
#ifndef TACET_FILE_MODE_H
#define TACET_FILE_MODE_H

#include <stdbool.h>
#include <stdint.h>

#define S_IFMT   0170000u
#define S_IFSOCK 0140000u
#define S_IFLNK  0120000u
#define S_IFREG  0100000u
#define S_IFBLK  0060000u
#define S_IFDIR  0040000u
#define S_IFCHR  0020000u
#define S_IFIFO  0010000u

static inline bool mode_is(uint32_t mode, uint32_t type)
{
    return (mode & S_IFMT) == type;
}

#endif
