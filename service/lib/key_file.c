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

/* Reads a file of so many bytes in hexadecimal digits. Returns NULL, or what is wrong with it: `wrong` if it
 * holds something else. */
static const char *secret_load(const char *path, uint8_t *secret, size_t secret_bytes, const char *wrong)
{
    FILE *file = fopen(path, "r");
    char text[2 * IDENTITY_BYTES + 3];
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
    return bytes == 2 * secret_bytes && hexadecimal_read(text, secret, secret_bytes) ? NULL : wrong;
}

const char *key_file_load(const char *path, uint8_t key[SIPHASH_KEY_BYTES])
{
    return secret_load(path, key, SIPHASH_KEY_BYTES,
                       "it must hold 32 hexadecimal digits, as `openssl rand -hex 16` prints");
}

const char *key_file_load_identity(const char *path, uint8_t secret[IDENTITY_BYTES])
{
    return secret_load(path, secret, IDENTITY_BYTES,
                       "it must hold 64 hexadecimal digits, as `openssl rand -hex 32` prints");
}

void key_file_read(const char *path, uint8_t key[SIPHASH_KEY_BYTES], int failed)
{
    const char *why = key_file_load(path, key);

    if (why)
        give_up(failed, "the key %s: %s", path, why);
}
