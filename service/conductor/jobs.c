/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jobs.c: numbers of jobs, and the tickets that nodes require (conductor.h, docs/jobs.md). A ticket has the
 * credentials of the process that asks, as the kernel knows them. Also the keys of a node, for the
 * administrator.
 */
#include "service/conductor/conductor.h"
#include "service/conductor/keys.h"
#include "service/lib/text.h"
#include "service/lib/ticket.h"
#include <stdio.h>
#include <string.h>

void jobs_start(void)
{
    conductor.last_job = (uint32_t)(conductor.timeline.epoch_ns / SECOND_NS);
}

uint32_t job_number_next(void)
{
    if (!++conductor.last_job)
        conductor.last_job = 1;
    return conductor.last_job;
}

/* ---- Tickets ---- */

static uint64_t now_utc_s(void)
{
    return conductor_now_ns() / SECOND_NS - timeline_tai_utc_s(&conductor.timeline);
}

/* Refuses a ticket for a job that is not the client's. */
static bool is_own_job(uint32_t job, struct json *answer)
{
    const uint32_t uid = conductor.peer.who.uid;
    char why[96];
    uint32_t owner;

    if (uid == 0 || (job_owner(job, &owner) && owner == uid))
        return true;
    snprintf(why, sizeof(why), "job %u was not begun by uid %u", job, uid);
    json_error(answer, why);
    return false;
}

void ticket_answer(const char *words, struct json *answer)
{
    char nonce_text[17], id[LAUNCH_NODE_ID_BYTES + 1], text[LAUNCH_TICKET_LINE];
    struct ticket ticket = { .master = conductor.master, .id = id, .who = &conductor.peer.who };
    int end = 0;

    if (sscanf(words, "%16s %64s %n", nonce_text, id, &end) != 2 || !nonce_read(nonce_text, &ticket.nonce) ||
        !node_id_is_valid(id) || !decimal_read(words + end, &words, UINT32_MAX, &ticket.job) || *words) {
        json_error(answer, "ticket takes a node's nonce, 16 hexadecimal digits, its id, and a job's number");
        return;
    }
    if (!is_own_job(ticket.job, answer))
        return;
    ticket.now_s = now_utc_s();
    ticket_write(&ticket, text);
    json_print(answer, "{\"ticket\": \"%s\"}\n", text);
}

/* ---- Keys ---- */

static void key_print(struct json *answer, const char *name, const uint8_t key[KEY_BYTES])
{
    json_print(answer, "\"%s\": \"", name);
    for (unsigned i = 0; i < KEY_BYTES; i++)
        json_print(answer, "%02x", key[i]);
    json_print(answer, "\"");
}

void keys_answer(const char *words, struct json *answer)
{
    uint8_t master[KEY_BYTES], beats[KEY_BYTES], ticket[KEY_BYTES];
    char id[LAUNCH_NODE_ID_BYTES + 1];
    const char *why = NULL, *rest = words + strcspn(words, " ");
    const bool is_next = strcmp(rest, " next") == 0;

    if (sscanf(words, "%64s", id) != 1 || (*rest && !is_next) || (size_t)(rest - words) != strlen(id) ||
        !node_id_is_valid(id))
        why =
            "key takes a node's id: the Ethernet address of its card for beats as 12 hexadecimal digits, or "
            "its name; then perhaps: next";
    memcpy(master, conductor.master, sizeof(master));
    if (!why && is_next)
        why = master_next(master);
    if (why) {
        json_error(answer, why);
        return;
    }
    beats_key_make(beats, master);
    key_derive(ticket, master, KEY_TICKET, id, strlen(id));
    json_print(answer, "{");
    key_print(answer, "beats", beats);
    json_print(answer, ", ");
    key_print(answer, "ticket", ticket);
    json_print(answer, "}\n");
}
