/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text.c: see text.h.
 */
#include "service/lib/text.h"
#include "lib/bytes.h"

const char *text_clean(const char *text, char *clean, size_t room)
{
    size_t i = 0;

    for (; text[i] && i + 1 < room; i++)
        clean[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    clean[i] = '\0';
    return clean;
}

bool decimal_read(const char *text, const char **end, uint32_t max, uint32_t *number)
{
    uint64_t value = 0;

    for (*end = text; **end >= '0' && **end <= '9'; ++*end)
        if (value <= max)
            value = value * 10 + (uint64_t)(**end - '0');
    *number = (uint32_t)value;
    return *end != text && value <= max;
}

bool nonce_read(const char *text, uint64_t *nonce)
{
    uint8_t bytes[sizeof(*nonce)];

    if (!hexadecimal_read(text, bytes, sizeof(bytes)))
        return false;
    *nonce = load_be64(bytes);
    return true;
}
