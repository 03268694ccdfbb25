/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text.h: text from outside: made fit for a terminal, or read as decimal or hexadecimal digits. Pure C.
 */
#ifndef TACET_SERVICE_TEXT_H
#define TACET_SERVICE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies text, cut to the room; what is not printable ASCII becomes '?'. Returns the copy. */
const char *text_clean(const char *text, char *clean, size_t room);

/* Reads the digits of a decimal number; *end is what follows them. False where there is none, or the number
 * is larger than `max`. */
bool decimal_read(const char *text, const char **end, uint32_t max, uint32_t *number);

/* Reads `count` bytes of two hexadecimal digits each; false where there is anything else. It reads no
 * further than the first byte that is no digit. */
bool hexadecimal_read(const char *text, uint8_t *bytes, size_t count);

/* The same for a nonce of the launch protocol (docs/jobs.md): 16 digits and no more. */
bool nonce_read(const char *text, uint64_t *nonce);

#endif
