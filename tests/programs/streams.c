/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * streams.c MODE: output and input byte by byte.
 *
 *     bytes       all 256 byte values to standard output, the same backwards to standard error
 *     mebibyte    1 MiB of a fixed pseudo-random sequence to standard output
 *     echo        standard input to standard output until its end, then how often read answered 0 to standard
 *                 error
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int write_all(int stream, const unsigned char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t put = write(stream, bytes, count);

        if (put <= 0)
            return 1;
        bytes += put;
        count -= (size_t)put;
    }
    return 0;
}

static int bytes_mode(void)
{
    unsigned char up[256], down[256];

    for (int i = 0; i < 256; i++) {
        up[i] = (unsigned char)i;
        down[i] = (unsigned char)(255 - i);
    }
    return write_all(1, up, 256) || write_all(2, down, 256);
}

static int mebibyte_mode(void)
{
    static unsigned char bytes[1 << 20];
    uint32_t state = 1;

    for (size_t i = 0; i < sizeof(bytes); i++) {
        state = state * 1664525 + 1013904223;
        bytes[i] = (unsigned char)(state >> 24);
    }
    return write_all(1, bytes, sizeof(bytes));
}

static int echo_mode(void)
{
    unsigned char chunk[300];
    int ends = 0;

    while (ends < 3) {
        ssize_t got = read(0, chunk, sizeof(chunk));

        if (got < 0)
            return 1;
        if (got == 0)
            ends++;
        else if (write_all(1, chunk, (size_t)got))
            return 1;
    }
    fprintf(stderr, "%d ends\n", ends);
    return 0;
}

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "";

    if (strcmp(mode, "bytes") == 0)
        return bytes_mode();
    if (strcmp(mode, "mebibyte") == 0)
        return mebibyte_mode();
    if (strcmp(mode, "echo") == 0)
        return echo_mode();
    return 2;
}
