/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * access.h: which of those that reach the conductor's socket may do what (docs/jobs.md, "Users"):
 *
 *     root       everything. The conductor's own user counts as root.
 *     operators  members of the group of --operators: everything but keys
 *     users      the others: ask for status and nodes, begin jobs, get tickets for themselves, kill their
 * jobs
 */
#ifndef TACET_SERVICE_ACCESS_H
#define TACET_SERVICE_ACCESS_H

#include "service/lib/json.h"
#include "service/lib/peer.h"
#include <stdbool.h>

/* Sets the group of operators, by its name or number; NULL: there are none but root. Ends the program if
 * there is no such group. */
void access_operators_set(const char *group);

/* Returns a group's number. Ends the program if there is no such group. */
gid_t access_group(const char *option, const char *name);

/* Checks that a client may make a request, and logs requests that change something, and refusals. Writes the
 * answer if it is refused, and returns false. */
bool access_check(const struct peer *peer, const char *request, struct json *answer);

/* Returns whether a client is neither root nor an operator. */
bool access_is_user(const struct peer *peer);

/* Logs what a client has got. Of a user, and of all users, only some lines a second are logged: so a user
 * can neither fill the log nor hide what other users do. */
__attribute__((format(printf, 2, 3))) void access_log(const struct peer *peer, const char *format, ...);

#endif
