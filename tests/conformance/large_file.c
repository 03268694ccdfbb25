/* SPDX-License-Identifier: BSD-2-Clause */
/* large_file.c: a file of 8 MiB, written in pieces of all sizes, read back and compared; then a hole of a
 * gibibyte. */
#include "conform.h"

CONFORM(large_file)
{
    enum { BYTES = 8 << 20 };
    static unsigned char out[65536], in[65536];
    unsigned long wrong = 0, at = 0;
    struct stat status;
    int file;

    if (!in_tmp())
        return;
    file = file_made("file", "");
    while (at < BYTES) {
        unsigned long piece = at * 7 % 60000 + 1;

        if (piece > BYTES - at)
            piece = BYTES - at;
        for (unsigned long i = 0; i < piece; i++)
            out[i] = (unsigned char)((at + i) * 2654435761U >> 13);
        if (sys(SYS_write, file, out, piece) != (long)piece) {
            holds("room for it", false);
            return;
        }
        at += piece;
    }
    result("its size", sys(SYS_lseek, file, 0, SEEK_END));
    for (at = 0; at < BYTES; at += sizeof(in)) {
        sys(SYS_pread64, file, in, sizeof(in), at);
        for (unsigned long i = 0; i < sizeof(in); i++)
            wrong += in[i] != (unsigned char)((at + i) * 2654435761U >> 13);
    }
    result("bytes that are not as written", (long)wrong);
    result("a gibibyte further", sys(SYS_pwrite64, file, "x", 1, 1L << 30));
    sys(SYS_fstat, file, &status);
    result("its size then", status.st_size);
    holds("the hole takes no room", status.st_blocks < 16L << 11 << 3);
    result("in the hole", sys(SYS_pread64, file, in, 10, 512 << 20));
    result("cut", sys(SYS_ftruncate, file, 0));
    sys(SYS_fstat, file, &status);
    result("the room is given back", status.st_blocks);
}
