/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log_pull.h: `conductorctl klog`: has all nodes hold their flight logs at one beat, asks for them page by
 * page, one node after the other, writes each into a file, and has the logs released. If the program ends
 * before, the conductor has them released because the connection closes.
 */
#ifndef TACET_SERVICE_LOG_PULL_H
#define TACET_SERVICE_LOG_PULL_H

#include "service/conductorctl/conversation.h"
#include "service/conductorctl/words.h"

/* Does `klog`. Returns the program's exit status: 0 if every log is complete, else 1. `error_print` prints
 * the error of an answer of the conductor. */
int log_pull(struct conversation *conversation, const struct words *words,
             void (*error_print)(const char *answer));

#endif
