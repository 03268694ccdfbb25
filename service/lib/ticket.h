/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ticket.h: makes tickets: what tacetrun says to a node about a job and its user (docs/jobs.md). Portable C.
 */
#ifndef TACET_SERVICE_TICKET_H
#define TACET_SERVICE_TICKET_H

#include "launch/launch_request.h"

/* What a ticket is for. */
struct ticket {
    const uint8_t *master; /* the site's key; NULL: the node wants no ticket */
    uint64_t nonce;
    const char *id; /* the node's */
    uint32_t job;
    const struct credentials *who;
    uint64_t now_s; /* UTC */
};

/* Writes "JOB UID GID GROUPS EXPIRES MAC" into `text`, which has LAUNCH_TICKET_LINE. */
void ticket_write(const struct ticket *ticket, char *text);

/* Returns whether a text may be a node's id: 1 to LAUNCH_NODE_ID_BYTES letters, digits, dots, '-' and '_'. */
bool node_id_is_valid(const char *id);

#endif
