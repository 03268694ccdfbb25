/* SPDX-License-Identifier: BSD-2-Clause */
/* mmap_file.c: a file as memory, a copy of one's own. */
#include "conform.h"

CONFORM(mmap_file)
{
    int file = (int)sys(SYS_open, TEXT, O_RDONLY), folder = (int)sys(SYS_open, DATA, O_RDONLY);
    char *own = (char *)sys(SYS_mmap, NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    char bytes[4];

    if ((unsigned long)own >= -4095UL) {
        result("a private map", (long)own);
        return;
    }
    holds("has the file's bytes", memcmp(own, "first\nsecond\nthird\n", TEXT_BYTES) == 0);
    result("and zero after them", own[TEXT_BYTES] + own[PAGE - 1]);
    own[0] = 'F';
    sys(SYS_pread64, file, bytes, 1, 0);
    holds("a write stays one's own", bytes[0] == 'f');
    sys(SYS_close, file);
    holds("stays without the descriptor", own[1] == 'i');
    file = (int)sys(SYS_open, TEXT, O_RDONLY);
    own = (char *)sys(SYS_mmap, NULL, PAGE, PROT_READ, MAP_SHARED, file, 0);
    holds("shared, to read", (unsigned long)own < -4095UL && own[0] == 'f');
    result("shared, to write, of a file opened to read",
           sys(SYS_mmap, NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    result("not at a page", sys(SYS_mmap, NULL, PAGE, PROT_READ, MAP_PRIVATE, file, 1));
    result("of a folder", sys(SYS_mmap, NULL, PAGE, PROT_READ, MAP_PRIVATE, folder, 0));
    result("of a closed descriptor", sys(SYS_mmap, NULL, PAGE, PROT_READ, MAP_PRIVATE, 40, 0));
    result("neither private nor shared", sys(SYS_mmap, NULL, PAGE, PROT_READ, 0, file, 0));
    result("no length", sys(SYS_mmap, NULL, 0, PROT_READ, MAP_PRIVATE, file, 0));
    result("of what is opened only to write",
           sys(SYS_mmap, NULL, PAGE, PROT_READ, MAP_PRIVATE, sys(SYS_open, "/dev/null", O_WRONLY), 0));
}
