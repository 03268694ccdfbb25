/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * greeting.h: the line with which a node greets (docs/jobs.md). Portable C, for tacetrun and its tests.
 */
#ifndef TACET_SERVICE_GREETING_H
#define TACET_SERVICE_GREETING_H

#include "beat/answer_frame.h"
#include "launch/launch_request.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct greeting {
    uint64_t nonce;
    bool needs_ticket, is_busy, is_tacet;
    uint32_t job;  /* what runs there if it is busy; 0: not known yet */
    uint32_t user; /* whose job that is, if has_user */
    bool has_user;
    char id[LAUNCH_NODE_ID_BYTES + 1];
    char name[ANSWER_NAME_BYTES]; /* "": it has none, or one that no node has */
};

/* Reads a greeting, a line without its LF, which is changed. Returns false with the reason in `why`, cut to
 * `room`, if it is not valid. */
bool greeting_read(char *line, struct greeting *greeting, char *why, size_t room);

#endif
