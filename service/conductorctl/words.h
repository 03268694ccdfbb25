/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * words.h: the command line of conductorctl.
 */
#ifndef TACET_SERVICE_WORDS_H
#define TACET_SERVICE_WORDS_H

#include "service/lib/control.h"
#include <stdbool.h>
#include <stdint.h>

#define WITHIN_S_MAX 86400 /* longest wait for a command, longest interval of counters */

enum what { WHAT_ASK, WHAT_NODES, WHAT_KEYS, WHAT_COUNTERS, WHAT_COMMAND, WHAT_KLOG, WHAT_KEY };

struct words {
    enum what what;
    char text[CONTROL_WORDS_BYTES]; /* the request, without one-way or within */
    const char *seconds;            /* argument of counters; NULL: not given */
    const char *folder;             /* argument of klog */
    const char *nodes;              /* klog: names and addresses, with commas between; NULL: all */
    const char *socket;
    bool is_json, is_one_way;
    uint32_t within_s;
    uint32_t watch_s; /* seconds between two tables; 0: prints one */
};

/* Reads the words of main: the program's name first, NULL-terminated. If they are wrong, prints why and ends
 * the program with status 2; after --help ends it with 0. */
void words_read(struct words *words, char **given);

#endif
