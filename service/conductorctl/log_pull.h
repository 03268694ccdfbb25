/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log_pull.h: `conductorctl klog`: has the flight logs of all nodes held at one beat, asks for them page by
 * page, one node after the other, writes each into a file, and has them released. Whatever ends the program,
 * the conductor has them released when the connection ends.
 */
#ifndef TACET_SERVICE_LOG_PULL_H
#define TACET_SERVICE_LOG_PULL_H

#include "service/conductorctl/conversation.h"
#include "service/conductorctl/words.h"

/* The program's exit status: 0 where every log has come whole. error_print says what is wrong with an answer
 * of the conductor's. */
int log_pull(struct conversation *conversation, const struct words *words,
             void (*error_print)(const char *answer));

#endif
