/* SPDX-License-Identifier: BSD-2-Clause */
/* mmap_shared.c: one file of /tmp as memory twice, as a file once: all three are the same bytes. */
#include "conform.h"

CONFORM(mmap_shared)
{
    char bytes[8] = "", *a, *b, *own;
    int file;

    if (!in_tmp())
        return;
    file = file_made("file", "0123456789");
    result("made longer", sys(SYS_ftruncate, file, 3 * PAGE));
    a = (char *)sys(SYS_mmap, NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    b = (char *)sys(SYS_mmap, NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, PAGE);
    if ((unsigned long)a >= -4095UL || (unsigned long)b >= -4095UL) {
        holds("two shared maps", false);
        return;
    }
    holds("has the file's bytes", memcmp(a, "0123456789", 11) == 0);
    a[PAGE] = 'x';
    holds("written in one, seen in the other", b[0] == 'x');
    sys(SYS_pread64, file, bytes, 1, PAGE);
    holds("and in the file", bytes[0] == 'x');
    sys(SYS_pwrite64, file, "y", 1, 4097);
    holds("written to the file, seen in both", a[4097] == 'y' && b[1] == 'y');
    own = (char *)sys(SYS_mmap, NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, PAGE);
    own[0] = 'p';
    holds("a private map changes nobody's", b[0] == 'x');
    result("msync", sys(SYS_msync, a, 3 * PAGE, MS_SYNC));
    result("unlink", sys(SYS_unlink, "file"));
    sys(SYS_close, file);
    a[0] = 'z';
    holds("stays without name and descriptor", a[PAGE] == 'x' && a[0] == 'z');
    result("unmap one", sys(SYS_munmap, a, 3 * PAGE));
    holds("the other stays", b[0] == 'x');
}
