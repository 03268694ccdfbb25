/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * greeting.c: see greeting.h. Words that it does not know are ignored.
 */
#include "service/tacetrun/greeting.h"
#include "service/lib/text.h"
#include "service/lib/ticket.h"
#include <stdio.h>
#include <string.h>

static bool number_read(const char *text, uint32_t *number)
{
    const char *end;

    return decimal_read(text, &end, UINT32_MAX, number) && !*end;
}

/* Takes a word after the first four. */
static void word_take(struct greeting *greeting, const char *word, bool *has_state)
{
    *has_state = *has_state || strcmp(word, "state=idle") == 0 || strcmp(word, "state=busy") == 0;
    greeting->is_busy = greeting->is_busy || strcmp(word, "state=busy") == 0;
    greeting->is_tacet = greeting->is_tacet || strncmp(word, "system=Tacet", 12) == 0;
    if (strncmp(word, "job=", 4) == 0 && !number_read(word + 4, &greeting->job))
        greeting->job = 0;
    if (strncmp(word, "uid=", 4) == 0)
        greeting->has_user = number_read(word + 4, &greeting->user);
    if (strncmp(word, "id=", 3) == 0 && node_id_is_valid(word + 3))
        strcpy(greeting->id, word + 3);
    if (strncmp(word, "name=", 5) == 0 && strcmp(word, "name=-") != 0 && node_id_is_valid(word + 5) &&
        strlen(word + 5) < sizeof(greeting->name))
        strcpy(greeting->name, word + 5);
}

bool greeting_read(char *line, struct greeting *greeting, char *why, size_t room)
{
    char *rest = NULL, clean[64];
    bool has_state = false;
    uint32_t number;

    *greeting = (struct greeting){ 0 };
    text_clean(line, clean, sizeof(clean));
    const char *magic = strtok_r(line, " ", &rest), *version = strtok_r(NULL, " ", &rest),
               *nonce = strtok_r(NULL, " ", &rest), *need = strtok_r(NULL, " ", &rest);

    if (!magic || strcmp(magic, "tacet-launch") != 0 || !version) {
        snprintf(why, room, "unexpected greeting \"%s\": another service listens on this port", clean);
        return false;
    }
    if (!number_read(version, &number) || number != LAUNCH_VERSION) {
        text_clean(version, clean, 9);
        snprintf(why, room,
                 "the node has version %s of the launch protocol, tacetrun has version %u: use the kernel or "
                 "tacet-launchd of tacetrun's release",
                 clean, LAUNCH_VERSION);
        return false;
    }
    for (const char *word = strtok_r(NULL, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        word_take(greeting, word, &has_state);
    greeting->needs_ticket = need && strcmp(need, "ticket") == 0;
    if (nonce && nonce_read(nonce, &greeting->nonce) && has_state && *greeting->id &&
        (greeting->needs_ticket || (need && strcmp(need, "open") == 0)))
        return true;
    snprintf(why, room, "invalid greeting \"%s\": no nonce, no ticket or open, no state, or no id", clean);
    return false;
}
