/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream_line.c: see stream_line.h.
 */
#include "service/tacetrun/stream_line.h"
#include "launch/launch_request.h"
#include "service/lib/text.h"
#include <string.h>

#define BEGINNING     "stream "
#define SECRET_DIGITS 16

static const char *const kinds[STREAM_KINDS] = { "out", "err", "pmi" };

const char *stream_line_read(const char *line, struct stream_line *read)
{
    static const char wrong[] = "its first line is not \"stream SECRET RANK out|err|pmi\"";
    const char *secret = line + strlen(BEGINNING), *end;
    char digits[SECRET_DIGITS + 1];

    if (strncmp(line, BEGINNING, strlen(BEGINNING)) != 0 || strcspn(secret, " ") != SECRET_DIGITS)
        return wrong;
    memcpy(digits, secret, SECRET_DIGITS);
    digits[SECRET_DIGITS] = '\0';
    if (!nonce_read(digits, &read->secret) || secret[SECRET_DIGITS] != ' ' ||
        !decimal_read(secret + SECRET_DIGITS + 1, &end, LAUNCH_RANKS_MAX - 1, &read->rank) || *end != ' ')
        return wrong;
    for (read->kind = 0; read->kind < STREAM_KINDS; read->kind++)
        if (strcmp(end + 1, kinds[read->kind]) == 0)
            return NULL;
    return wrong;
}
