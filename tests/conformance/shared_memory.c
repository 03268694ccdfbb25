/* SPDX-License-Identifier: BSD-2-Clause */
/* shared_memory.c: files of /dev/shm, as shm_open(3) makes them. */
#include "conform.h"

CONFORM(shared_memory)
{
    struct stat status;
    int a = (int)sys(SYS_open, "/dev/shm/conform", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600),
        b;
    unsigned *words, *same;

    result("made", a);
    result("made again", sys(SYS_open, "/dev/shm/conform", O_RDWR | O_CREAT | O_EXCL, 0600));
    result("made a mebibyte long", sys(SYS_ftruncate, a, 1 << 20));
    b = (int)sys(SYS_open, "/dev/shm/conform", O_RDWR);
    words = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, a, 0);
    same = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, b, 0);
    if (words == MAP_FAILED || same == MAP_FAILED) {
        holds("two maps", false);
        return;
    }
    holds("at two places", words != same);
    for (unsigned i = 0; i < 1 << 18; i += 512)
        words[i] = i;
    for (unsigned i = 0; i < 1 << 18; i += 512)
        if (same[i] != i)
            holds("the same memory", false);
    result("its name removed", sys(SYS_unlink, "/dev/shm/conform"));
    result("nobody finds it", sys(SYS_open, "/dev/shm/conform", O_RDWR));
    sys(SYS_fstat, a, &status);
    result("its size", status.st_size);
    result("its links", (long)status.st_nlink);
    words[1] = 77;
    result("still shared", same[1]);
}
