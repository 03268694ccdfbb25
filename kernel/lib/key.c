/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * key.c: see key.h.
 */
#include "lib/key.h"
#include "lib/bytes.h"
#include "lib/kstring.h"

void key_derive(uint8_t out[KEY_BYTES], const uint8_t master[KEY_BYTES], const char *label, const void *id,
                size_t bytes)
{
    const size_t label_bytes = strlen(label) + 1;
    uint8_t message[KEY_DERIVED_MAX];

    if (label_bytes + bytes > sizeof(message))
        __builtin_trap();
    memcpy(message, label, label_bytes);
    if (bytes)
        memcpy(message + label_bytes, id, bytes);
    siphash_128(out, master, message, label_bytes + bytes);
}

bool key_parse(const char *text, uint8_t key[KEY_BYTES])
{
    if (strlen(text) != 2 * KEY_BYTES)
        return false;
    for (size_t i = 0; i < KEY_BYTES; i++) {
        const unsigned high = hexadecimal_digit(text[2 * i]), low = hexadecimal_digit(text[2 * i + 1]);

        if (high > 15 || low > 15)
            return false;
        key[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}
