/* SPDX-License-Identifier: BSD-2-Clause */
/* statx.c: the same facts in another form. */
#include "conform.h"

/* Linux's structure and numbers; not every musl has them. */
enum { BASIC_STATS = 0x7ff, SIZE = 0x200 };

struct facts {
    uint32_t mask, block_bytes;
    uint64_t attributes;
    uint32_t links, uid, gid;
    uint16_t mode, spare;
    uint64_t inode, size, rest[26];
};

CONFORM(statx)
{
    struct facts status;
    int folder = (int)sys(SYS_open, DATA, O_RDONLY | O_DIRECTORY);

    memset(&status, 0, sizeof(status));
    result("a file", sys(SYS_statx, folder, "text", 0, BASIC_STATS, &status));
    holds("has the basic facts", (status.mask & BASIC_STATS) == BASIC_STATS);
    result("its size", (long)status.size);
    result("its links", status.links);
    result("its kind", status.mode >> 12);
    result("a descriptor", sys(SYS_statx, folder, "", AT_EMPTY_PATH, SIZE, &status));
    result("an empty name", sys(SYS_statx, folder, "", 0, SIZE, &status));
    result("what is not there", sys(SYS_statx, folder, "none", 0, SIZE, &status));
    result("a reserved bit", sys(SYS_statx, folder, "text", 0, 1U << 31, &status));
    result("both ways to synchronise", sys(SYS_statx, folder, "text", 0x6000, SIZE, &status));
    result("a flag that there is not", sys(SYS_statx, folder, "text", 1, SIZE, &status));
    result("into nobody's memory", sys(SYS_statx, folder, "text", 0, SIZE, NOWHERE));
}
