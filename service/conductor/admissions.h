/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * admissions.h: keeps the admitted nodes in --state FOLDER (admission_file.h). A thread of its own writes,
 * since a disk may take longer than a beat's period; what changes meanwhile goes with the next write. An
 * administrator's `admit` is answered when it is on the disk; admissions that no client waits for are
 * written once a second at most.
 *
 *      IDLE --a write is due: the table is copied--> WRITING --the thread is done--> DONE --answers--> IDLE
 *
 * Only the conductor's thread moves it out of IDLE and DONE, only the writer out of WRITING.
 */
#ifndef TACET_SERVICE_ADMISSIONS_H
#define TACET_SERVICE_ADMISSIONS_H

#include "service/lib/json.h"
#include <stdbool.h>

/* Reads the admissions that an earlier start has left, and starts the writer. Gives up if the file is
 * damaged. Does nothing without --state. */
void admissions_start(void);

/* Notes that an admission has changed. */
void admissions_changed(void);

/* Returns whether a further client may wait for its admission. */
bool admissions_have_room(void);

/* Has a client get this answer when the admissions of now are on the disk. Returns false if none are kept:
 * then the caller answers. */
bool admissions_answer(unsigned client, const struct json *answer);

/* Begins a write that is due; answers clients after one. */
void admissions_settle(void);

/* Returns as orders_timeout_ms does. */
int admissions_timeout_ms(void);

/* Writes what has not been written. At the conductor's end. */
void admissions_end(void);

#endif
