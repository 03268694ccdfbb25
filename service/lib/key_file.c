/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * key_file.c: see key_file.h.
 */
#include "service/lib/key_file.h"
#include "service/lib/say.h"
#include "service/lib/text.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define DIGITS (2 * SIPHASH_KEY_BYTES)

/* Returns NULL, or what is wrong with the file. */
static const char *key_read(const char *path, uint8_t key[SIPHASH_KEY_BYTES])
{
    FILE *file = fopen(path, "r");
    char text[DIGITS + 3];
    struct stat status;

    if (!file)
        return strerror(errno);
    size_t bytes = fread(text, 1, sizeof(text), file);
    int error = fstat(fileno(file), &status);
    fclose(file);
    if (error || (status.st_mode & 077))
        return "other users can read or write it; chmod 600 it";
    while (bytes > 0 && (text[bytes - 1] == '\n' || text[bytes - 1] == '\r'))
        bytes--;
    if (bytes != DIGITS)
        return "it must hold 32 hexadecimal digits, as `openssl rand -hex 16` prints";
    return hexadecimal_read(text, key, SIPHASH_KEY_BYTES) ? NULL : "it must hold only hexadecimal digits";
}

void key_file_read(const char *path, uint8_t key[SIPHASH_KEY_BYTES], int failed)
{
    const char *why = key_read(path, key);

    if (why)
        give_up(failed, "the key %s: %s", path, why);
}
