/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * streams.c MODE: output and input byte by byte.
 *
 *     bytes       all 256 byte values to standard output, the same backwards to standard error
 *     mebibyte    1 MiB of a fixed pseudo-random sequence to standard output
 *     until COUNT the first 4 KiB of it again and again, until that many non-maskable interrupts have come
 *     echo        standard input to standard output until its end, then how often read answered 0 to standard
 *                 error
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tacet.h>
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

static unsigned char sequence[1 << 20];

static void make_sequence(void)
{
    uint32_t state = 1;

    for (size_t i = 0; i < sizeof(sequence); i++) {
        state = state * 1664525 + 1013904223;
        sequence[i] = (unsigned char)(state >> 24);
    }
}

static int mebibyte_mode(void)
{
    make_sequence();
    return write_all(1, sequence, sizeof(sequence));
}

static int until_mode(uint64_t interrupts)
{
    const volatile struct tacet_counters *counters = tacet_counters(0);

    if (!counters)
        return 1;
    make_sequence();
    while (counters->exceptions[2] < interrupts)
        if (write_all(1, sequence, 4096))
            return 1;
    return 0;
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
    if (strcmp(mode, "until") == 0 && count > 2)
        return until_mode(strtoull(arguments[2], NULL, 10));
    if (strcmp(mode, "echo") == 0)
        return echo_mode();
    return 2;
}
