/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * words.h: the words that conductorctl is given, as what it is to do.
 */
#ifndef TACET_SERVICE_WORDS_H
#define TACET_SERVICE_WORDS_H

#include "service/lib/control.h"
#include <stdbool.h>
#include <stdint.h>

#define WITHIN_S_MAX 86400 /* that a command waits, and that counters lie apart */

enum what { WHAT_ASK, WHAT_NODES, WHAT_COUNTERS, WHAT_COMMAND, WHAT_KLOG };

struct words {
    enum what what;
    char text[CONTROL_REQUEST_BYTES]; /* the request, without the times that a command has */
    const char *seconds;              /* of counters; NULL: none were given */
    const char *folder;               /* of klog */
    const char *nodes;                /* of klog: names and addresses with commas between them; NULL: all */
    const char *socket;
    bool is_json, is_one_way;
    uint32_t within_s;
    uint32_t watch_s; /* 0: the table once */
};

/* Reads them, NULL-terminated, the program's name first. Where they are wrong it says why, and ends the
 * program with status 2; after --help with 0. */
void words_read(struct words *words, char **given);

#endif
