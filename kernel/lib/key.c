/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * key.c: see key.h.
 */
#include "lib/key.h"
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
