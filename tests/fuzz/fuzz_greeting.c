/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_greeting.c: reads any line as a node's greeting. A refusal must have a reason that a terminal can
 * show. A greeting that is written again must read the same.
 */
#include "launch/launch_request.h"
#include "service/tacetrun/greeting.h"
#include "fuzz.h"

static void try_again(const struct greeting *greeting)
{
    char line[LAUNCH_LINE_BYTES], user[32] = "", why[256];
    struct greeting again;

    if (greeting->has_user)
        snprintf(user, sizeof(user), " uid=%u", greeting->user);
    snprintf(line, sizeof(line), "tacet-launch %u %016llx %s state=%s job=%u%s system=%s id=%s name=%s",
             LAUNCH_VERSION, (unsigned long long)greeting->nonce, greeting->needs_ticket ? "ticket" : "open",
             greeting->is_busy ? "busy" : "idle", greeting->job, user, greeting->is_tacet ? "Tacet" : "-",
             greeting->id, *greeting->name ? greeting->name : "-");
    PROMISE(greeting_read(line, &again, why, sizeof(why)));
    PROMISE(again.nonce == greeting->nonce && again.needs_ticket == greeting->needs_ticket);
    PROMISE(again.is_busy == greeting->is_busy && again.is_tacet == greeting->is_tacet);
    PROMISE(again.job == greeting->job && again.has_user == greeting->has_user);
    PROMISE(strcmp(again.id, greeting->id) == 0 && strcmp(again.name, greeting->name) == 0);
    PROMISE(!again.has_user || again.user == greeting->user);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *line = malloc(bytes + 1), why[256] = "";
    struct greeting greeting;

    memcpy(line, data, bytes);
    line[bytes] = '\0';
    if (greeting_read(line, &greeting, why, sizeof(why))) {
        try_again(&greeting);
    } else {
        PROMISE(*why);
        for (const char *c = why; *c; c++)
            PROMISE(*c >= ' ' && *c <= '~');
    }
    free(line);
    return 0;
}
