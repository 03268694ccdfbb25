/* SPDX-License-Identifier: BSD-2-Clause */
/* getdents64.c: every name of a folder, once, in pieces of any size. */
#include "conform.h"

#include <dirent.h>

/* All names, a call at a time: how many, or the errno; `sum` of their letters knows them apart. */
static long names_count(int folder, size_t room, unsigned *sum, unsigned *types)
{
    long count = 0, got;
    char *list = edge(room);

    for (*sum = *types = 0; (got = sys(SYS_getdents64, folder, list, room)) > 0;)
        for (long at = 0; at < got; count++) {
            const struct dirent *entry = (const struct dirent *)(list + at);

            for (const char *letter = entry->d_name; *letter; letter++)
                *sum += (unsigned)*letter;
            *types += entry->d_type;
            at += entry->d_reclen;
        }
    return got < 0 ? got : count;
}

CONFORM(getdents64)
{
    unsigned sum, types, other_sum;
    int folder = (int)sys(SYS_open, "/data", O_RDONLY | O_DIRECTORY);
    int file = (int)sys(SYS_open, TEXT, O_RDONLY);

    result("in one piece", names_count(folder, 2048, &sum, &types));
    result("the letters' sum", sum);
    result("the types' sum", types);
    result("at the end", names_count(folder, 2048, &other_sum, &types));
    result("back", sys(SYS_lseek, folder, 0, SEEK_SET));
    result("in small pieces", names_count(folder, 48, &other_sum, &types));
    holds("the same names", sum == other_sum);
    sys(SYS_lseek, folder, 0, SEEK_SET);
    result("too little room for one", sys(SYS_getdents64, folder, edge(16), 16));
    result("to nobody's memory", sys(SYS_getdents64, folder, NOWHERE, 1024));
    result("a file", sys(SYS_getdents64, file, edge(1024), 1024));
    result("a closed descriptor", sys(SYS_getdents64, 40, edge(1024), 1024));
}
