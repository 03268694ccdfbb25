/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ticket.c: see ticket.h.
 */
#include "service/lib/ticket.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ID_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_"

void ticket_write(const struct ticket *ticket, char *text)
{
    const struct credentials *who = ticket->who;
    uint8_t key[KEY_BYTES], mac[LAUNCH_TICKET_BYTES];
    char *at = text;

    at += sprintf(at, "%" PRIu32 " %" PRIu32 " %" PRIu32 " ", ticket->job, who->uid, who->gid);
    for (unsigned i = 0; i < who->group_count; i++)
        at += sprintf(at, "%s%" PRIu32, i ? "," : "", who->groups[i]);
    at += sprintf(at, "%s", who->group_count ? "" : "-");
    if (!ticket->master) {
        sprintf(at, " 0 -");
        return;
    }
    at += sprintf(at, " %" PRIu64, ticket->now_s + LAUNCH_TICKET_S);
    key_derive(key, ticket->master, KEY_TICKET, ticket->id, strlen(ticket->id));
    launch_ticket(mac, key, ticket->nonce, ticket->id, text, (size_t)(at - text));
    *at++ = ' ';
    for (unsigned i = 0; i < sizeof(mac); i++)
        at += sprintf(at, "%02x", mac[i]);
}

bool node_id_is_valid(const char *id)
{
    const size_t length = strlen(id);

    return length > 0 && length <= LAUNCH_NODE_ID_BYTES && strspn(id, ID_CHARACTERS) == length;
}
