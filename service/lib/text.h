/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text.h: untrusted text: made safe for a terminal, or read as decimal or hexadecimal digits (also
 * lib/bytes.h). Portable C.
 */
#ifndef TACET_SERVICE_TEXT_H
#define TACET_SERVICE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies text, cut to `room`; bytes other than printable ASCII become '?'. Returns the copy. */
const char *text_clean(const char *text, char *clean, size_t room);

/* Reads a decimal number; *end is the text after its digits. Returns false if there is no digit, or the
 * number is larger than `max`. */
bool decimal_read(const char *text, const char **end, uint32_t max, uint32_t *number);

/* Reads a nonce of the launch protocol (docs/jobs.md): exactly 16 hexadecimal digits; false for any other
 * text. */
bool nonce_read(const char *text, uint64_t *nonce);

#endif
